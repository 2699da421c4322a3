"""The tree an index describes: the files below a root as they are on disk."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from llama_index_codeindex.engine.errors import RootNotFound
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.gitrepo import Head, find_repository, read_head
from llama_index_codeindex.engine.files.jail import native
from llama_index_codeindex.engine.files.walk import WalkOptions, scan
from llama_index_codeindex.engine.model import Gap, Source, SourceFile
from llama_index_codeindex.engine.store.options import Progress, ProgressCallback

# Two writes inside one tick of the kernel's clock (at most 10 ms) get the same time stamp.
_TICK_NS = 20_000_000
# Time stamps without a fraction come from file systems that count in seconds, FAT in two of them.
_COARSE_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that may be indexed. While `stamp` is the same, so is its content, if it was read after `settled_ns`."""

    file: SourceFile
    stamp: str
    settled_ns: int


class Tree(Protocol):
    """What a refresh reads from."""

    def scan(self, progress: ProgressCallback) -> tuple[list[Entry], list[Gap]]:
        """Return what is there, without reading it."""
        ...

    def read(self, path: str) -> Source | Gap:
        """Return one file's source, or why there is none."""
        ...

    def head(self) -> Head:
        """Return the commit and branch the tree stands on."""
        ...


def _stamp(status: os.stat_result) -> str:
    """Return what changes with a file's content. The time of an inode's change cannot be set back, as `mtime` can."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def _settled_ns(status: os.stat_result) -> int:
    changed, modified = status.st_ctime_ns, status.st_mtime_ns
    is_coarse = not changed % 1_000_000_000 and not modified % 1_000_000_000
    return max(changed, modified) + (_COARSE_NS if is_coarse else _TICK_NS)


class DiskTree:
    """The files below a root.

    Args:
        root: The resolved root.
        options: What the walk admits.
    """

    def __init__(self, root: Path, options: WalkOptions) -> None:
        self.root = root
        self.options = options
        self.gate = Gate(root, options.max_file_bytes)

    def scan(self, progress: ProgressCallback) -> tuple[list[Entry], list[Gap]]:
        """Walk the root.

        Raises:
            RootNotFound: It is gone, which must not empty its index.
        """
        if not self.root.is_dir():
            raise RootNotFound(f"The folder {self.root.name!r} does not exist any more.")
        entries: list[Entry] = []
        gaps: list[Gap] = []
        for found in scan(self.root, self.options):
            if isinstance(found, Gap):
                gaps.append(found)
                continue
            path, status = found
            file = SourceFile(path, status.st_size, status.st_mtime_ns)
            entries.append(Entry(file, _stamp(status), _settled_ns(status)))
            if not len(entries) % 1000:
                progress(Progress("scan", len(entries), 0))
        progress(Progress("scan", len(entries), len(entries)))
        return entries, gaps

    def stamps(self, commit: str = "") -> Callable[[str], str]:  # noqa: ARG002
        """Return what gives, for the time of one query, the stamp of a file as it is now.

        The stamp is empty where the file is too fresh, a link, or behind one.
        """
        are_real = {"": os.path.realpath(self.root) == str(self.root)}  # folders without a link on the way to them

        def is_real(folder: str) -> bool:
            unknown = []
            while folder not in are_real:
                unknown.append(folder)
                folder = folder.rpartition("/")[0]
            real = are_real[folder]
            for inner in reversed(unknown):
                target = os.path.join(self.root, os.path.normpath(native(inner)))
                # Only Windows has folders that lead elsewhere and are no links.
                leads_on = os.path.realpath(target) != target if os.name == "nt" else os.path.islink(target)
                real = are_real[inner] = real and not leads_on
            return real

        def stamp_of(path: str) -> str:
            target = os.path.join(self.root, os.path.normpath(native(path)))
            try:
                status = os.lstat(target)
            except OSError:
                return ""
            is_settled = _settled_ns(status) < time.time_ns()
            is_plain = is_settled and stat.S_ISREG(status.st_mode) and is_real(path.rpartition("/")[0])
            return _stamp(status) if is_plain else ""

        return stamp_of

    def read(self, path: str) -> Source | Gap:
        """Read a file through the gate."""
        return self.gate.read(path)

    def gate_at(self, commit: str) -> Gate:  # noqa: ARG002
        """Return what reads the files as they are now, whatever the commit."""
        return self.gate

    def head(self) -> Head:
        """Return where HEAD points."""
        return read_head(find_repository(self.root))


def let_settle(entries: list[Entry]) -> int:
    """Wait for the clock's tick to pass for files written just now, and return the time from which reading starts."""
    now = time.time_ns()
    newest = max((entry.settled_ns for entry in entries if entry.settled_ns <= now + _TICK_NS), default=0)
    if newest >= now:
        time.sleep((newest - now) / 1e9 + 0.001)
        now = time.time_ns()
    return now
