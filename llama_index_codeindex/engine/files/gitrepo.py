"""What the files need to know of a git repository, read from its own files wherever that is exact.

Only two facts need git itself: its configuration (includes and conditions are git's business) and an index in a
form that this reader does not know. Where git is missing, the defaults hold.
"""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

_GITLINK = 0o160000
_KINDS = frozenset(mode >> 12 for mode in (0o100000, 0o120000, _GITLINK))  # files, links, submodules
_EXTENDED = 0x4000  # among an entry's flags: two more bytes of them follow
_LONG = 0xFFF  # what the flags hold as the length of a name; that of a longer one they do not hold


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree and the folders git keeps for it. In a linked worktree `git_dir` differs from `common_dir`."""

    top: Path
    git_dir: Path
    common_dir: Path

    @property
    def is_linked_worktree(self) -> bool:
        """Whether this is a worktree of another checkout, or was one before that was moved away."""
        if self.git_dir != self.common_dir:
            return True
        return self.git_dir.parent.name == "worktrees" and not self.is_valid

    @property
    def is_valid(self) -> bool:
        """Whether git would take it for a repository."""
        has_folders = (self.common_dir / "objects").is_dir() and (self.common_dir / "refs").is_dir()
        return has_folders and os.path.lexists(self.git_dir / "HEAD")


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the index holds: the tracked files, sorted, and the submodules, as byte paths from the top."""

    files: list[bytes] = field(default_factory=list)
    submodules: frozenset[bytes] = frozenset()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration that ignore rules depend on."""

    excludes_file: Path | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """Where HEAD points. Both are empty outside a repository; `commit` is empty before the first commit."""

    commit: str = ""
    branch: str = ""


def open_repository(top: Path) -> Repository | None:
    """Return what the `.git` entry in `top` names, valid or not, or None if there is no such entry."""
    if not os.path.lexists(os.path.join(top, ".git")):  # most folders have none
        return None
    marker = top / ".git"
    if marker.is_dir():
        return Repository(top, marker, marker)
    if not marker.is_file():
        return None
    try:
        line = marker.read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return None
    if not line.startswith("gitdir:"):
        return None
    git_dir = Path(os.path.normpath(top / line[len("gitdir:") :].strip()))
    common = git_dir
    with suppress(OSError):  # a submodule has no commondir
        common = Path(os.path.normpath(git_dir / (git_dir / "commondir").read_text("utf-8").strip()))
    return Repository(top, git_dir, common)


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that `folder` lies in, searching upwards as git does, past what is no repository."""
    for candidate in (folder, *folder.parents):
        repository = open_repository(candidate)
        if repository is not None and repository.is_valid:
            return repository
    return None


def start_settings(repository: Repository | None, root: Path) -> Callable[[], Settings]:
    """Ask for git's settings for a repository, or the user's own for a root without one.

    Returns:
        What waits for the answer: git takes some time to start, in which the index can be read.
    """
    answer = _start_config(repository, root)
    return lambda: _settings(answer(), repository, root)


def _settings(output: bytes | None, repository: Repository | None, root: Path) -> Settings:
    values: dict[str, str] = {}  # empty where git is missing
    for entry in (output or b"").split(b"\0"):
        key, _, value = entry.partition(b"\n")
        if key:
            values[os.fsdecode(key).lower()] = os.fsdecode(value)
    excludes = values.get("core.excludesfile")
    if excludes is None:
        home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        excludes = os.path.join(home, "git", "ignore")
    try:
        path = Path(excludes).expanduser() if excludes else None
    except RuntimeError:  # there is no home folder
        path = None
    if path is not None and not path.is_absolute():
        path = (repository.top if repository else root) / path
    return Settings(path, values.get("core.ignorecase", "false").lower() in ("true", "yes", "on", "1", ""))


def _start_config(repository: Repository | None, root: Path) -> Callable[[], bytes | None]:
    where = ["--git-dir", str(repository.git_dir)] if repository else []
    # Without a repository the working folder matters: it must not lie in another one.
    cwd = None if repository else root
    return _start_git([*where, "config", "--null", "--get-regexp", r"^core\.(excludesfile|ignorecase)$"], cwd)


def run_git(arguments: list[str], cwd: Path | None = None) -> bytes | None:
    """Run git read-only and return what it prints, or None if it is missing or fails."""
    return _start_git(arguments, cwd)()


def _start_git(arguments: list[str], cwd: Path | None) -> Callable[[], bytes | None]:
    # GIT_DIR and its like would answer for another repository than the one asked about.
    # What configures git itself is kept.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith("GIT_CONFIG_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        process = subprocess.Popen(
            ["git", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, cwd=cwd,
        )  # fmt: skip
    except OSError:
        return lambda: None

    def wait() -> bytes | None:
        output, _ = process.communicate()
        return output if process.returncode == 0 else None

    return wait


def read_tracked(repository: Repository) -> Tracked:
    """Return what the repository's index tracks."""
    try:
        data = (repository.git_dir / "index").read_bytes()
    except FileNotFoundError:
        return Tracked()
    except OSError:
        return Tracked(problem="the git index cannot be read")
    for hash_bytes in (20, 32):  # SHA-1, SHA-256
        try:
            return _parse_index(data, hash_bytes)
        except (ValueError, struct.error, IndexError):
            continue
    return _tracked_by_git(repository)


def _parse_index(data: bytes, hash_bytes: int) -> Tracked:
    """Parse index versions 2 to 4 (gitformat-index); ValueError for anything else."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("unknown index format")
    files: list[bytes] = []
    submodules: list[bytes] = []
    position = 12
    name = b""
    fixed = 40 + hash_bytes + 2  # times, ids, size; the hash; flags
    mode_and_flags = struct.Struct(f">24xI{fixed - 30}xH").unpack_from
    for _ in range(count):
        mode, flags = mode_and_flags(data, position)
        start = position + fixed
        if flags & _EXTENDED and version >= 3:
            start += 2
        length = flags & _LONG
        if version == 4:
            strip, start = _variable_length(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - strip] + data[start:end]
            position = end + 1
        else:
            end = start + length if length < _LONG else data.index(b"\0", start)
            name = data[start:end]
            position += (end - position + 8) & ~7
        # A wrong hash width shows here; so does a sparse index, whose entries may be folders.
        if (
            mode >> 12 not in _KINDS
            or data[end]
            or not name
            or (length != len(name) and length != min(len(name), _LONG))
        ):
            raise ValueError("not an index of this form")
        (submodules if mode == _GITLINK else files).append(name)
    if b"link" in _extensions(data, position, hash_bytes):
        raise ValueError("split index")
    # They are in order already, and each is there once but for the versions of a conflict.
    return Tracked(sorted(dict.fromkeys(files)), frozenset(submodules))


def _extensions(data: bytes, position: int, hash_bytes: int) -> set[bytes]:
    """Return the signatures of the index's extensions."""
    found = set()
    while position + 8 <= len(data) - hash_bytes:
        signature, size = struct.unpack_from(">4sI", data, position)
        found.add(signature)
        position += 8 + size
    return found


def _variable_length(data: bytes, position: int) -> tuple[int, int]:
    """Read git's offset encoding: seven bits a byte, most significant first, each continuation adding one."""
    byte = data[position]
    position += 1
    value = byte & 0x7F
    while byte & 0x80:
        byte = data[position]
        position += 1
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position


def _tracked_by_git(repository: Repository) -> Tracked:
    # A repository's own configuration may name a program for git to start; it must not.
    output = run_git(["-c", "core.fsmonitor=false", "ls-files", "-z", "--stage"], cwd=repository.top)
    if output is None:
        return Tracked(problem="the git index is of a form only git reads, and git is missing")
    files: list[bytes] = []
    submodules: list[bytes] = []
    for entry in output.split(b"\0"):
        meta, _, name = entry.partition(b"\t")
        if name:
            (submodules if meta.startswith(b"160000") else files).append(name)
    return Tracked(sorted(dict.fromkeys(files)), frozenset(submodules))


def read_head(repository: Repository | None) -> Head:
    """Return commit and branch without starting git: loose refs first, then packed ones."""
    if repository is None:
        return Head()
    text = _first_line(repository.git_dir / "HEAD")
    if not text.startswith("ref:"):
        return Head(commit=text)
    ref = text[len("ref:") :].strip()
    branch = ref.removeprefix("refs/heads/")
    for folder in (repository.git_dir, repository.common_dir):
        commit = _first_line(folder / ref)
        if commit:
            return Head(commit, branch)
    try:
        packed = (repository.common_dir / "packed-refs").read_text("utf-8", "surrogateescape")
    except OSError:
        return Head("", branch)
    for line in packed.splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return Head(commit, branch)
    return Head("", branch)


def _first_line(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape").split("\n", 1)[0].strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Boundary:
    """What a `.git` entry inside the walked tree means for the folder that holds it."""

    kind: Literal["worktree", "submodule", "repository"]
    repository: Repository


def read_boundary(folder: Path) -> Boundary | None:
    """Classify a folder below the root that has a `.git` entry; None if git sees no repository there."""
    repository = open_repository(folder)
    if repository is None:
        return None
    if repository.is_linked_worktree:
        return Boundary("worktree", repository)
    if "modules" in repository.git_dir.parts and repository.git_dir.name != ".git":
        return Boundary("submodule", repository)
    return Boundary("repository", repository) if repository.is_valid else None
