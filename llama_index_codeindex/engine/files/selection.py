"""What the caller of a walk admits beyond the ignore rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llama_index_codeindex.engine.files.gate import MAX_FILE_BYTES
from llama_index_codeindex.engine.files.ignore import RuleList

# A walk that meets more entries than this is almost surely not one project; the largest public ones have 100,000 files.
MAX_ENTRIES = 500_000


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """What a walk admits beyond the ignore rules.

    Args:
        include: Glob patterns in `.gitignore` syntax; if given, only files that match one, or lie in a matching folder.
        exclude: Patterns of the same syntax for what is left out.
        max_file_bytes: Larger files become gaps.
        global_ignore: Whether the user's own global git ignore file counts.
        submodules: Whether submodules are read.
        skip: Real paths of folders that are never listed, such as an index folder inside the root.
        max_entries: After so many entries the walk stops and says so.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = MAX_FILE_BYTES
    global_ignore: bool = True
    submodules: bool = True
    skip: tuple[Path, ...] = ()
    max_entries: int = MAX_ENTRIES


class Selection:
    """The caller's own patterns, asked about paths below the root.

    Args:
        options: What the walk admits.
    """

    def __init__(self, options: WalkOptions) -> None:
        self.include = _rules(options.include)
        self.exclude = _rules(options.exclude)
        self.is_empty = self.include is None and self.exclude is None

    def leaves_out(self, below: bytes, *, is_dir: bool) -> bool:
        """Say whether a file, or a folder with all that is in it, is left out by name."""
        return self.exclude is not None and bool(self.exclude.verdict(below, below.rsplit(b"/", 1)[-1], is_dir))

    def admits(self, below: bytes) -> bool:
        """Say whether a file is admitted."""
        if self.leaves_out(below, is_dir=False):
            return False
        if self.include is None:
            return True
        parts = below.split(b"/")
        for end in range(len(parts), 0, -1):  # the file itself decides before the folders it lies in
            verdict = self.include.verdict(b"/".join(parts[:end]), parts[end - 1], end < len(parts))
            if verdict is not None:
                return verdict
        return False


def _rules(patterns: tuple[str, ...]) -> RuleList | None:
    return RuleList("\n".join(patterns).encode("utf-8", "surrogateescape")) if patterns else None
