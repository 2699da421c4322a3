"""The walk against `git ls-files`, on generated trees with generated rules.

`CODEINDEX_PARITY_EXAMPLES` raises the number of trees; 2,000 take about two minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.files.walk import walk

EXAMPLES = int(os.environ.get("CODEINDEX_PARITY_EXAMPLES", "150"))

# Linux alone takes any bytes as a name.
TAKES_ANY_BYTES = sys.platform.startswith("linux")

NAMES = [
    b"a", b"b", b"ab", b"foo", b"foo.d", b"bar", b"a b", b" lead", b"sp ", b"x.py", b"y.py", b"z.c", b"a.b.c", b"build",
    b"keep.log", b"A", b"-", b"#h", b"!b", b"[x]", "é".encode(), "журнал".encode(), "e\u0301".encode(),
]  # fmt: skip
if os.name != "nt":
    NAMES += [b'q"t', b"q't", b"new\nline", b"tab\t", b"back\\s", b"*", b"a?", b"cr\r"]
if TAKES_ANY_BYTES:
    NAMES += [b"\xff\xfe", b"a\xe9.py"]

ATOMS = [
    b"a", b"b", b"x", b"foo", b"bar", b"build", b".py", b".log", b".d", b"*", b"*", b"**", b"?", b"*.py", b"**/", b"/**",
    b"/", b"/", b"[ab]", b"[!a]", b"[^b]", b"[a-f]", b"[x]", b"[a-]", b"[]a]", b"[\\]]", b"[[:alpha:]]", b"[[:punct:]]",
    b"[", b"]", b"\\", b"\\*", b"\\a", b" ", b"\\ ", b"#", b"!", b"\t", b"-", b"a?", "é".encode(), b"\xff", b"\r",
]  # fmt: skip


@dataclass
class Folder:
    """A generated folder: files, folders, rule files."""

    files: list[bytes]
    folders: dict[bytes, Folder] = field(default_factory=dict)
    rules: bytes | None = None


def patterns() -> st.SearchStrategy[bytes]:
    body = st.one_of(st.sampled_from(NAMES), st.lists(st.sampled_from(ATOMS), min_size=1, max_size=6).map(b"".join))
    return st.builds(
        lambda bang, anchor, text, slash, spaces: bang + anchor + text.replace(b"\n", b"") + slash + spaces,
        st.sampled_from([b"", b"", b"!"]),
        st.sampled_from([b"", b"", b"/", b"**/"]),
        body,
        st.sampled_from([b"", b"", b"/", b"/**", b"/*"]),
        st.sampled_from([b"", b"", b"", b" ", b"  ", b"\\ ", b"\t"]),
    )


def rule_files() -> st.SearchStrategy[bytes]:
    return st.builds(
        lambda bom, lines, end, last: bom + end.join(lines) + (end if last else b""),
        st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
        st.lists(patterns(), min_size=1, max_size=6),
        st.sampled_from([b"\n", b"\n", b"\r\n"]),
        st.booleans(),
    )


@st.composite
def folders(draw: st.DrawFn, depth: int = 0) -> Folder:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique_by=bytes.lower))
    # On file systems that compose names, the two forms of a letter are one name.
    split = draw(st.integers(0, len(names))) if depth < 3 else len(names)
    rules = draw(rule_files()) if draw(st.integers(0, 9)) < (9 if depth == 0 else 3) else None
    return Folder(names[:split], {name: draw(folders(depth + 1)) for name in names[split:]}, rules)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Folder, bytes | None, list[bytes], str]:
    """Return a tree, the rules of `info/exclude`, what is force-added, and the folder below which git is asked."""
    top = draw(folders())
    excluded = draw(st.none() | rule_files())
    every = sorted(_paths(top, b""))
    tracked = draw(st.lists(st.sampled_from(every), max_size=4, unique=True)) if every else []
    return top, excluded, tracked, draw(st.sampled_from(["", "", *(os.fsdecode(name) for name in top.folders)]))


def _paths(folder: Folder, base: bytes) -> list[bytes]:
    found = [base + name for name in folder.files]
    for name, inner in folder.folders.items():
        found += _paths(inner, base + name + b"/")
    return found


def _build(folder: Folder, where: bytes) -> None:
    for name in folder.files:
        with open(os.path.join(where, name), "wb") as file:
            file.write(b"x\n")
    for name, inner in folder.folders.items():
        os.mkdir(os.path.join(where, name))
        _build(inner, os.path.join(where, name))
    if folder.rules is not None:
        with open(os.path.join(where, b".gitignore"), "wb") as file:
            file.write(folder.rules)


def _git(where: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], cwd=where, input=stdin, check=True, capture_output=True).stdout


@pytest.mark.parametrize("number", [0])  # keeps the fixture that isolates git in force for a hypothesis test
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(tree=trees())
def test_walk_lists_what_git_lists(number: int, tree: tuple[Folder, bytes | None, list[bytes], str]) -> None:
    top, excluded, tracked, below = tree
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        _git(root, "init", "-q")
        _build(top, os.fsencode(root))
        if excluded is not None:
            (root / ".git" / "info" / "exclude").write_bytes(excluded)
        if tracked:
            _git(root, "update-index", "--add", "-z", "--stdin", stdin=b"\0".join(tracked))
        # Of a folder that is ignored itself git lists nothing; a root that was named is walked all the same.
        asked = root if _is_ignored(root, below) else root / below
        listed = set(_git(asked, "ls-files", "-coz", "--exclude-standard").split(b"\0")) - {b""}
        found = [item.path for item in walk(asked)]
    assert len(found) == len(set(found))
    assert set(found) == {path.decode("utf-8", "backslashreplace") for path in listed}


def _is_ignored(root: Path, folder: str) -> bool:
    if not folder:
        return False
    command = ["git", "check-ignore", "-q", "--no-index", "-z", "--stdin"]
    asked = os.fsencode(folder) + b"/\0"
    return subprocess.run(command, cwd=root, input=asked, check=False, capture_output=True).returncode == 0
