"""What manifests say: packages, runtimes, and how far each manifest could be understood."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

Scope = Literal["runtime", "dev", "optional", "build", "peer"]
# `unparsed`: malformed or unreadable, so what it declares is unknown. `not_evaluated`: it is a program, or of a format
# without a parser here, so what it declares is unknown too.
Status = Literal["parsed", "unparsed", "not_evaluated"]
# What is known of an ecosystem: all its manifests were parsed, some were, or none was.
Knowledge = Literal["complete", "partial", "unknown"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A package that a file declares or locks.

    `version` is the text as declared, empty where the file states none; `resolved` is the one version that it stands
    for, where a lock file or the manifest itself tells. `locked` facts are lines of a lock file; `direct` packages are
    asked for by the project itself.
    """

    ecosystem: str
    name: str
    version: str
    resolved: str
    scope: Scope
    direct: bool
    locked: bool
    file_path: str
    line: int


@dataclass(frozen=True, slots=True)
class Runtime:
    """A language, tool or platform that a file asks for."""

    name: str
    version: str
    file_path: str
    line: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file that declares packages or runtimes, and how far it was understood; `reason` says why not further.

    A parsed manifest has a reason when a part of it could not be evaluated.
    """

    file_path: str
    ecosystem: str
    status: Status
    reason: str = ""
    facts: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the manifests of a code base say, ordered by file and line."""

    facts: tuple[Fact, ...] = ()
    runtimes: tuple[Runtime, ...] = ()
    manifests: tuple[Manifest, ...] = ()

    def ecosystems(self) -> tuple[str, ...]:
        """Return the ecosystems that any manifest belongs to, in alphabetical order."""
        return tuple(sorted({manifest.ecosystem for manifest in self.manifests if manifest.ecosystem}))

    def of(self, ecosystem: str) -> Facts:
        """Return what belongs to one ecosystem."""
        manifests = tuple(manifest for manifest in self.manifests if manifest.ecosystem == ecosystem)
        paths = {manifest.file_path for manifest in manifests}
        return Facts(
            tuple(fact for fact in self.facts if fact.ecosystem == ecosystem),
            tuple(runtime for runtime in self.runtimes if runtime.file_path in paths),
            manifests,
        )

    def knowledge(self, ecosystem: str) -> Knowledge:
        """Say how much is known of an ecosystem; a manifest that could not be read makes the rest unknown, not none."""
        manifests = [manifest for manifest in self.manifests if manifest.ecosystem == ecosystem]
        if all(manifest.status != "parsed" for manifest in manifests):
            return "unknown"
        is_whole = all(manifest.status == "parsed" and not manifest.reason for manifest in manifests)
        return "complete" if is_whole else "partial"

    def totals(self) -> dict[str, dict[str, Any]]:
        """Return counts of distinct packages per ecosystem; None where nothing is known."""
        return {ecosystem: self._totals(ecosystem) for ecosystem in self.ecosystems()}

    def _totals(self, ecosystem: str) -> dict[str, Any]:
        knowledge = self.knowledge(ecosystem)
        facts = [fact for fact in self.facts if fact.ecosystem == ecosystem]
        counts = {
            "direct": len({name_key(ecosystem, fact.name) for fact in facts if fact.direct}),
            "locked": len({(name_key(ecosystem, fact.name), fact.resolved) for fact in facts if fact.locked}),
        }
        shown: dict[str, Any] = {"known": knowledge, **counts}
        if knowledge == "unknown":
            shown |= {"direct": None, "locked": None}
        elif facts and not counts["direct"] and all(fact.locked for fact in facts):
            shown["direct"] = None  # a lock file alone, of a kind that does not tell
        return shown

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        return {
            "totals": self.totals(),
            "facts": [asdict(fact) for fact in self.facts],
            "runtimes": [asdict(runtime) for runtime in self.runtimes],
            "manifests": [asdict(manifest) for manifest in self.manifests],
        }


def name_key(ecosystem: str, name: str) -> str:
    """Return the form in which names of an ecosystem are compared."""
    if ecosystem == "pypi":
        return re.sub(r"[-_.]+", "-", name).lower()
    if ecosystem == "cargo":
        return name.replace("_", "-").lower()
    return name if ecosystem in ("go", "maven") else name.lower()
