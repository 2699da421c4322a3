"""What the files need to know of a git repository, read from its own files wherever that is exact.

Only two facts need git itself: its configuration (includes and conditions are git's business) and an index in a
format this reader does not know. Where git is missing, the defaults hold.
"""

from __future__ import annotations

import os
import struct
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_GITLINK = 0o160000


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree and the folders git keeps for it. In a linked worktree `git_dir` differs from `common_dir`."""

    top: Path
    git_dir: Path
    common_dir: Path

    @property
    def is_linked_worktree(self) -> bool:
        """Whether this is a worktree of another checkout."""
        return self.git_dir.parent.name == "worktrees"


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the index holds: the tracked files and the submodules, as byte paths from the top."""

    files: frozenset[bytes] = frozenset()
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
    """Return the repository whose work tree starts at `top`, or None."""
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
    """Return the repository that `folder` lies in, searching upwards."""
    for candidate in (folder, *folder.parents):
        repository = open_repository(candidate)
        if repository is not None:
            return repository
    return None


def read_settings(repository: Repository | None) -> Settings:
    """Return git's settings for a repository, or the user's own where there is none."""
    values = _git_config(repository)
    excludes = values.get("core.excludesfile")
    if excludes is None:
        home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
        excludes = str(Path(home) / "git" / "ignore")
    path = Path(excludes).expanduser() if excludes else None
    if path is not None and not path.is_absolute() and repository is not None:
        path = repository.top / path
    return Settings(path, values.get("core.ignorecase", "false").lower() in ("true", "yes", "on", "1", ""))


def _git_config(repository: Repository | None) -> dict[str, str]:
    """Return the `core.*` settings, by lower-case key; empty where git is missing."""
    where = ["--git-dir", str(repository.git_dir)] if repository else []
    output = run_git([*where, "config", "--null", "--get-regexp", r"^core\.(excludesfile|ignorecase)$"])
    values: dict[str, str] = {}
    for entry in (output or b"").split(b"\0"):
        key, _, value = entry.partition(b"\n")
        if key:
            values[os.fsdecode(key).lower()] = os.fsdecode(value)
    return values


def run_git(arguments: list[str], cwd: Path | None = None) -> bytes | None:
    """Run git read-only and return what it prints, or None if it is missing or fails."""
    # GIT_DIR and its like would answer for another repository than the one asked about.
    kept = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in kept}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, env=environment, cwd=cwd, check=False, stdin=subprocess.DEVNULL
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def read_tracked(repository: Repository) -> Tracked:
    """Return what the repository's index tracks."""
    try:
        data = (repository.git_dir / "index").read_bytes()
    except FileNotFoundError:
        return Tracked()
    except OSError:
        return Tracked(problem="the git index cannot be read")
    try:
        return _parse_index(data)
    except (ValueError, struct.error, IndexError):
        return _tracked_by_git(repository)


def _parse_index(data: bytes) -> Tracked:
    """Parse index versions 2 to 4 (gitformat-index); ValueError for anything else."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("unknown index format")
    files: set[bytes] = set()
    submodules: set[bytes] = set()
    position = 12
    previous = b""
    for _ in range(count):
        start = position
        mode = int.from_bytes(data[start + 24 : start + 28], "big")
        flags = int.from_bytes(data[start + 60 : start + 62], "big")
        position = start + 62 + (2 if version >= 3 and flags & 0x4000 else 0)
        if version == 4:
            strip, position = _variable_length(data, position)
            end = data.index(b"\0", position)
            name = previous[: len(previous) - strip] + data[position:end]
            position = end + 1
        else:
            end = data.index(b"\0", position)
            name = data[position:end]
            position = start + ((end - start + 8) & ~7)
        previous = name
        if mode == 0o040000:
            raise ValueError("sparse index")
        (submodules if mode == _GITLINK else files).add(name)
    if data[position : position + 4] == b"link":
        raise ValueError("split index")
    return Tracked(frozenset(files), frozenset(submodules))


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
    output = run_git(["ls-files", "-z", "--stage"], cwd=repository.top)
    if output is None:
        return Tracked(problem="the git index is of a form only git reads, and git is missing")
    files: set[bytes] = set()
    submodules: set[bytes] = set()
    for entry in output.split(b"\0"):
        meta, _, name = entry.partition(b"\t")
        if name:
            (submodules if meta.startswith(b"160000") else files).add(name)
    return Tracked(frozenset(files), frozenset(submodules))


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


@dataclass(slots=True)
class Boundary:
    """What a `.git` entry inside the walked tree means for the folder that holds it."""

    kind: str  # "worktree", "submodule" or "repository"
    repository: Repository | None = field(default=None)


def read_boundary(folder: Path) -> Boundary:
    """Classify a folder below the root that has a `.git` entry of its own."""
    repository = open_repository(folder)
    if repository is None:
        return Boundary("repository")
    if repository.is_linked_worktree:
        return Boundary("worktree", repository)
    if "modules" in repository.git_dir.parts and repository.git_dir.name != ".git":
        return Boundary("submodule", repository)
    return Boundary("repository", repository)
