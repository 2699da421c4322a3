"""The walk: every path below the root, either admitted or a gap with its reason.

What git ignores is never listed and is no gap: the repository's own rules say that it is no part of the code. The
root itself was named by the caller and is walked even where a rule of a folder above it would ignore it.
Paths are bytes until they are shown, because names need not be text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from pathlib import Path

from llama_index_codeindex.engine.files.checkout import (
    GIT_IGNORE_FILE,
    OWN_IGNORE_FILE,
    Checkout,
    folder_rules,
    open_checkout,
    repository_rules,
)
from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.gate import MAX_FILE_BYTES
from llama_index_codeindex.engine.files.gitrepo import find_repository, read_boundary
from llama_index_codeindex.engine.files.ignore import RuleList, RuleStack
from llama_index_codeindex.engine.files.jail import link_reason
from llama_index_codeindex.engine.model import Gap, SourceFile

# A walk that meets more entries than this is almost surely not one project; the largest public ones have 100,000 files.
MAX_ENTRIES = 500_000

# Folders that tools fill and that hold nothing written by hand. Names that are also used for source (`lib`, `build`,
# `dist`, `out`, `vendor`) are left to the ignore rules. Tracked files in them are read all the same.
_CACHE_DIRS = frozenset(
    b"""
    .hg .svn .bzr node_modules bower_components jspm_packages __pycache__ .venv .tox .nox .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .ipynb_checkpoints .eggs .next .nuxt .svelte-kit .parcel-cache .turbo .gradle .terraform
    .dart_tool .stack-work .bloop .metals .zig-cache
    """.split()
)
_CACHE_MARKS = frozenset((b"CACHEDIR.TAG", b"pyvenv.cfg"))  # cache folders and virtual environments say so themselves
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"

_IS_WINDOWS = os.name == "nt"
_BY_NAME = attrgetter("name")


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


def walk(root: Path, options: WalkOptions | None = None) -> Iterator[SourceFile | Gap]:
    """Yield every path below a resolved root in a stable order: a `SourceFile` if admitted, else a `Gap`."""
    return _Walk(root, options or WalkOptions()).run()


def find(root: Path, path: str, options: WalkOptions | None = None) -> SourceFile | Gap | None:
    """Return what `walk` yields for one relative path, listing only the folders on the way; None for nothing."""
    for found in _Walk(root, options or WalkOptions(), os.fsencode(path)).run():
        if found.path == path:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Folder:
    absolute: bytes
    path: bytes  # from the outermost top, without a trailing slash; b"" for that top itself
    rules: RuleStack
    checkout: Checkout


_Found = list[SourceFile | Gap]


class _Walk:
    def __init__(self, root: Path, options: WalkOptions, target: bytes | None = None) -> None:
        self.root = os.fsencode(root)
        self.options = options
        self.include = _patterns(options.include)
        self.exclude = _patterns(options.exclude)
        self.has_patterns = self.include is not None or self.exclude is not None
        self.skip = {os.path.normcase(os.fsencode(path)) for path in options.skip}
        self.repository = find_repository(root)
        self.top = self.repository.top if self.repository else root
        relative = root.relative_to(self.top).as_posix()
        self.above = b"" if relative == "." else os.fsencode(relative) + b"/"
        self.shift = len(self.above)
        self.target = None if target is None else self.above + target
        self.budget = options.max_entries
        self.is_exhausted = False
        self.denied_inodes: set[tuple[int, int]] = set()
        self.linked: list[tuple[tuple[int, int], SourceFile]] = []

    def run(self) -> Iterator[SourceFile | Gap]:
        """Walk depth first, folders after the files of their parent."""
        start = self._start()
        if start.checkout.problem:
            yield Gap(".git/index", "not_evaluated", start.checkout.problem)
        pending = [start]
        while pending and not self.is_exhausted:
            below: list[_Folder] = []
            yield from self._list(pending.pop(), below)
            pending.extend(reversed(below))
        if self.is_exhausted:
            yield Gap(".", "budget", f"stopped after {self.options.max_entries} entries")
        # A hard link to a denied file is that file under an innocent name.
        for inode, file in self.linked:
            yield Gap(file.path, "denied", "a hard link to a denied file") if inode in self.denied_inodes else file

    def _start(self) -> _Folder:
        """Return the root as a folder, with the rules of its parents up to the repository's top."""
        checkout = open_checkout(self.repository, self.top)
        rules = repository_rules(self.repository, checkout, RuleStack(), global_ignore=self.options.global_ignore)
        folder, base = os.fsencode(self.top), b""
        for part in [part for part in self.above.split(b"/") if part]:
            rules = folder_rules(rules, checkout, folder, base)
            folder = os.path.join(folder, part)
            base += part + b"/"
        return _Folder(self.root, base[:-1], rules, checkout)

    def _list(self, folder: _Folder, below: list[_Folder]) -> _Found:
        """Return what one folder's entries come to, and append its folders to `below`."""
        try:
            with os.scandir(folder.absolute) as listing:
                entries = sorted(islice(listing, self.budget + 2), key=_BY_NAME)  # two: the first over it, and `.git`
        except OSError as error:
            return [Gap(self._shown(folder.path) or ".", "unreadable", error.strerror or "")]
        found: _Found = []
        names = {entry.name for entry in entries}
        if folder.path + b"/" != self.above and folder.path:
            entered = self._enter(folder, names, found)
            if entered is None:
                self._tracked(folder, folder.path, found, below)
                return found
            folder = entered
        base = folder.path + b"/" if folder.path else b""
        if GIT_IGNORE_FILE in names or OWN_IGNORE_FILE in names:
            folder = replace(folder, rules=folder_rules(folder.rules, folder.checkout, folder.absolute, base))
        for entry in entries:
            name = entry.name
            if name == b".git" or (_IS_WINDOWS and name.lower() == b".git"):
                continue
            path = base + name
            if self.target is not None and self.target != path and not self.target.startswith(path + b"/"):
                continue
            if self.budget <= 0:
                self.is_exhausted = True
                break
            self.budget -= 1
            try:
                if entry.is_file(follow_symlinks=False):
                    if folder.rules.ignored(path, name, False) and not self._is_kept(folder, path, name):
                        self._remember_denied(entry, name)
                        continue
                    item = self._file(path, os.lstat(entry.path) if _IS_WINDOWS else entry.stat(follow_symlinks=False))
                    if item is not None:
                        found.append(item)
                else:
                    self._other(folder, entry, path, found, below)
            except OSError as error:
                found.append(Gap(self._shown(path), "unreadable", error.strerror or ""))
        return found

    def _enter(self, folder: _Folder, names: set[bytes], found: _Found) -> _Folder | None:
        """Return a folder below the root as it is walked, or None, with the reason in `found`, if it is not."""
        shown = self._shown(folder.path)
        if b".git" in names:
            boundary = read_boundary(Path(os.fsdecode(folder.absolute)))
            if boundary is not None:
                is_submodule = boundary.kind == "submodule" or folder.checkout.has_submodule(folder.path)
                if is_submodule and not self.options.submodules:
                    found.append(Gap(shown, "nested_repository", "a submodule"))
                    return None
                if boundary.kind == "worktree" and not is_submodule:
                    found.append(Gap(shown, "nested_repository", "a worktree of a repository"))
                    return None
                if folder.checkout.is_repository and not is_submodule:
                    found.append(Gap(shown, "nested_repository", "a repository of its own"))
                    return None
                checkout = open_checkout(boundary.repository, boundary.repository.top, folder.path + b"/")
                if checkout.problem:
                    found.append(Gap(shown + "/.git/index", "not_evaluated", checkout.problem))
                rules = repository_rules(
                    boundary.repository, checkout, folder.rules, global_ignore=self.options.global_ignore
                )
                folder = _Folder(folder.absolute, folder.path, rules, checkout)
        if not _CACHE_MARKS.isdisjoint(names) and _is_cache(folder, names):
            found.append(Gap(shown, "cache_dir"))
            return None
        return folder

    def _is_kept(self, folder: _Folder, path: bytes, name: bytes) -> bool:
        """Say whether an ignored file is read all the same: git goes on tracking what it tracks."""
        return folder.checkout.tracks(path) and folder.rules.own_verdict(path, name, False) is not True

    def _other(
        self, folder: _Folder, entry: os.DirEntry[bytes], path: bytes, found: _Found, below: list[_Folder]
    ) -> None:
        """Handle an entry that is no regular file: a folder, a link, or something special."""
        is_link = entry.is_symlink() or (_IS_WINDOWS and _is_junction(entry))
        is_dir = not is_link and entry.is_dir(follow_symlinks=False)
        name = entry.name
        if is_dir:
            if os.path.normcase(entry.path) in self.skip:
                return
            if self.exclude is not None and self.exclude.verdict(path[self.shift :], name, True):
                return
            if folder.rules.ignored(path, name, True):
                if folder.rules.own_verdict(path, name, True) is not True:
                    self._tracked(folder, path, found, below)
            elif name in _CACHE_DIRS and folder.rules.own_verdict(path, name, True) is not False:
                found.append(Gap(self._shown(path), "cache_dir"))
                self._tracked(folder, path, found, below)
            else:
                below.append(_Folder(entry.path, path, folder.rules, folder.checkout))
        elif folder.rules.ignored(path, name, False) and not self._is_kept(folder, path, name):
            return
        elif is_link:
            if self._is_selected(path[self.shift :]):
                found.append(self._link(entry.path, path))
        elif self._is_selected(path[self.shift :]):
            found.append(Gap(self._shown(path), "special_file"))

    def _tracked(self, folder: _Folder, closed: bytes, found: _Found, below: list[_Folder]) -> None:
        """Add the tracked files, and the submodules, below a folder that is not listed."""
        paths = folder.checkout.tracked_below(closed)
        for path in paths:
            absolute = os.path.join(self.root, path[self.shift :])
            if _is_own_ignored(folder.rules, closed, path) or not _is_in_place(absolute):
                continue
            if self.budget <= 0:
                self.is_exhausted = True
                return
            self.budget -= 1
            if os.path.islink(absolute):
                if self._is_selected(path[self.shift :]):
                    found.append(self._link(absolute, path))
            elif os.path.isfile(absolute):
                item = self._file(path, os.lstat(absolute))
                if item is not None:
                    found.append(item)
        for path in folder.checkout.submodules_below(closed):
            absolute = os.path.join(self.root, path[self.shift :])
            if _is_in_place(absolute) and os.path.isdir(absolute) and not os.path.islink(absolute):
                below.append(_Folder(absolute, path, folder.rules, folder.checkout))

    def _file(self, path: bytes, status: os.stat_result) -> SourceFile | Gap | None:
        """Return what a regular file comes to; None if the caller's patterns leave it out."""
        below = path[self.shift :] if self.shift else path
        try:
            shown = below.decode()
        except UnicodeDecodeError:
            return Gap(self._shown(path), "undecodable", "its name is not UTF-8") if self._is_selected(below) else None
        is_selected = not self.has_patterns or self._is_selected(below)
        if is_denied(shown):
            if status.st_nlink > 1:
                self.denied_inodes.add((status.st_dev, status.st_ino))
            return Gap(shown, "denied") if is_selected else None
        if not is_selected:
            return None
        if status.st_size > self.options.max_file_bytes:
            return Gap(shown, "too_large", f"{status.st_size} bytes")
        file = SourceFile(shown, status.st_size, status.st_mtime_ns)
        if status.st_nlink > 1:
            self.linked.append(((status.st_dev, status.st_ino), file))
            return None
        return file

    def _remember_denied(self, entry: os.DirEntry[bytes], name: bytes) -> None:
        """Note the identity of an ignored secret, which may have a second, innocent name elsewhere."""
        if is_denied(name.decode("utf-8", "replace")):
            status = os.lstat(entry.path)
            if status.st_nlink > 1:
                self.denied_inodes.add((status.st_dev, status.st_ino))

    def _link(self, absolute: bytes, path: bytes) -> Gap:
        return Gap(self._shown(path), link_reason(os.fsdecode(self.root), os.fsdecode(absolute)))

    def _is_selected(self, below: bytes) -> bool:
        """Say whether the caller's own patterns admit a file, given by its path below the root."""
        if self.exclude is not None and self.exclude.verdict(below, below.rsplit(b"/", 1)[-1], False):
            return False
        if self.include is None:
            return True
        parts = below.split(b"/")
        for end in range(len(parts), 0, -1):  # the file itself decides before the folders it lies in
            verdict = self.include.verdict(b"/".join(parts[:end]), parts[end - 1], end < len(parts))
            if verdict is not None:
                return verdict
        return False

    def _shown(self, path: bytes) -> str:
        return path[self.shift :].decode("utf-8", "backslashreplace")


def _patterns(patterns: tuple[str, ...]) -> RuleList | None:
    return RuleList("\n".join(patterns).encode("utf-8", "surrogateescape")) if patterns else None


def _is_cache(folder: _Folder, names: set[bytes]) -> bool:
    """Say whether a folder with a mark of cache folders is one, and `.codeindexignore` does not re-admit it."""
    if folder.rules.own_verdict(folder.path, os.path.basename(folder.absolute), True) is False:
        return False
    if b"pyvenv.cfg" in names:
        return True
    try:
        with open(os.path.join(folder.absolute, b"CACHEDIR.TAG"), "rb") as file:
            return file.read(len(_CACHE_SIGNATURE)) == _CACHE_SIGNATURE
    except OSError:
        return False


def _is_own_ignored(rules: RuleStack, closed: bytes, path: bytes) -> bool:
    """Say whether `.codeindexignore` leaves out a tracked file below the folder `closed`, by any folder on the way."""
    end = len(closed)
    while end >= 0:
        end = path.find(b"/", end + 1)
        part = path if end < 0 else path[:end]
        if rules.own_verdict(part, part.rsplit(b"/", 1)[-1], end >= 0):
            return True
    return False


def _is_in_place(absolute: bytes) -> bool:
    """Say whether a tracked path is there, with no link on the way to it."""
    parent = os.path.dirname(absolute)
    return os.path.lexists(absolute) and os.path.realpath(parent) == os.path.normpath(parent)


def _is_junction(entry: os.DirEntry[bytes]) -> bool:
    tag = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0)
    return bool(tag) and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
