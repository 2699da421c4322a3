"""An index of a git revision: texts from git's objects, a watermark of its own, and word when the branch moves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.files.walk import WalkOptions
from llama_index_codeindex.engine.store.builder import BuildOptions
from tests.store.conftest import Open
from tests.store.support import CountingEmbedder, commit, git, make_repository, write

FILES: dict[str, str | bytes] = {
    "app.py": "def open_door(key):\n    return key.turn()\n",
    "sub/tool.py": "def sharpen_saw(blade):\n    return blade\n",
    "sub/odd\nname.py": "def odd_name():\n    return 1\n",
    ".env": "API_KEY=abcdefghijklmnop\n",
    "picture.png": b"\x89PNG\0\0",
    "big.txt": "word " * 1000,
    "private/.codeindexignore": "*.py\n!kept.py\n",
    "private/hidden.py": "def hidden_thing():\n    return 1\n",
    "private/kept.py": "def kept_thing():\n    return 1\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "root", FILES)
    os.symlink("app.py", root / "link.py")
    commit(root, "with a link")
    git(root, "checkout", "-q", "-b", "topic")
    write(root, {"app.py": "def lift_gate(rope):\n    return rope.pull()\n"})
    commit(root, "topic")
    git(root, "checkout", "-q", "main")
    return root


def test_a_branch_is_indexed_without_being_checked_out(root: Path, opened: Open) -> None:
    codebase = opened(
        root, CountingEmbedder(), revision="topic", options=BuildOptions(WalkOptions(max_file_bytes=2000))
    )
    codebase.refresh()
    found = codebase.search("lift_gate")
    assert (found.hits[0].file_path, found.hits[0].text) == ("app.py", "def lift_gate(rope):\n    return rope.pull()\n")
    assert found.hits[0].stale is False
    assert (found.watermark.commit, found.watermark.branch) == (git(root, "rev-parse", "topic"), "topic")
    assert found.watermark.state == "current"
    assert (root / "app.py").read_text().startswith("def open_door")
    assert git(root, "branch", "--show-current") == "main"
    assert codebase.search("odd_name", mode="symbol").hits[0].file_path == "sub/odd\nname.py"
    assert codebase.search("hidden_thing", mode="symbol").hits == []
    assert codebase.search("kept_thing", mode="symbol").hits
    reasons = {gap.path: gap.reason for gap in codebase.gaps()}
    assert reasons == {".env": "denied", "picture.png": "binary", "big.txt": "too_large", "link.py": "link"}
    assert codebase.refresh().is_noop


def test_it_is_an_index_of_its_own(root: Path, opened: Open) -> None:
    here, there = opened(root), opened(root, revision="topic")
    here.refresh()
    there.refresh()
    assert here.search("open_door", mode="symbol").hits
    assert here.search("lift_gate", mode="symbol").hits == []
    assert there.search("open_door", mode="symbol").hits == []
    (root / "app.py").write_text("def changed_on_disk():\n    return 1\n")
    assert there.search("lift_gate").hits[0].stale is False
    assert there.status().state == "current"


def test_it_says_when_the_branch_has_moved_on(root: Path, opened: Open) -> None:
    embedder = CountingEmbedder()
    codebase = opened(root, embedder, revision="topic")
    codebase.refresh()
    old = codebase.status().commit
    git(root, "checkout", "-q", "topic")
    write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
    new = commit(root, "moved")
    git(root, "checkout", "-q", "main")
    found = codebase.search("lift_gate")
    assert found.hits[0].text.startswith("def lift_gate")  # still the text of the commit that was indexed
    assert (found.watermark.state, found.watermark.commit) == ("stale", old)
    assert "revision_moved" in found.degraded_reasons
    embedder.seen.clear()
    assert codebase.refresh().changed == 1
    assert len(embedder.seen) == 1
    found = codebase.search("swing_hinge")
    assert (found.watermark.state, found.watermark.commit, found.hits[0].file_path) == ("current", new, "app.py")
    assert "revision_moved" not in found.degraded_reasons


def test_a_branch_that_is_gone_leaves_the_index_stale(root: Path, opened: Open) -> None:
    codebase = opened(root, revision="topic")
    codebase.refresh()
    git(root, "branch", "-q", "-D", "topic")
    found = codebase.search("lift_gate")
    assert (found.hits[0].file_path, found.watermark.state) == ("app.py", "stale")
    assert codebase.status().state == "stale"
    with pytest.raises(InvalidArgument):
        codebase.refresh()


def test_a_commit_and_a_folder_of_the_repository(root: Path, opened: Open) -> None:
    head = git(root, "rev-parse", "main")
    codebase = opened(root / "sub", revision=head[:12], options=BuildOptions(WalkOptions(exclude=("odd*",))))
    codebase.refresh()
    hit = codebase.search("sharpen_saw").hits[0]
    assert (hit.file_path, hit.text) == ("tool.py", "def sharpen_saw(blade):\n    return blade\n")
    assert (codebase.status().commit, codebase.status().files) == (head, 1)
    only = opened(
        root, revision="main", options=BuildOptions(WalkOptions(include=("sub/",))), cache_dir=root.parent / "c"
    )
    only.refresh()
    assert {row.path for row in only.store.catalog.files().values()} == {"sub/tool.py", "sub/odd\nname.py"}


@pytest.mark.parametrize("revision", ["missing", "--all", "HEAD:app.py", "-h"])
def test_what_is_no_revision_is_refused(revision: str, root: Path, opened: Open) -> None:
    with pytest.raises(InvalidArgument):
        opened(root, revision=revision)


def test_a_folder_without_git_is_refused(tmp_path: Path, opened: Open) -> None:
    with pytest.raises(InvalidArgument):
        opened(tmp_path, revision="main")
