"""A repository as the walk sees it: what it tracks, and which rule files speak for it."""

from __future__ import annotations

import bisect
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from llama_index_codeindex.engine.files.gitrepo import Repository, Settings, read_tracked, start_settings
from llama_index_codeindex.engine.files.ignore import RuleList, RuleStack

OWN_IGNORE_FILE = b".codeindexignore"
GIT_IGNORE_FILE = b".gitignore"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A work tree met on the walk, or the root's surroundings when that lies in none.

    Args:
        base: Its path from the outermost top, `b""` or `b"a/b/"`.
        settings: What its configuration says.
        is_repository: False for a root without git.
        submodules: Paths of its submodules, below its own top.
        tracked: Paths of its tracked files, likewise, sorted.
        problem: Why the tracked files could not be told.
    """

    base: bytes
    settings: Settings
    is_repository: bool = False
    submodules: frozenset[bytes] = frozenset()
    tracked: list[bytes] = field(default_factory=list)
    problem: str = ""

    def tracks(self, path: bytes) -> bool:
        """Say whether a path, from the outermost top, is a tracked file."""
        below = path[len(self.base) :]
        place = bisect.bisect_left(self.tracked, below)
        return self.tracked[place : place + 1] == [below]

    def tracked_below(self, folder: bytes) -> list[bytes]:
        """Return the tracked files below a folder, as paths from the outermost top."""
        prefix = folder[len(self.base) :] + b"/"
        first = bisect.bisect_left(self.tracked, prefix)
        last = bisect.bisect_left(self.tracked, prefix[:-1] + b"0")  # "0" follows "/"
        return [self.base + path for path in self.tracked[first:last]]

    def has_submodule(self, path: bytes) -> bool:
        """Say whether a path, from the outermost top, is a submodule."""
        return path[len(self.base) :] in self.submodules

    def submodules_below(self, folder: bytes) -> list[bytes]:
        """Return the submodules below a folder, as paths from the outermost top."""
        prefix = folder[len(self.base) :] + b"/"
        return sorted(self.base + path for path in self.submodules if path.startswith(prefix))


def open_checkout(repository: Repository | None, root: Path, base: bytes = b"") -> Checkout:
    """Return the checkout of a repository, or of a root without one."""
    settings = start_settings(repository, root)
    if repository is None:
        return Checkout(base, settings())
    found = read_tracked(repository)
    return Checkout(base, settings(), True, found.submodules, found.files, found.problem)


def repository_rules(
    repository: Repository | None, checkout: Checkout, outer: RuleStack, *, global_ignore: bool
) -> RuleStack:
    """Return the rules that hold at a repository's top before any ignore file in the tree.

    The outer repository's own rules end here; those of `.codeindexignore` go on.
    """
    rules = outer.without_git()
    if global_ignore:
        rules = rules.with_lists(_read_rules(checkout.settings.excludes_file, checkout, checkout.base), None)
    if repository is None:
        return rules
    return rules.with_lists(_read_rules(repository.common_dir / "info" / "exclude", checkout, checkout.base), None)


def folder_rules(rules: RuleStack, checkout: Checkout, folder: bytes, base: bytes) -> RuleStack:
    """Return the rules inside a folder, given those around it.

    Args:
        rules: The rules of its parent.
        checkout: The repository it lies in.
        folder: Its absolute path.
        base: Its path from the outermost top, with a trailing slash unless empty.
    """
    found = []
    for name in (GIT_IGNORE_FILE, OWN_IGNORE_FILE):
        path = os.path.join(folder, name)
        # git does not follow a link that stands for an ignore file inside the work tree.
        found.append(None if os.path.islink(path) else _read_rules(Path(os.fsdecode(path)), checkout, base))
    return rules.with_lists(*found)


def _read_rules(path: Path | None, checkout: Checkout, base: bytes) -> RuleList | None:
    if path is None:
        return None
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        return RuleList(path.read_bytes(), base, ignore_case=checkout.settings.ignore_case)
    except OSError:
        return None
