"""What a parser hands over: the facts of one manifest, before manifests and lock files are brought together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from llama_index_codeindex.engine.facts.model import Fact, Runtime, Scope

# Longer texts are no names or versions; a hostile file must not blow up every answer.
_MAX_CHARS = 300


@dataclass(slots=True)
class Draft:
    """Collects the facts of one manifest.

    `includes` are paths of further manifests that it names, `notes` what could not be evaluated in it. A lock file that
    does not tell which packages the project itself asked for leaves `tells_direct` false.
    """

    file_path: str
    ecosystem: str
    facts: list[Fact] = field(default_factory=list)
    runtimes: list[Runtime] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tells_direct: bool = True

    def add(
        self,
        name: str,
        version: str,
        line: int,
        scope: Scope = "runtime",
        *,
        resolved: str = "",
        direct: bool = True,
        locked: bool = False,
    ) -> None:
        """Add a package; one without a name is only noted."""
        name = name.strip()
        if not name:
            self.note("an entry has no name")
            return
        name, version, resolved = (text.strip()[:_MAX_CHARS] for text in (name, version, resolved))
        fact = Fact(self.ecosystem, name, version, resolved, scope, direct, locked, self.file_path, line)
        self.facts.append(fact)

    def lock(self, name: str, resolved: str, line: int, scope: Scope = "runtime", *, direct: bool = False) -> None:
        """Add a package of a lock file that does not repeat what was declared."""
        self.add(name, "", line, scope, resolved=resolved, direct=direct, locked=True)

    def runtime(self, name: str, version: str, line: int) -> None:
        """Add a runtime, unless it has no version."""
        if name.strip() and version.strip():
            found = Runtime(name.strip()[:_MAX_CHARS], version.strip()[:_MAX_CHARS], self.file_path, line)
            self.runtimes.append(found)

    def note(self, text: str) -> None:
        """Note once what could not be evaluated."""
        if text not in self.notes:
            self.notes.append(text)


# Takes the text of a manifest and fills the draft; raises `Malformed` for a text it cannot understand.
Parser = Callable[[str, Draft], None]
