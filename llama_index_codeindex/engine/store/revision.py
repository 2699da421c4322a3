"""The tree of a git revision: its files come from git's objects, and nothing is checked out."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.gate import Gate, make_source
from llama_index_codeindex.engine.files.gitrepo import Head, Repository, find_repository, run_git
from llama_index_codeindex.engine.files.ignore import RuleList
from llama_index_codeindex.engine.files.walk import WalkOptions
from llama_index_codeindex.engine.model import Gap, Source, SourceFile
from llama_index_codeindex.engine.store.options import Progress, ProgressCallback
from llama_index_codeindex.engine.store.tree import Entry

# The ignore file that this project reads beside git's.
_OWN_IGNORE_FILE = b".codeindexignore"
_LINK, _SUBMODULE = "120000", "160000"


class BlobReader:
    """Reads objects through one `git cat-file --batch` process, started when it is first needed.

    Args:
        top: The repository's work tree.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[[subprocess.Popen[bytes]], BlobReader] | None = None

    def read(self, name: str) -> bytes | None:
        """Return an object's content by its name, such as `COMMIT:PATH`, or None if there is no such file."""
        if "\n" in name:
            return run_git(["cat-file", "blob", name], self._top)
        with self._lock:
            process = self._process or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(os.fsencode(name) + b"\n")
            process.stdin.flush()
            words = process.stdout.readline().split()
            if len(words) != 3 or not words[2].isdigit():
                return None  # "NAME missing"
            data = process.stdout.read(int(words[2]) + 1)[:-1]
            return data if words[1] == b"blob" else None

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        # A partial clone would fetch what it lacks.
        environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
        process = subprocess.Popen(
            ["git", "cat-file", "--batch"], cwd=self._top, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._process = process
        self._finalizer = weakref.finalize(self, _end, process)
        return process

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._process = None
            if self._finalizer is not None:
                self._finalizer()


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait()


@dataclass(frozen=True, slots=True)
class RevisionGate(Gate):
    """Reads the files of one commit, by the same rules as those on disk."""

    commit: str = ""
    prefix: str = ""
    blobs: BlobReader = field(default_factory=lambda: BlobReader(Path()))

    def read(self, path: str) -> Source | Gap:
        """Return the source at a relative path, or the gap it leaves."""
        if is_denied(path):
            return Gap(path, "denied")
        data = self.blobs.read(f"{self.commit}:{self.prefix}{path}")
        if data is None:
            return Gap(path, "unreadable", "not in this revision")
        if len(data) > self.max_file_bytes:
            return Gap(path, "too_large", f"more than {self.max_file_bytes} bytes")
        return make_source(path, data)


class RevisionTree:
    """The files of a revision below a root.

    Args:
        root: The resolved root, inside a repository.
        options: What is admitted.
        revision: A branch, tag or commit.

    Raises:
        InvalidArgument: There is no such revision, or no repository.
    """

    def __init__(self, root: Path, options: WalkOptions, revision: str) -> None:
        repository = find_repository(root)
        if repository is None:
            raise InvalidArgument("The folder is not in a git repository.")
        self.repository: Repository = repository
        self.options = options
        self.revision = revision
        relative = root.relative_to(repository.top).as_posix()
        self.prefix = "" if relative == "." else relative + "/"
        self.root = root
        self.blobs = BlobReader(repository.top)
        self._gate = self.gate_at(self._commit())

    def head(self) -> Head:
        """Return the commit that the revision means now; it is empty when the revision is gone."""
        try:
            return Head(self._commit(), self.revision)
        except InvalidArgument:
            return Head("", self.revision)

    def _commit(self) -> str:
        name = f"{self.revision}^{{commit}}"
        found = run_git(["rev-parse", "--verify", "--quiet", "--end-of-options", name], self.repository.top)
        if not found:
            raise InvalidArgument(f"There is no revision {self.revision!r} in this repository.")
        return found.decode("ascii").strip()

    def gate_at(self, commit: str) -> RevisionGate:
        """Return a reader of one commit's files."""
        return RevisionGate(self.root, self.options.max_file_bytes, commit, self.prefix, self.blobs)

    def stamps(self, commit: str) -> Callable[[str], str]:
        """Return what gives the stamp of every file: the commit, which never changes."""
        return lambda _: commit

    def read(self, path: str) -> Source | Gap:
        """Read a file of the commit that was last listed."""
        return self._gate.read(path)

    def scan(self, progress: ProgressCallback) -> tuple[list[Entry], list[Gap]]:
        """List the files of the commit that the revision means now.

        Raises:
            InvalidArgument: The revision is gone.
        """
        commit = self._commit()
        self._gate = self.gate_at(commit)
        tree = f"{commit}:{self.prefix.rstrip('/')}" if self.prefix else commit
        output = run_git(["ls-tree", "-r", "-z", "-l", "--full-tree", tree], self.repository.top)
        entries: list[Entry] = []
        gaps: list[Gap] = []
        listed = [line.partition(b"\t") for line in (output or b"").split(b"\0") if line]
        selected = self._selection([name for _, _, name in listed])
        for facts, _, name in listed:
            if name in selected:
                found = self._admit(name, *facts.decode("ascii").split())
                (gaps if isinstance(found, Gap) else entries).append(found)  # type: ignore[arg-type]
        progress(Progress("scan", len(entries), len(entries)))
        return sorted(entries, key=lambda entry: entry.file.path), gaps

    def _admit(self, name: bytes, mode: str, _kind: str, oid: str, size: str) -> Entry | Gap:
        path = name.decode("utf-8", "backslashreplace")
        if mode == _SUBMODULE:
            return Gap(path, "nested_repository", "a submodule")
        if is_denied(path):
            return Gap(path, "denied")
        if mode == _LINK:
            return Gap(path, "link")
        if path.encode() != name:
            return Gap(path, "undecodable", "its name is not UTF-8")
        if int(size) > self.options.max_file_bytes:
            return Gap(path, "too_large", f"{size} bytes")
        return Entry(SourceFile(path, int(size), 0), oid, 0)

    def _selection(self, names: list[bytes]) -> set[bytes]:
        """Return the names that the options and the revision's own ignore files admit."""
        own: dict[bytes, RuleList] = {}
        for name in names:
            folder, _, base = name.rpartition(b"/")
            if base == _OWN_IGNORE_FILE:
                data = self.blobs.read(f"{self._gate.commit}:{self.prefix}{os.fsdecode(name)}")
                own[folder] = RuleList(data or b"", folder + b"/" if folder else b"")
        include = RuleList("\n".join(self.options.include).encode())
        exclude = RuleList("\n".join(self.options.exclude).encode())
        return {
            name
            for name in names
            if not _left_out(name, exclude, own)
            and (not self.options.include or any(include.verdict(*step) for step in _steps(name)))
        }

    def close(self) -> None:
        """End the git process."""
        self.blobs.close()


def _steps(name: bytes) -> list[tuple[bytes, bytes, bool]]:
    """Return each folder on the way and the file itself: path, base name, and whether it is a folder."""
    parts = name.split(b"/")
    return [(b"/".join(parts[: end + 1]), parts[end], end + 1 < len(parts)) for end in range(len(parts))]


def _left_out(name: bytes, exclude: RuleList, own: dict[bytes, RuleList]) -> bool:
    lists: list[RuleList] = []
    folder = b""
    for path, base, is_dir in _steps(name):
        if folder in own:
            lists.append(own[folder])
        verdicts = [rules.verdict(path, base, is_dir) for rules in reversed(lists)]
        if exclude.verdict(path, base, is_dir) or next((v for v in verdicts if v is not None), False):
            return True
        folder = path
    return False
