"""The path jail: every path that is read lies inside the root, by its spelling and by where it really leads."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath

from llama_index_codeindex.engine.errors import (
    PathOutsideRoot,
    RootNotDirectory,
    RootNotFound,
    RootTooBroad,
    action,
)


def resolve_root(root: str | os.PathLike[str], *, allow_broad: bool = False) -> Path:
    """Return the real path of the folder to index.

    Raises:
        RootNotFound: There is no such path.
        RootNotDirectory: It is not a folder.
        RootTooBroad: It is the home directory, one of its parents, or a file system's root, and not `allow_broad`.
    """
    given = Path(root).expanduser()
    try:
        resolved = given.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise RootNotFound(f"The folder {given.name or str(root)!r} does not exist.") from None
    if not resolved.is_dir():
        raise RootNotDirectory(f"{resolved.name!r} is a file, not a folder.")
    if not allow_broad and _is_broad(resolved):
        raise RootTooBroad("This folder is a home directory or a file system's root, not a project.")
    return resolved


def _is_broad(root: Path) -> bool:
    if root.parent == root:
        return True
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):
        return False
    return root == home or root in home.parents


def relative_path(path: str, root: Path | None = None) -> str:
    """Return a path in the one form of this project: relative to the root, POSIX, without `.` parts.

    Windows separators are accepted, and so is an absolute path that lies inside the root.

    Raises:
        PathOutsideRoot: The spelling leaves the root.
    """
    if root is not None and Path(path).is_absolute():
        absolute = Path(os.path.normpath(path))
        for base in (root, root.resolve()):
            if absolute.is_relative_to(base):
                return absolute.relative_to(base).as_posix()
        raise _outside(absolute.name)
    windows = PureWindowsPath(path)
    if "\0" in path or windows.drive or windows.root or PurePosixPath(path).is_absolute():
        raise _outside(windows.name)
    # On POSIX a backslash may be part of a name; only there is it kept, and only if it separates nothing upwards.
    parts = windows.parts if os.name == "nt" or ".." in windows.parts else PurePosixPath(path).parts
    clean: list[str] = []
    for part in parts:
        if part == "..":
            if not clean:
                raise _outside(windows.name)
            clean.pop()
        elif part != ".":
            clean.append(part)
    return "/".join(clean)


def open_inside(root: Path, path: str) -> int:
    """Open a regular file below the resolved `root` for reading and return its descriptor.

    No part of the path may be a link: the walk reads every file under its real path, so an alias is never needed, and
    one check serves both. FIFOs, sockets and devices are never opened.

    Raises:
        PathOutsideRoot: The path leaves the root, or a link is on the way.
        OSError: The file cannot be opened, or is not a regular file.
    """
    relative = relative_path(path)
    target = root / relative
    real = os.path.realpath(target)
    if os.path.normcase(real) != os.path.normcase(str(target)):
        raise _outside(PurePosixPath(relative).name)
    before = os.lstat(target)
    if not stat.S_ISREG(before.st_mode):
        raise OSError("not a regular file")
    # Between the check and the open the file may be exchanged: refuse links, do not wait for a FIFO's writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(target, flags)
    opened = os.fstat(descriptor)
    if not stat.S_ISREG(opened.st_mode) or (before.st_ino, before.st_dev) != (opened.st_ino, opened.st_dev):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def _outside(name: str) -> PathOutsideRoot:
    return PathOutsideRoot(
        f"The path to {name!r} leaves the root.",
        next_action=action("search_code", query=name or "entry point"),
    )
