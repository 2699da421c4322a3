"""The frozen answers of this room."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Confidence = Literal["exact", "likely", "name"]


@dataclass(frozen=True, slots=True)
class Place:
    """A definition and where it is."""

    file_path: str
    symbol: str
    kind: str
    start_line: int
    end_line: int
    category: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """One line that uses a name.

    Args:
        file_path: The file.
        line: The line, from 1.
        kind: How it is used: `call`, `type`, `import`, `inherit`, or `value` where it is read or passed on.
        symbol: The innermost definition that holds the line; empty at the top of a file.
        category: What the file is for.
        confidence: How sure it is that the asked definition is meant. Of a name that very many files use, only the likeliest
            files are read; the uses in the others are all listed, but none of them is `exact`.
        target: The definition that is meant, as `path#qualified`; empty when the name alone matches.
        candidates: What may be meant instead, when the name alone matches.
    """

    file_path: str
    line: int
    kind: str
    symbol: str
    category: str
    confidence: Confidence
    target: str = ""
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class References:
    """The definitions that a name means, and the uses that may mean one of them: the surest first."""

    name: str
    definitions: tuple[Place, ...]
    uses: tuple[Use, ...]
    generation: int

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Caller:
    """A place that calls a definition, or calls one that does.

    Args:
        file_path: The file.
        line: The line of the call.
        symbol: The definition that calls; empty at the top of a file.
        category: What the file is for.
        confidence: The weakest confidence on the way to what was asked for.
        depth: 1 for a direct caller.
        calls: The definition it calls, as `path#qualified`.
    """

    file_path: str
    line: int
    symbol: str
    category: str
    confidence: Confidence
    depth: int
    calls: str


@dataclass(frozen=True, slots=True)
class Callers:
    """The callers of a name, nearest first. `truncated` says that there are more than are listed."""

    name: str
    definitions: tuple[Place, ...]
    callers: tuple[Caller, ...]
    truncated: bool
    generation: int

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change of a file or symbol may reach.

    Args:
        target: What was asked for.
        callers: What calls it, transitively, over uses that are `exact` or `likely`.
        files: The files of the callers and of what imports or names it.
        tests: The tests among these files.
        uncertain: Uses that match by name alone; they were not followed.
        truncated: There is more than is listed.
        generation: The generation that answered.
    """

    target: str
    callers: tuple[Caller, ...]
    files: tuple[str, ...]
    tests: tuple[str, ...]
    uncertain: int
    truncated: bool
    generation: int

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        return asdict(self)
