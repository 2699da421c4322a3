"""The walk: every path below the root, either admitted or a gap with its reason.

What git ignores is never listed and is no gap: the repository's own rules say that it is no part of the code.
"""

from __future__ import annotations

import bisect
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.gate import MAX_FILE_BYTES
from llama_index_codeindex.engine.files.gitrepo import (
    Repository,
    Settings,
    Tracked,
    find_repository,
    read_boundary,
    read_settings,
    read_tracked,
)
from llama_index_codeindex.engine.files.ignore import RuleList, RuleStack
from llama_index_codeindex.engine.model import Gap, SourceFile

OWN_IGNORE_FILE = ".codeindexignore"

# A walk that meets more entries than this is almost surely not one project; the largest public ones have 100,000 files.
MAX_ENTRIES = 500_000

# Folders that tools fill and that hold nothing written by hand. Names that are also used for source (`lib`, `build`,
# `dist`, `out`, `vendor`) are left to the ignore rules. Tracked files in them are read all the same.
_CACHE_DIRS = frozenset(
    """
    .hg .svn .bzr node_modules bower_components jspm_packages __pycache__ .venv .tox .nox .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .ipynb_checkpoints .eggs .next .nuxt .svelte-kit .parcel-cache .turbo .gradle .terraform
    .dart_tool .stack-work .bloop .metals .zig-cache
    """.split()
)
_CACHE_MARKS = frozenset(("CACHEDIR.TAG", "pyvenv.cfg"))  # cache folders and virtual environments say so themselves


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


@dataclass(frozen=True, slots=True)
class _Checkout:
    """A repository met on the walk, with its base: the folder's path from the outermost top, `b""` or `b"a/b/"`."""

    base: bytes
    submodules: frozenset[bytes]
    tracked: frozenset[bytes]
    ordered: list[bytes]

    def tracks(self, path: bytes) -> bool:
        return path[len(self.base) :] in self.tracked

    def tracked_below(self, folder: bytes) -> list[bytes]:
        """Return the tracked files below a folder, as paths from the outermost top."""
        prefix = folder[len(self.base) :] + b"/"
        first = bisect.bisect_left(self.ordered, prefix)
        last = bisect.bisect_left(self.ordered, prefix[:-1] + b"0")  # "0" follows "/"
        return [self.base + path for path in self.ordered[first:last]]


_NO_CHECKOUT = _Checkout(b"", frozenset(), frozenset(), [])


@dataclass(frozen=True, slots=True)
class _Folder:
    absolute: str
    path: bytes  # from the outermost top; b"" or without a trailing slash
    rules: RuleStack
    checkout: _Checkout


class _Walk:
    def __init__(self, root: Path, options: WalkOptions) -> None:
        self.root = str(root)
        self.options = options
        self.include = RuleList("\n".join(options.include).encode())
        self.exclude = RuleList("\n".join(options.exclude).encode())
        self.skip = {os.path.normcase(str(path)) for path in options.skip}
        self.repository = find_repository(root)
        self.settings = read_settings(self.repository)
        self.top = self.repository.top if self.repository else root
        relative = root.relative_to(self.top).as_posix()
        self.above = b"" if relative == "." else os.fsencode(relative) + b"/"
        self.budget = options.max_entries
        self.denied_inodes: set[tuple[int, int]] = set()
        self.linked: list[tuple[tuple[int, int], SourceFile]] = []

    def run(self) -> Iterator[SourceFile | Gap]:
        """Walk depth first, folders after the files of their parent."""
        problem, start = self._start()
        if problem:
            yield Gap(".git/index", "not_evaluated", problem)
        pending = [start]
        while pending:
            below: list[_Folder] = []
            yield from self._list(pending.pop(), below)
            pending.extend(reversed(below))
            if self.budget <= 0:
                yield Gap(".", "budget", f"stopped after {self.options.max_entries} entries")
                break
        # A hard link to a denied file is that file under an innocent name.
        for inode, file in self.linked:
            yield Gap(file.path, "denied", "a hard link to a denied file") if inode in self.denied_inodes else file

    def _start(self) -> tuple[str, _Folder]:
        """Return the root as a folder, with the rules of its parents up to the repository's top."""
        tracked = Tracked()
        rules = RuleStack()
        if self.repository is not None:
            rules = self._repository_rules(self.repository, b"", RuleStack(), self.settings)
            tracked = read_tracked(self.repository)
        elif self.options.global_ignore:
            rules = rules.with_lists(self._rule_file(self.settings.excludes_file, b""), None)
        folder, base = self.top, b""
        for part in [part for part in self.above.split(b"/") if part]:
            rules = self._folder_rules(rules, str(folder), base)
            folder /= os.fsdecode(part)
            base += part + b"/"
        checkout = _Checkout(b"", tracked.submodules, tracked.files, sorted(tracked.files))
        return tracked.problem, _Folder(self.root, self.above.rstrip(b"/"), rules, checkout)

    def _repository_rules(self, repository: Repository, base: bytes, outer: RuleStack, settings: Settings) -> RuleStack:
        rules = outer.without_git()
        if self.options.global_ignore:
            rules = rules.with_lists(self._rule_file(settings.excludes_file, base), None)
        return rules.with_lists(self._rule_file(repository.common_dir / "info" / "exclude", base), None)

    def _rule_file(self, path: Path | None, base: bytes) -> RuleList | None:
        if path is None:
            return None
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return None
            return RuleList(path.read_bytes(), base, ignore_case=self.settings.ignore_case)
        except OSError:
            return None

    def _folder_rules(self, rules: RuleStack, folder: str, base: bytes) -> RuleStack:
        git, own = Path(folder, ".gitignore"), Path(folder, OWN_IGNORE_FILE)
        # git does not follow a link that stands for an ignore file inside the work tree.
        return rules.with_lists(
            None if git.is_symlink() else self._rule_file(git, base),
            None if own.is_symlink() else self._rule_file(own, base),
        )

    def _list(self, folder: _Folder, below: list[_Folder]) -> Iterator[SourceFile | Gap]:
        """Yield the files of one folder and append its folders to `below`."""
        shown = self._shown(folder.path)
        try:
            with os.scandir(folder.absolute) as listing:
                entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield Gap(shown or ".", "unreadable", error.strerror or "")
            return
        names = {entry.name for entry in entries}
        if shown and not _CACHE_MARKS.isdisjoint(names) and self._is_cache(folder, names):
            yield Gap(shown, "cache_dir")
            yield from self._tracked_files(folder, folder.path)
            return
        rules = folder.rules
        base = folder.path + b"/" if folder.path else b""
        if ".gitignore" in names or OWN_IGNORE_FILE in names:
            rules = self._folder_rules(rules, folder.absolute, base)
        here = _Folder(folder.absolute, folder.path, rules, folder.checkout)
        for entry in entries:
            if entry.name == ".git" or (os.name == "nt" and entry.name.lower() == ".git"):
                continue
            self.budget -= 1
            if self.budget <= 0:
                return
            name = os.fsencode(entry.name)
            yield from self._entry(here, entry, base + name, name, below)

    def _entry(
        self, folder: _Folder, entry: os.DirEntry[str], path: bytes, name: bytes, below: list[_Folder]
    ) -> Iterator[SourceFile | Gap]:
        try:
            is_link = entry.is_symlink() or _is_junction(entry)
            is_dir = not is_link and entry.is_dir(follow_symlinks=False)
        except OSError as error:
            yield Gap(self._shown(path), "unreadable", error.strerror or "")
            return
        if folder.rules.ignored(path, name, is_dir) and (is_dir or not self._kept(folder, path, name)):
            if is_dir and folder.rules.own_verdict(path, name, True) is not True:
                yield from self._tracked_files(folder, path)
            return
        if is_dir:
            yield from self._directory(folder, entry, path, name, below)
        elif is_link:
            if self._selected(path):
                yield self._link(entry.path, path)
        else:
            yield from self._file(entry.path, path)

    def _kept(self, folder: _Folder, path: bytes, name: bytes) -> bool:
        """Say whether an ignored file is read all the same: git goes on tracking what it tracks."""
        return folder.rules.own_verdict(path, name, False) is not True and folder.checkout.tracks(path)

    def _directory(
        self, folder: _Folder, entry: os.DirEntry[str], path: bytes, name: bytes, below: list[_Folder]
    ) -> Iterator[SourceFile | Gap]:
        if os.path.normcase(entry.path) in self.skip:
            return
        if self.exclude.verdict(self._below_root(path), name, True):
            return
        if entry.name in _CACHE_DIRS and folder.rules.own_verdict(path, name, True) is not False:
            yield Gap(self._shown(path), "cache_dir")
            yield from self._tracked_files(folder, path)
            return
        if not os.path.lexists(os.path.join(entry.path, ".git")):
            below.append(_Folder(entry.path, path, folder.rules, folder.checkout))
            return
        boundary = read_boundary(Path(entry.path))
        is_submodule = boundary.kind == "submodule" or path[len(folder.checkout.base) :] in folder.checkout.submodules
        is_inside_repository = self.repository is not None or folder.checkout is not _NO_CHECKOUT
        if boundary.kind == "worktree":
            yield Gap(self._shown(path), "nested_repository", "a worktree of a repository")
        elif is_submodule and not self.options.submodules:
            yield Gap(self._shown(path), "nested_repository", "a submodule")
        elif is_inside_repository and not is_submodule:
            yield Gap(self._shown(path), "nested_repository", "a repository of its own")
        else:
            below.append(self._nested(folder, entry.path, path, boundary.repository))

    def _nested(self, folder: _Folder, absolute: str, path: bytes, repository: Repository | None) -> _Folder:
        """Return a submodule, or a repository below a root without git, under its own rules."""
        base = path + b"/"
        if repository is None:
            return _Folder(absolute, path, folder.rules.without_git(), _NO_CHECKOUT)
        rules = self._repository_rules(repository, base, folder.rules, self.settings)
        tracked = read_tracked(repository)
        return _Folder(absolute, path, rules, _Checkout(base, tracked.submodules, tracked.files, sorted(tracked.files)))

    def _is_cache(self, folder: _Folder, names: set[str]) -> bool:
        name = os.path.basename(folder.absolute)
        if folder.rules.own_verdict(folder.path, os.fsencode(name), True) is False:
            return False
        if "pyvenv.cfg" in names:
            return True
        try:
            with open(os.path.join(folder.absolute, "CACHEDIR.TAG"), "rb") as file:
                return file.read(43) == b"Signature: 8a477f597d28d172789f06886806bc55"
        except OSError:
            return False

    def _tracked_files(self, folder: _Folder, path: bytes) -> Iterator[SourceFile | Gap]:
        """Yield the tracked files below a folder that is not listed."""
        for tracked in folder.checkout.tracked_below(path):
            absolute = os.path.join(self.root, os.fsdecode(self._below_root(tracked)))
            parent = os.path.dirname(absolute)
            if not os.path.lexists(absolute) or os.path.realpath(parent) != os.path.normpath(parent):
                continue
            self.budget -= 1
            if os.path.islink(absolute):
                yield self._link(absolute, tracked)
            elif os.path.isfile(absolute):
                yield from self._file(absolute, tracked)

    def _file(self, absolute: str, path: bytes) -> Iterator[SourceFile | Gap]:
        if not self._selected(path):
            return
        shown = self._shown(path)
        try:
            status = os.lstat(absolute)
        except OSError as error:
            yield Gap(shown, "unreadable", error.strerror or "")
            return
        if not stat.S_ISREG(status.st_mode):
            yield Gap(shown, "special_file")
        elif is_denied(shown):
            if status.st_nlink > 1:
                self.denied_inodes.add((status.st_dev, status.st_ino))
            yield Gap(shown, "denied")
        elif _is_undecodable(path):
            yield Gap(shown, "undecodable", "its name is not UTF-8")
        elif status.st_size > self.options.max_file_bytes:
            yield Gap(shown, "too_large", f"{status.st_size} bytes")
        elif status.st_nlink > 1:
            self.linked.append(((status.st_dev, status.st_ino), SourceFile(shown, status.st_size, status.st_mtime_ns)))
        else:
            yield SourceFile(shown, status.st_size, status.st_mtime_ns)

    def _link(self, absolute: str, path: bytes) -> Gap:
        shown = self._shown(path)
        target = os.path.realpath(absolute)
        if not os.path.exists(target):
            return Gap(shown, "link_broken")
        if os.path.commonpath((self.root, target)) != self.root:
            return Gap(shown, "link_outside")
        inside = os.path.relpath(target, self.root).replace(os.sep, "/")
        return Gap(shown, "denied" if is_denied(inside) else "link")

    def _selected(self, path: bytes) -> bool:
        """Say whether the caller's own patterns admit a file."""
        if not self.include and not self.exclude:
            return True
        below = self._below_root(path)
        if self.exclude.verdict(below, below.rsplit(b"/", 1)[-1], False):
            return False
        if not self.include:
            return True
        parts = below.split(b"/")
        return any(
            self.include.verdict(b"/".join(parts[: end + 1]), parts[end], end + 1 < len(parts))
            for end in range(len(parts))
        )

    def _below_root(self, path: bytes) -> bytes:
        return path[len(self.above) :]

    def _shown(self, path: bytes) -> str:
        return self._below_root(path).decode("utf-8", "backslashreplace")


def _is_undecodable(path: bytes) -> bool:
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _is_junction(entry: os.DirEntry[str]) -> bool:
    if os.name != "nt":
        return False
    attributes = getattr(entry.stat(follow_symlinks=False), "st_file_attributes", 0)
    return bool(attributes & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0))
