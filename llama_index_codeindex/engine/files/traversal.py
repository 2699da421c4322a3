"""One pass over the folders below a root, which decides about every entry by its name.

Paths are bytes until they are shown, because names need not be text.

Most folders hold only files that no rule speaks of. So the files of a folder are first asked about together, which
takes a few steps in C, and one by one only where some rule may speak of them.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from collections.abc import Iterator, Set
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from llama_index_codeindex.engine.files.caches import CACHE_DIRS, says_it_is_a_cache
from llama_index_codeindex.engine.files.checkout import (
    GIT_IGNORE_FILE,
    OWN_IGNORE_FILE,
    Checkout,
    folder_rules,
    open_checkout,
    repository_rules,
)
from llama_index_codeindex.engine.files.deny import is_denied, may_be_denied
from llama_index_codeindex.engine.files.gitrepo import find_repository, read_boundary
from llama_index_codeindex.engine.files.ignore import FolderNames, RuleStack
from llama_index_codeindex.engine.files.jail import link_reason
from llama_index_codeindex.engine.files.selection import Selection, WalkOptions
from llama_index_codeindex.engine.model import Gap

_IS_WINDOWS = os.name == "nt"
_BY_NAME = attrgetter("name")


class _Folder(NamedTuple):
    absolute: bytes
    path: bytes  # from the outermost top, without a trailing slash; b"" for that top itself
    rules: RuleStack
    checkout: Checkout


Found = list[str | Gap]  # an admitted file is its path


class Traversal:
    """One pass over the folders below a root.

    Args:
        root: The resolved root.
        options: What is admitted beyond the ignore rules.
        target: The only path that is asked for, below the root; all by default.
    """

    def __init__(self, root: Path, options: WalkOptions, target: bytes | None = None) -> None:
        self.root = os.fsencode(root)
        self.options = options
        self.selection = Selection(options)
        self.skip = {os.path.normcase(os.fsencode(path)) for path in options.skip}
        self.repository = find_repository(root)
        self.top = self.repository.top if self.repository else root
        relative = root.relative_to(self.top).as_posix()
        self.above = b"" if relative == "." else os.fsencode(relative) + b"/"
        self.shift = len(self.above)
        self.target = None if target is None else self.above + target
        self.budget = options.max_entries
        self.is_exhausted = False
        self.denied_inodes: set[tuple[int, int]] = set()  # of denied files that have a second name

    def run(self) -> Iterator[Found]:
        """Walk depth first, folders after the files of their parent, and yield what each folder comes to."""
        start = self._start()
        if start.checkout.problem:
            yield [Gap(".git/index", "not_evaluated", start.checkout.problem)]
        pending = [start]
        while pending and not self.is_exhausted:
            below: list[_Folder] = []
            yield self._list(pending.pop(), below)
            pending.extend(reversed(below))
        if self.is_exhausted:
            yield [Gap(".", "budget", f"stopped after {self.options.max_entries} entries")]

    def is_linked_secret(self, path: str) -> bool:
        """Say, after the walk, whether an admitted file is a hard link to a denied one."""
        try:
            status = os.lstat(os.path.join(self.root, path.encode()))
        except OSError:
            return False
        return (status.st_dev, status.st_ino) in self.denied_inodes

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

    def _list(self, folder: _Folder, below: list[_Folder]) -> Found:
        """Return what one folder's entries come to, and append its folders to `below`."""
        files: list[bytes] = []
        others: list[os.DirEntry[bytes]] = []
        try:
            with os.scandir(folder.absolute) as listing:
                for entry in islice(listing, self.budget + 2):  # two: the first over it, and `.git`
                    try:
                        is_file = entry.is_file(follow_symlinks=False)
                    except OSError:
                        is_file = False  # it is asked again with the others, and then said
                    if is_file:
                        files.append(entry.name)
                    else:
                        others.append(entry)
        except OSError as error:
            return [Gap(self._shown(folder.path) or ".", "unreadable", error.strerror or "")]
        found: Found = []
        file_names = FolderNames(files)
        names = file_names.every.union([entry.name for entry in others])
        if not names and folder.path and folder.checkout.has_submodule(folder.path):
            return [Gap(self._shown(folder.path), "nested_repository", "a submodule that is not checked out")]
        if folder.path + b"/" != self.above and folder.path:
            entered = self._enter(folder, names, found)
            if entered is None:
                self._tracked(folder, folder.path, found, below)
                return found
            folder = entered
        base = folder.path + b"/" if folder.path else b""
        if GIT_IGNORE_FILE in names or OWN_IGNORE_FILE in names:
            folder = folder._replace(rules=folder_rules(folder.rules, folder.checkout, folder.absolute, base))
        if b".git" in names or _IS_WINDOWS:
            files = [name for name in files if not _is_git(name)]
            others = [entry for entry in others if not _is_git(entry.name)]
        if self.target is not None:
            files = [name for name in files if base + name == self.target]
            others = [entry for entry in others if (self.target + b"/").startswith(base + entry.name + b"/")]
        files.sort()
        others.sort(key=_BY_NAME)
        doubtful = self._doubtful(folder, base, file_names) if files else frozenset[bytes]()
        start = 0
        for entry in others:
            end = bisect_left(files, entry.name, start)
            self._files(folder, base, files[start:end], doubtful, found)
            start = end
            if not self._spend(1):
                return found
            try:
                self._other(folder, entry, base + entry.name, found, below)
            except OSError as error:
                found.append(Gap(self._shown(base + entry.name), "unreadable", error.strerror or ""))
        self._files(folder, base, files[start:], doubtful, found)
        return found

    def _spend(self, count: int) -> int:
        """Take up to `count` entries off the budget and return how many those are."""
        if count > self.budget:
            self.is_exhausted = True
            count = self.budget
        self.budget -= count
        return count

    def _doubtful(self, folder: _Folder, base: bytes, names: FolderNames) -> Set[bytes]:
        """Return those of a folder's files that some rule may speak of; the others are admitted."""
        below = base[self.shift :]
        if self.selection.include is not None or not _is_utf8(below) or not _is_utf8(names.joined):
            return names.every
        doubtful = folder.rules.candidates(base, names)
        if self.selection.exclude is not None:
            doubtful |= self.selection.exclude.candidates(below, names)
        shown = below.decode()
        if may_be_denied(shown, names.joined, names.suffixes):
            doubtful.update(name for name in names.every if is_denied(shown + name.decode()))
        return doubtful

    def _files(self, folder: _Folder, base: bytes, names: list[bytes], doubtful: Set[bytes], found: Found) -> None:
        """Add what regular files of one folder come to."""
        names = names[: self._spend(len(names))]
        if not doubtful and names:
            below = base[self.shift :]
            found += (below + (b"\0" + below).join(names)).decode().split("\0")
            return
        for name in names:
            path = base + name
            if name not in doubtful:
                found.append(self._shown(path))
                continue
            absolute = os.path.join(folder.absolute, name)
            try:
                if folder.rules.ignored(path, name, False) and not self._is_kept(folder, path, name):
                    self._remember_denied(absolute, name)
                else:
                    self._file(path, absolute, found)
            except OSError as error:
                found.append(Gap(self._shown(path), "unreadable", error.strerror or ""))

    def _enter(self, folder: _Folder, names: Set[bytes], found: Found) -> _Folder | None:
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
                folder = folder._replace(rules=rules, checkout=checkout)
        if says_it_is_a_cache(folder.absolute, names):
            own = folder.rules.own_verdict(folder.path, os.path.basename(folder.absolute), True)
            if own is not False:  # `.codeindexignore` does not re-admit it
                found.append(Gap(shown, "cache_dir"))
                return None
        return folder

    def _is_kept(self, folder: _Folder, path: bytes, name: bytes) -> bool:
        """Say whether an ignored file is read all the same: git goes on tracking what it tracks."""
        return folder.checkout.tracks(path) and folder.rules.own_verdict(path, name, False) is not True

    def _other(
        self, folder: _Folder, entry: os.DirEntry[bytes], path: bytes, found: Found, below: list[_Folder]
    ) -> None:
        """Handle an entry that is no regular file: a folder, a link, or something special."""
        is_link = entry.is_symlink() or (_IS_WINDOWS and _is_junction(entry))
        is_dir = not is_link and entry.is_dir(follow_symlinks=False)
        name = entry.name
        if is_dir:
            if self.skip and os.path.normcase(entry.path) in self.skip:
                return
            if self.selection.leaves_out(path[self.shift :], is_dir=True):
                return
            if folder.rules.ignored(path, name, True):
                if folder.rules.own_verdict(path, name, True) is not True:
                    self._tracked(folder, path, found, below)
            elif name in CACHE_DIRS and folder.rules.own_verdict(path, name, True) is not False:
                found.append(Gap(self._shown(path), "cache_dir"))
                self._tracked(folder, path, found, below)
            else:
                below.append(_Folder(entry.path, path, folder.rules, folder.checkout))
        elif folder.rules.ignored(path, name, False) and not self._is_kept(folder, path, name):
            return
        elif is_link:
            if self.selection.admits(path[self.shift :]):
                found.append(self._link(entry.path, path))
        elif self.selection.admits(path[self.shift :]):
            found.append(Gap(self._shown(path), "special_file"))

    def _tracked(self, folder: _Folder, closed: bytes, found: Found, below: list[_Folder]) -> None:
        """Add the tracked files, and the submodules, below a folder that is not listed."""
        paths = folder.checkout.tracked_below(closed)
        for path in paths:
            absolute = os.path.join(self.root, path[self.shift :])
            if _is_own_ignored(folder.rules, closed, path) or not _is_in_place(absolute):
                continue
            if not self._spend(1):
                return
            if os.path.islink(absolute):
                if self.selection.admits(path[self.shift :]):
                    found.append(self._link(absolute, path))
            elif os.path.isfile(absolute):
                self._file(path, absolute, found)
        for path in folder.checkout.submodules_below(closed):
            absolute = os.path.join(self.root, path[self.shift :])
            if _is_in_place(absolute) and os.path.isdir(absolute) and not os.path.islink(absolute):
                below.append(_Folder(absolute, path, folder.rules, folder.checkout))

    def _file(self, path: bytes, absolute: bytes, found: Found) -> None:
        """Add what a regular file comes to; nothing if the caller's patterns leave it out."""
        below = path[self.shift :]
        is_selected = self.selection.is_empty or self.selection.admits(below)
        try:
            shown = below.decode()
        except UnicodeDecodeError:
            if is_selected:
                found.append(Gap(self._shown(path), "undecodable", "its name is not UTF-8"))
            return
        if is_denied(shown):
            self._remember(absolute)
            if is_selected:
                found.append(Gap(shown, "denied"))
        elif is_selected:
            found.append(shown)

    def _remember_denied(self, absolute: bytes, name: bytes) -> None:
        """Note an ignored secret, which may have a second, innocent name elsewhere."""
        if is_denied(name.decode("utf-8", "replace")):
            self._remember(absolute)

    def _remember(self, absolute: bytes) -> None:
        status = os.lstat(absolute)
        if status.st_nlink > 1:
            self.denied_inodes.add((status.st_dev, status.st_ino))

    def _link(self, absolute: bytes, path: bytes) -> Gap:
        return Gap(self._shown(path), link_reason(os.fsdecode(self.root), os.fsdecode(absolute)))

    def _shown(self, path: bytes) -> str:
        return path[self.shift :].decode("utf-8", "backslashreplace")


def _is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def _is_git(name: bytes) -> bool:
    return name == b".git" or (_IS_WINDOWS and name.lower() == b".git")


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
