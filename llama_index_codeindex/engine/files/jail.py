"""The path jail: every path that is read lies inside the root, by its spelling and by where it really leads."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from llama_index_codeindex.engine.errors import (
    PathOutsideRoot,
    RootNotDirectory,
    RootNotFound,
    RootTooBroad,
    action,
)
from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.gitrepo import Repository
from llama_index_codeindex.engine.model import GapReason


def resolve_root(root: str | os.PathLike[str], *, allow_broad: bool = False) -> Path:
    """Return the real path of the folder to index.

    Raises:
        RootNotFound: There is no such path.
        RootNotDirectory: It is not a folder.
        RootTooBroad: It is the home directory, one of its parents, or a file system's root, and not `allow_broad`.
    """
    if not os.fspath(root):
        raise RootNotFound("No folder is named.")
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


def refuse_git_folder(root: Path) -> None:
    """Refuse git's own folder as a root: it holds no sources, and its settings hold addresses with passwords.

    Raises:
        RootNotDirectory: It is one.
    """
    if Repository(root, root, root).is_valid or root.name.casefold() == ".git":
        raise RootNotDirectory(
            f"{root.name!r} is git's own folder, not a work tree.", suggestion="Name the folder that is checked out."
        )


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

    Args:
        path: The path, as a person or a model may spell it.
        root: The resolved root, where absolute paths are to be accepted.

    Raises:
        PathOutsideRoot: The spelling leaves the root.
    """
    if root is not None and "\0" not in path and Path(path).is_absolute():
        return _below(Path(os.path.normpath(path)), root)
    windows = PureWindowsPath(path)
    # `C:x` alone is a file name that POSIX allows.
    has_drive = bool(windows.drive) and (os.name == "nt" or bool(windows.root))
    if "\0" in path or has_drive or windows.root or PurePosixPath(path).is_absolute():
        raise _outside(windows.name)
    if os.name == "nt" or ".." in windows.parts or _names_windows_style(path, windows, root):
        return _join(windows.parts, windows.name)
    return _join(PurePosixPath(path).parts, windows.name)


def _names_windows_style(path: str, windows: PureWindowsPath, root: Path | None) -> bool:
    """Say whether, on POSIX, the backslashes of a path separate, and are not parts of a name."""
    if root is None or "\\" not in path:
        return False
    try:
        return not os.path.lexists(root / path) and os.path.lexists(root.joinpath(*windows.parts))
    except ValueError:
        return False


def _join(parts: Iterable[str], name: str) -> str:
    clean: list[str] = []
    for part in parts:
        if part == "..":
            if not clean:
                raise _outside(name)
            clean.pop()
        elif part not in (".", ""):
            clean.append(part)
    return "/".join(clean)


def _below(absolute: Path, root: Path) -> str:
    """Return an absolute path relative to the root, whichever spelling of the root it uses."""
    # The root may have been reached through a link: then its folders are compared by where they really are.
    for spelling in (absolute, Path(os.path.realpath(absolute.parent)) / absolute.name):
        if spelling.is_relative_to(root):
            return _join(spelling.relative_to(root).parts, absolute.name)
    raise _outside(absolute.name)


def clean_path(path: str) -> str:
    """Return a path as the walk spells it, without `.`, `..` and empty parts.

    Unlike in `relative_path`, backslashes and colons are parts of names where the system allows that.

    Raises:
        PathOutsideRoot: The spelling leaves the root.
    """
    if path.startswith("/") or "\0" in path or (os.name == "nt" and (":" in path or "\\" in path)):
        raise _outside(PureWindowsPath(path).name)
    return _join(path.split("/"), path.rsplit("/", 1)[-1])


def link_reason(root: str, path: str) -> GapReason:
    """Return why a link is not read: it is broken, leaves the root, names a denied file, or is an alias.

    Args:
        root: The resolved root.
        path: The link's absolute path.
    """
    target = os.path.realpath(path)
    if not os.path.exists(target):
        return "link_broken"
    if not _is_inside(root, target):
        return "link_outside"
    return "denied" if is_denied(os.path.relpath(target, root).replace(os.sep, "/")) else "link"


def _is_inside(root: str, target: str) -> bool:
    try:
        return os.path.commonpath((root, target)) == os.path.normpath(root)
    except ValueError:  # on another drive
        return False


def identity(path: Path) -> tuple[int, int] | None:
    """Return what a file or folder is known by, whatever its path and content; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class LinkOnTheWay(OSError):
    """A part of the path is a link. The walk reads every file under its real path, so an alias is never needed."""


class NotAFile(OSError):
    """The path is a folder, a FIFO, a socket or a device; `is_folder` says whether the first."""

    def __init__(self, *, is_folder: bool) -> None:
        super().__init__("is a folder" if is_folder else "not a regular file")
        self.is_folder = is_folder


def native(path: str) -> str:
    """Return a path of this project, which is UTF-8, as the file system's own encoding has it."""
    return path if os.name == "nt" else os.fsdecode(path.encode("utf-8", "surrogateescape"))


def open_inside(root: Path, path: str) -> int:
    """Open a regular file below the resolved `root` for reading and return its descriptor.

    Where the system allows it, every part is opened from the one before and never through a link, so nothing that
    is exchanged meanwhile can lead outside. FIFOs, sockets and devices are never opened.

    Raises:
        PathOutsideRoot: The spelling leaves the root.
        LinkOnTheWay: A part of the path is a link.
        NotAFile: It is no regular file.
        OSError: The file cannot be opened.
    """
    parts = native(clean_path(path)).split("/")
    if os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW"):
        return _open_by_parts(root, parts)
    target = root.joinpath(*parts)
    if os.path.normcase(os.path.realpath(target)) != os.path.normcase(str(target)):
        raise LinkOnTheWay
    return _open_file(str(target), None)


def _open_by_parts(root: Path, parts: list[str]) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            try:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            except OSError:
                if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise LinkOnTheWay from None
                raise
            os.close(folder)
            folder = inner
        return _open_file(parts[-1] or ".", folder)
    finally:
        os.close(folder)


def _open_file(name: str, folder: int | None) -> int:
    before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(before.st_mode):
        raise LinkOnTheWay
    if not stat.S_ISREG(before.st_mode):
        raise NotAFile(is_folder=stat.S_ISDIR(before.st_mode))
    # Between the check and the open the file may be exchanged: refuse links, do not wait for a FIFO's writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(name, flags, dir_fd=folder)
    opened = os.fstat(descriptor)
    if not stat.S_ISREG(opened.st_mode) or (before.st_ino, before.st_dev) != (opened.st_ino, opened.st_dev):
        os.close(descriptor)
        raise NotAFile(is_folder=False)
    return descriptor


def _outside(name: str) -> PathOutsideRoot:
    return PathOutsideRoot(
        f"The path to {name!r} leaves the root.",
        next_action=action("search_code", query=name or "entry point"),
    )
