"""The walk: every path below the root, either admitted or a gap with its reason.

What git ignores is never listed and is no gap: the repository's own rules say that it is no part of the code. The
root itself was named by the caller and is walked even where a rule of a folder above it would ignore it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from llama_index_codeindex.engine.files.selection import WalkOptions
from llama_index_codeindex.engine.files.traversal import Traversal
from llama_index_codeindex.engine.model import Gap, SourceFile

__all__ = ["WalkOptions", "find", "list_paths", "scan", "walk"]


def walk(root: Path, options: WalkOptions | None = None) -> Iterator[SourceFile | Gap]:
    """Yield every path below a resolved root in a stable order: a `SourceFile` if admitted, else a `Gap`."""
    for found in scan(root, options):
        yield found if isinstance(found, Gap) else SourceFile(found[0], found[1].st_size, found[1].st_mtime_ns)


def scan(root: Path, options: WalkOptions | None = None) -> Iterator[tuple[str, os.stat_result] | Gap]:
    """Yield what `walk` yields, an admitted file as its path and its status, which is asked for once."""
    return _scan(Traversal(root, options or WalkOptions()))


def find(root: Path, path: str, options: WalkOptions | None = None) -> SourceFile | Gap | None:
    """Return what `walk` yields for one relative path, listing only the folders on the way; None for nothing."""
    for found in _scan(Traversal(root, options or WalkOptions(), os.fsencode(path))):
        if isinstance(found, Gap):
            if found.path == path:
                return found
        elif found[0] == path:
            return SourceFile(path, found[1].st_size, found[1].st_mtime_ns)
    return None


def list_paths(root: Path, options: WalkOptions | None = None) -> list[str | Gap]:
    """Return the path of every admitted file below a resolved root, and the gaps.

    This is the work of `git ls-files --cached --others --exclude-standard`: folders are listed, but no admitted file is
    asked for its size, time or links, which is most of the time that `walk` takes. So no file is `too_large` here. Apart
    from that, and the place of hard links in the order, the result is that of `walk`.
    """
    traversal = Traversal(root, options or WalkOptions())
    found = list(chain.from_iterable(traversal.run()))
    if traversal.denied_inodes:  # rare: a secret with a second name, which may be that of any file
        return [
            item if isinstance(item, Gap) or not traversal.is_linked_secret(item) else _linked(item) for item in found
        ]
    return found


def _scan(traversal: Traversal) -> Iterator[tuple[str, os.stat_result] | Gap]:
    """Ask the system about every admitted file."""
    limit = traversal.options.max_file_bytes
    root = os.path.join(traversal.root, b"")
    linked: list[tuple[str, os.stat_result]] = []
    for items in traversal.run():
        for item in items:
            if isinstance(item, Gap):
                yield item
                continue
            try:
                status = os.lstat(root + item.encode())
            except OSError as error:
                yield Gap(item, "unreadable", error.strerror or "")
                continue
            if status.st_size > limit:
                yield Gap(item, "too_large", f"{status.st_size} bytes")
            elif status.st_nlink > 1:
                linked.append((item, status))
            else:
                yield item, status
    # Only now are all denied files known that these may be.
    for path, status in linked:
        yield _linked(path) if (status.st_dev, status.st_ino) in traversal.denied_inodes else (path, status)


def _linked(path: str) -> Gap:
    """Return the gap of a hard link to a denied file, which is that file under an innocent name."""
    return Gap(path, "denied", "a hard link to a denied file")
