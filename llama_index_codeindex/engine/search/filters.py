"""Filters: what a search may look at, decided before any lane ranks."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.files.ignore import RuleList
from llama_index_codeindex.engine.files.jail import relative_path
from llama_index_codeindex.engine.store.catalog import Catalog, ChunkRow

Facts = Mapping[str, object]

# What a condition may ask about, and whether it is known of the file alone.
FILE_KEYS = ("file_path", "language", "category")
FILTER_KEYS = ("under", "language", "category", "symbol_kind", "exclude")
# A backslash that separates folders; before anything else it takes a sign of a pattern literally.
_SEPARATOR = re.compile(r"\\" if os.name == "nt" else r"\\(?=[\w.])")
CHUNK_KEYS = ("symbol", "symbol_kind", "scope", "start_line", "end_line", "content_hash")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the facts of a file, or of a chunk if one of `keys` is known of chunks alone."""

    keys: frozenset[str]
    holds: Callable[[Facts], bool]

    def __post_init__(self) -> None:
        """Refuse keys that nothing has.

        Raises:
            InvalidArgument: A key is unknown.
        """
        for key in sorted(self.keys - {*FILE_KEYS, *CHUNK_KEYS}):
            raise InvalidArgument(
                f"Unknown filter key {key!r}.", suggestion=f"Keys are: {', '.join((*FILE_KEYS, *CHUNK_KEYS))}."
            )

    @property
    def is_about_files(self) -> bool:
        """Whether a file's facts decide it."""
        return self.keys <= set(FILE_KEYS)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the filters leave; None where they do not restrict."""

    file_ids: frozenset[int] | None = None
    rows: frozenset[int] | None = None
    kinds: frozenset[str] | None = None

    def admits(self, file_id: int, row: int, kind: str) -> bool:
        """Say whether a chunk, found through a definition of this kind, passes."""
        if self.file_ids is not None and file_id not in self.file_ids:
            return False
        if self.rows is not None and row not in self.rows:
            return False
        return self.kinds is None or kind in self.kinds


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search may look at; an empty field does not restrict.

    Args:
        under: Path prefixes (folders or files) or glob patterns in `.gitignore` syntax; one of them must match. Like those
            of `exclude` they may be absolute, start with `./` or have backslashes between folders.
        languages: Names of languages.
        categories: File categories.
        kinds: Symbol kinds.
        exclude: Patterns for paths that are left out.
        condition: A further condition.
    """

    under: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    condition: Condition | None = None

    @classmethod
    def parse(cls, given: Mapping[str, object] | None) -> Filters:
        """Return the filters of a plain mapping, whose values are a string or a list of strings.

        Raises:
            InvalidArgument: A key is unknown, or a value is neither.
        """
        values: dict[str, tuple[str, ...]] = {}
        if given is not None and not isinstance(given, Mapping):
            raise InvalidArgument("Filters are a mapping.", suggestion=f"Its keys are: {', '.join(FILTER_KEYS)}.")
        for key, value in (given or {}).items():
            if key not in FILTER_KEYS:
                raise InvalidArgument(f"Unknown filter {key!r}.", suggestion=f"Filters are: {', '.join(FILTER_KEYS)}.")
            items = [value] if isinstance(value, str) else value
            if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
                raise InvalidArgument(f"The filter {key!r} takes a string or a list of strings.")
            values[key] = tuple(items)
        return cls(
            under=values.get("under", ()),
            languages=values.get("language", ()),
            categories=values.get("category", ()),
            kinds=values.get("symbol_kind", ()),
            exclude=values.get("exclude", ()),
        )

    def __bool__(self) -> bool:
        return bool(self.kinds) or self._restricts_files() or self.condition is not None

    def _restricts_files(self) -> bool:
        is_about_files = self.condition is not None and self.condition.is_about_files
        return bool(self.under or self.languages or self.categories or self.exclude) or is_about_files

    def scope(self, catalog: Catalog) -> Scope:
        """Return what is left of an index."""
        file_ids = self._file_ids(catalog) if self._restricts_files() else None
        rows = None
        if self.condition is not None and not self.condition.is_about_files:
            ids = sorted(file_ids) if file_ids is not None else [file.id for file in catalog.files().values()]
            rows = frozenset(c.row for c in catalog.file_chunks(ids) if self.condition.holds(_chunk_facts(c)))
        return Scope(file_ids, rows, frozenset(self.kinds) if self.kinds else None)

    def _file_ids(self, catalog: Catalog) -> frozenset[int]:
        root = catalog.meta().get("root", "")
        admits = _path_test(self.under, root)
        excluded = _rules(self.exclude, root) if self.exclude else None
        kept: list[int] = []
        for file in catalog.files().values():
            if self.languages and file.language not in self.languages:
                continue
            if self.categories and file.category not in self.categories:
                continue
            if not admits(file.path) or (excluded is not None and _covered(excluded, file.path)):
                continue
            facts = {"file_path": file.path, "language": file.language, "category": file.category}
            if self.condition is not None and self.condition.is_about_files and not self.condition.holds(facts):
                continue
            kept.append(file.id)
        return frozenset(kept)


def _chunk_facts(chunk: ChunkRow) -> Facts:
    return {
        "file_path": chunk.path,
        "language": chunk.language,
        "category": chunk.category,
        "symbol": chunk.symbol,
        "symbol_kind": chunk.kind,
        "scope": chunk.scope,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "content_hash": chunk.hash,
    }


def _rules(patterns: tuple[str, ...], root: str) -> RuleList:
    spelled = "\n".join(_inside(pattern, root) for pattern in patterns)
    return RuleList(spelled.encode("utf-8", "surrogatepass"))


def _inside(pattern: str, root: str) -> str:
    """Return a pattern in the spelling of `.gitignore`, for which the root in front of it is a single slash."""
    sign = "!" if pattern.startswith("!") else ""
    spelled = _SEPARATOR.sub("/", pattern.removeprefix("!"))
    folder = root.replace(os.sep, "/").rstrip("/")
    if folder and spelled.startswith(folder + "/"):
        spelled = spelled.removeprefix(folder)
    elif spelled.startswith("./"):
        spelled = spelled[1:]
    return sign + spelled


def _path_test(patterns: tuple[str, ...], root: str) -> Callable[[str], bool]:
    if not patterns:
        return lambda _: True
    globs = tuple(pattern for pattern in patterns if any(mark in pattern for mark in "*?["))
    prefixes = [
        unicodedata.normalize("NFC", relative_path(pattern.replace("\\", "/"), Path(root) if root else None))
        for pattern in patterns
        if pattern not in globs
    ]
    rules = _rules(globs, root)

    def admits(path: str) -> bool:
        composed = unicodedata.normalize("NFC", path)
        if any(not prefix or composed == prefix or composed.startswith(prefix + "/") for prefix in prefixes):
            return True
        return bool(globs) and _covered(rules, path)

    return admits


def _covered(rules: RuleList, path: str) -> bool:
    """Say whether patterns match a path or a folder it lies in."""
    parts = path.encode("utf-8", "surrogatepass").split(b"/")
    return any(
        rules.verdict(b"/".join(parts[: end + 1]), parts[end], end + 1 < len(parts)) for end in range(len(parts))
    )
