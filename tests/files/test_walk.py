"""What the walk meets besides ordinary files: nothing is lost without a reason, and nothing leads out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import get_args

import pytest

from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.walk import WalkOptions, find, list_paths, scan, walk
from llama_index_codeindex.engine.model import Gap, GapReason, Source, SourceFile

from .conftest import Git
from .helpers import admitted, walked, write

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def commit(git: Git, folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "x")


# -- repositories inside repositories ----------------------------------------------------------------------------------


def test_linked_worktree_as_root_obeys_the_common_exclude_file(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo, ["main.py"])
    commit(git, repo)
    git(repo, "worktree", "add", "-q", "../wt")
    write(repo, {".git/info/exclude": "x.py\n"})
    write(tmp_path / "wt", ["x.py", "y.py"])
    assert (tmp_path / "wt" / ".git").is_file()
    assert admitted(tmp_path / "wt") == {"main.py", "y.py"}


@pytest.mark.parametrize("place", [".worktrees/w1", ".claude/worktrees/w1", "w1"])
def test_worktree_inside_its_repository_is_a_boundary(repo: Path, git: Git, place: str) -> None:
    write(repo, ["main.py"])
    commit(git, repo)
    git(repo, "worktree", "add", "-q", place)
    assert walked(repo) == ({"main.py"}, {place: "nested_repository"})
    assert admitted(repo / place) == {"main.py"}


def test_worktree_below_a_plain_root_is_a_boundary(tmp_path: Path, repo: Path, git: Git) -> None:
    write(repo, ["main.py"])
    commit(git, repo)
    git(repo, "worktree", "add", "-q", "../wt")
    assert walked(tmp_path) == ({"repo/main.py"}, {"wt": "nested_repository"})


@pytest.mark.parametrize("line", ["gitdir: /gone/.git/worktrees/w", "gitdir: ../../gone/.git/modules/s/worktrees/w"])
def test_worktree_of_a_checkout_that_is_gone_is_still_a_copy(repo: Path, line: str) -> None:
    write(repo, {"w/.git": line + "\n", "w/a.py": "x", "b.py": "x"})
    assert walked(repo) == ({"b.py"}, {"w": "nested_repository"})


@pytest.mark.parametrize("name", ["lib", "vendor/lib", "worktrees/lib", "modules"])
def test_submodule_is_read_once_with_its_own_rules(tmp_path: Path, repo: Path, git: Git, name: str) -> None:
    library = tmp_path / "library"
    write(library, {".gitignore": "*.log\n", "l.py": "x"})
    git(library, "init", "-q")
    commit(git, library)
    write(repo, {".gitignore": "*.tmp\nl.py\n", "a.py": "x"})
    git(repo, "submodule", "--quiet", "add", "--force", str(library), name)
    commit(git, repo)
    write(repo, {f"{name}/b.log": "x", f"{name}/c.tmp": "x"})
    assert (repo / name / ".git").is_file()
    assert walked(repo) == ({".gitmodules", "a.py", f"{name}/l.py", f"{name}/c.tmp"}, {})
    assert admitted(repo / name) == {"l.py", "c.tmp"}
    without = walked(repo, WalkOptions(submodules=False))
    assert without == ({".gitmodules", "a.py"}, {name: "nested_repository"})
    (repo / ".git" / "index").unlink()  # where its files are kept still tells what it is
    assert f"{name}/l.py" in admitted(repo)


def test_submodule_that_is_not_checked_out_is_a_gap(tmp_path: Path, repo: Path, git: Git) -> None:
    library = tmp_path / "library"
    write(library, {"l.py": "x"})
    git(library, "init", "-q")
    commit(git, library)
    git(repo, "submodule", "--quiet", "add", str(library), "vendor/lib")
    write(repo, {"a.py": "x"})
    commit(git, repo)
    git(repo, "submodule", "--quiet", "deinit", "--force", "vendor/lib")
    (repo / "empty").mkdir()
    assert walked(repo) == ({".gitmodules", "a.py"}, {"vendor/lib": "nested_repository"})


def test_submodule_of_a_submodule_and_in_an_ignored_folder(tmp_path: Path, repo: Path, git: Git) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    write(inner, ["i.py"])
    git(inner, "init", "-q")
    commit(git, inner)
    write(outer, ["o.py"])
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(inner), "sub")
    commit(git, outer)
    write(repo, {".gitignore": "third/\n"})
    git(repo, "submodule", "--quiet", "add", "--force", str(outer), "third/outer")
    git(repo, "submodule", "--quiet", "update", "--init", "--recursive")
    assert {path for path in admitted(repo) if path.endswith(".py")} == {"third/outer/o.py", "third/outer/sub/i.py"}


def test_repository_of_its_own_is_a_boundary_but_files_tracked_outside_are_read(repo: Path, git: Git) -> None:
    write(repo, ["nested/tracked.py"])
    git(repo, "add", ".")
    git(repo / "nested", "init", "-q")
    write(repo, ["nested/other.py"])
    assert walked(repo) == ({"nested/tracked.py"}, {"nested": "nested_repository"})


@pytest.mark.parametrize("content", ["", "garbage", "gitdir: /nowhere/x"])
def test_a_git_file_that_names_no_repository_is_no_boundary(repo: Path, git: Git, content: str) -> None:
    write(repo, {"odd/.git": content, "odd/a.py": "x"})
    assert b"odd/a.py" in git(repo, "ls-files", "-o")
    assert walked(repo) == ({"odd/a.py"}, {})


# -- folders that are not listed ---------------------------------------------------------------------------------------


def test_cache_folders_are_gaps_and_source_folders_are_not(tmp_path: Path) -> None:
    write(tmp_path, ["lib/a.rb", "build/b.py", "dist/c.js", "out/d.py", "vendor/e.go", "custom-out/f.js"])
    source = admitted(tmp_path)
    assert len(source) == 6
    write(tmp_path, [".next/a.js", "node_modules/p/b.js", "x/__pycache__/c.py", "e/.venv/d.py"])
    write(tmp_path, {"myenv/pyvenv.cfg": "home = /usr/bin\n", "myenv/lib/e.py": "x"})
    files, gaps = walked(tmp_path)
    assert files == source
    assert gaps == dict.fromkeys((".next", "node_modules", "x/__pycache__", "e/.venv", "myenv"), "cache_dir")


def test_an_index_folder_inside_the_root_is_never_walked(tmp_path: Path) -> None:
    tag = "Signature: 8a477f597d28d172789f06886806bc55\n# An index.\n"
    write(tmp_path, {"my_idx/CACHEDIR.TAG": tag, "my_idx/deep/a.py": "x", "skipped/b.py": "x", "c.py": "x"})
    write(tmp_path, {"innocent/CACHEDIR.TAG": "no such signature\n", "innocent/d.py": "x"})
    options = WalkOptions(skip=(tmp_path.resolve() / "skipped",))
    files, gaps = walked(tmp_path, options)
    assert files == {"c.py", "innocent/CACHEDIR.TAG", "innocent/d.py"}
    assert gaps == {"my_idx": "cache_dir"}
    assert admitted(tmp_path / "my_idx") >= {"deep/a.py"}  # but a root that was named is walked


# -- links and special files -------------------------------------------------------------------------------------------


@posix_only
def test_links_never_leave_the_root_and_always_end(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, ["secret.py"])
    root = tmp_path / "root"
    write(root, ["a/x.py", "b/y.py", ".env"])
    for link, target in {
        "esc": "/", "up": "..", "loop": ".", "a/toB": "../b", "b/toA": "../a", "self": "self", "broken.py": "nowhere.py",
        "file_out.py": str(outside / "secret.py"), "alias.py": "a/x.py", "notes.txt": ".env", "absolute": str(root / "a"),
        "chain": "file_out.py", "prefix": str(tmp_path / "root-two"),
    }.items():  # fmt: skip
        (root / link).symlink_to(target)
    (tmp_path / "root-two").mkdir()
    files, gaps = walked(root)
    assert files == {"a/x.py", "b/y.py"}
    assert gaps == {
        ".env": "denied", "notes.txt": "denied", "broken.py": "link_broken", "self": "link_broken",
        "esc": "link_outside", "up": "link_outside", "file_out.py": "link_outside", "chain": "link_outside",
        "prefix": "link_outside", "loop": "link", "a/toB": "link", "b/toA": "link", "alias.py": "link", "absolute": "link",
    }  # fmt: skip


@posix_only
def test_walk_and_gate_say_the_same_of_every_link(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, ["a/x.py", ".env"])
    write(tmp_path, ["out.py"])
    for link, target in {"l.py": "a/x.py", "o.py": "../out.py", "n.txt": ".env", "b.py": "nowhere", "d": "a"}.items():
        (root / link).symlink_to(target)
    (root / "out").symlink_to("..")
    gate = Gate(root.resolve())
    for path, reason in walked(root)[1].items():
        gap = gate.read(path)
        assert isinstance(gap, Gap)
        assert gap.reason == reason, path
    for path, reason in {"d/x.py": "link", "out/out.py": "link_outside"}.items():
        through = gate.read(path)
        assert isinstance(through, Gap)
        assert through.reason == reason


@posix_only
@pytest.mark.parametrize("rules", ["", ".env\n"], ids=["met", "ignored"])
def test_a_hard_link_to_a_denied_file_is_denied(repo: Path, rules: str) -> None:
    write(repo, {".gitignore": rules, ".env": "PASSWORD=hunter2\n", "a.py": "x", "sub/keep.txt": "x"})
    os.link(repo / ".env", repo / "copy.txt")
    os.link(repo / ".env", repo / "sub" / "copy.txt")
    os.link(repo / "a.py", repo / "twin.py")  # an innocent hard link
    files, gaps = walked(repo)
    assert files == {"a.py", "twin.py", "sub/keep.txt"}
    assert gaps["copy.txt"] == gaps["sub/copy.txt"] == "denied"
    for path in ("copy.txt", "sub/copy.txt"):  # the gate knows without a walk
        assert isinstance(Gate(repo.resolve()).read(path), Gap)
    assert isinstance(Gate(repo.resolve()).read("twin.py"), Source)


@posix_only
def test_special_files_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    write(tmp_path, ["a.py"])
    short = Path(os.path.relpath(tmp_path / "s.py"))  # socket paths have a length limit
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(str(min(short, tmp_path / "s.py", key=lambda path: len(str(path)))))
            sockets = {"s.py": "special_file"}
        except OSError:
            sockets = {}
        # Opening a FIFO without a writer would wait for ever.
        assert walked(tmp_path) == ({"a.py"}, {"pipe.py": "special_file", **sockets})
        gap = Gate(tmp_path.resolve()).read("pipe.py")
    assert isinstance(gap, Gap)
    assert gap.reason == "special_file"


def test_unreadable_files_and_folders_leave_a_gap(tmp_path: Path) -> None:
    write(tmp_path, ["a.py", "closed.py", "shut/b.py"])
    (tmp_path / "closed.py").chmod(0)
    (tmp_path / "shut").chmod(0)
    if os.access(tmp_path / "closed.py", os.R_OK):
        pytest.skip("permissions do not hold for this user")
    try:
        assert walked(tmp_path) == ({"a.py", "closed.py"}, {"shut": "unreadable"})
        gap = Gate(tmp_path.resolve()).read("closed.py")
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert isinstance(gap, Gap)
    assert gap.reason == "unreadable"


def test_what_disappears_during_the_walk_is_a_gap(tmp_path: Path) -> None:
    write(tmp_path, ["a.py", "first/b.py", "second/c.py"])
    root = tmp_path.resolve()
    found = walk(root)
    first = next(found)
    (root / "second" / "c.py").unlink()
    (root / "second").rmdir()
    rest = list(found)
    assert [first.path, *(item.path for item in rest)] == ["a.py", "first/b.py", "second"]
    assert isinstance(rest[-1], Gap)
    assert rest[-1].reason == "unreadable"
    (root / "first" / "b.py").unlink()
    gap = Gate(root).read("first/b.py")
    assert isinstance(gap, Gap)
    assert gap.reason == "unreadable"


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems compose names or refuse bytes")
def test_names_are_kept_as_they_are_on_disk(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é_a.py") for form in ("NFC", "NFD"))
    write(tmp_path, [composed, decomposed, "a b.py", "new\nline.py", 'q"t.py', "back\\slash.py", "c:d.py"])
    (tmp_path / os.fsdecode(b"bad\xff.py")).write_bytes(b"x")
    files, gaps = walked(tmp_path)
    assert files == {composed, decomposed, "a b.py", "new\nline.py", 'q"t.py', "back\\slash.py", "c:d.py"}
    assert gaps == {"bad\\xff.py": "undecodable"}
    gate = Gate(tmp_path.resolve())
    assert all(isinstance(gate.read(path), Source) for path in files)


# -- sizes, budgets, choices -------------------------------------------------------------------------------------------


def test_a_raised_cap_really_admits_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"big.py": "x = 1\n" * 400_000, "small.py": "x"})
    assert walked(tmp_path) == ({"small.py"}, {"big.py": "too_large"})
    options = WalkOptions(max_file_bytes=3_000_000)
    assert walked(tmp_path, options) == ({"big.py", "small.py"}, {})
    source = Gate(tmp_path.resolve(), 3_000_000).read("big.py")
    assert isinstance(source, Source)
    assert source.text.count("\n") == 400_000


def test_the_budget_keeps_what_was_found_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, [f"d{number}/f.py" for number in range(5)])
    assert walked(tmp_path, WalkOptions(max_entries=10))[1] == {}
    for budget in range(5, 10):
        files, gaps = walked(tmp_path, WalkOptions(max_entries=budget))
        assert len(files) == budget - 5
        assert gaps == {".": "budget"}


def test_include_and_exclude_patterns(tmp_path: Path) -> None:
    write(tmp_path, ["src/a.py", "src/gen/b.py", "src/c.js", "d.py", "test/e.py", ".env"])

    def chosen(include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> set[str]:
        return admitted(tmp_path, WalkOptions(include, exclude))

    assert chosen(("*.py",)) == {"src/a.py", "src/gen/b.py", "d.py", "test/e.py"}
    assert chosen(("src/",)) == {"src/a.py", "src/gen/b.py", "src/c.js"}
    assert chosen(("/*.py",)) == {"d.py"}
    assert chosen(("src/", "!src/gen/")) == {"src/a.py", "src/c.js"}
    assert chosen(("src/**/*.py",), ("gen/",)) == {"src/a.py"}
    assert chosen(exclude=("*.js", "/test")) == {"src/a.py", "src/gen/b.py", "d.py"}
    assert chosen((".env",)) == set()


def test_patterns_are_relative_to_a_sub_directory_root(repo: Path) -> None:
    write(repo, ["pkg/src/a.py", "pkg/b.py"])
    assert admitted(repo / "pkg", WalkOptions(("/src/",))) == {"src/a.py"}


def test_find_says_what_the_walk_says(repo: Path) -> None:
    write(repo, {".gitignore": "gen/\n*.log\n", "sub/.gitignore": "!b.log\n"})
    write(repo, ["a.py", "gen/b.py", "sub/b.log", "c.log", "sub/deep/.env", "node_modules/x.js"])
    root = repo.resolve()
    everything = {item.path: item for item in walk(root)}
    for path in ("a.py", "gen/b.py", "sub/b.log", "c.log", "sub/deep/.env", "node_modules/x.js", "gone.py", ""):
        assert find(root, path) == everything.get(path)
    assert isinstance(find(root / "sub", "b.log"), SourceFile)


@posix_only
@pytest.mark.parametrize(
    "options",
    [WalkOptions(), WalkOptions(include=("*.py", "src/")), WalkOptions(exclude=("b.*",)), WalkOptions(max_entries=7)],
    ids=["all", "include", "exclude", "budget"],
)
def test_paths_alone_are_those_of_the_walk(repo: Path, options: WalkOptions) -> None:
    write(repo, {".gitignore": "*.log\ngen/\n", "src/.gitignore": "*.py[cod]\n", "data/.env": "A=1\n"})
    write(
        repo, ["a.py", "b.py", "b.log", "gen/x.py", "src/c.py", "src/c.pyc", "src/b.json", "node_modules/d.js", "z.txt"]
    )
    os.link(repo / "data" / ".env", repo / "copy.txt")
    os.link(repo / "a.py", repo / "twin.py")
    (repo / "link.py").symlink_to("a.py")
    root = repo.resolve()
    whole = list(walk(root, options))
    paths = [item for item in list_paths(root, options) if isinstance(item, str)]
    assert sorted(paths) == sorted(item.path for item in whole if isinstance(item, SourceFile))
    gaps = {item for item in list_paths(root, options) if isinstance(item, Gap)}
    assert gaps == {item for item in whole if isinstance(item, Gap)}
    assert {item if isinstance(item, Gap) else item[0] for item in scan(root, options)} == {*gaps, *paths}


def test_paths_alone_do_not_tell_sizes(tmp_path: Path) -> None:
    write(tmp_path, {"big.py": "x = 1\n" * 100, "small.py": "x"})
    assert list_paths(tmp_path.resolve(), WalkOptions(max_file_bytes=50)) == ["big.py", "small.py"]


@posix_only
def test_every_file_is_read_or_has_a_reason(repo: Path, git: Git) -> None:
    write(repo, ["a.py", "pkg/b.py", "pkg/id_rsa", ".env", "node_modules/c.js", "cafe.py"])
    write(repo, {"big.py": "x" * 300_000, "bin.dat": b"a\0b", "app.min.js": "f(1);" * 400, "bad.ipynb": "{"})
    write(repo, {"old.py": "# café\n".encode("latin-1"), "nested/d.py": "x", "pyenv/pyvenv.cfg": "x"})
    git(repo / "nested", "init", "-q")
    os.mkfifo(repo / "pkg" / "pipe.py")
    os.link(repo / ".env", repo / "copy.txt")
    for link, target in {"alias.py": "a.py", "gone.py": "nowhere", "out": "/", "secret.txt": ".env"}.items():
        (repo / link).symlink_to(target)
    root = repo.resolve()
    gate = Gate(root, 200_000)
    found = list(walk(root, WalkOptions(max_file_bytes=200_000)))
    read = [gate.read(item.path) if isinstance(item, SourceFile) else item for item in found]
    sources = {item.path for item in read if isinstance(item, Source)}
    gaps: dict[str, str] = {item.path: item.reason for item in read if isinstance(item, Gap)}
    closed = {path for path, reason in gaps.items() if reason in ("cache_dir", "nested_repository")}
    there = {entry for entry in git(repo, "ls-files", "-oz").decode().split("\0") if entry} | {"pkg/pipe.py"}
    listed = {path for path in there if not path.startswith(tuple(folder + "/" for folder in closed))} | closed
    assert len(found) == len(sources) + len(gaps) == len(listed)
    assert sources | set(gaps) == listed
    assert sources == {"a.py", "pkg/b.py", "old.py", "cafe.py"}
    assert set(gaps.values()) <= set(get_args(GapReason))
    assert gaps == {
        ".env": "denied", "copy.txt": "denied", "secret.txt": "denied", "pkg/id_rsa": "denied", "big.py": "too_large",
        "bin.dat": "binary", "app.min.js": "minified", "bad.ipynb": "not_evaluated", "pkg/pipe.py": "special_file",
        "alias.py": "link", "gone.py": "link_broken", "out": "link_outside", "node_modules": "cache_dir",
        "pyenv": "cache_dir", "nested": "nested_repository",
    }  # fmt: skip


def test_a_conflict_counts_a_file_once(repo: Path, git: Git) -> None:
    write(repo, {"gen/a.py": "1\n"})
    commit(git, repo)
    git(repo, "checkout", "-q", "-b", "other")
    write(repo, {"gen/a.py": "2\n"})
    commit(git, repo)
    git(repo, "checkout", "-q", "main")
    write(repo, {"gen/a.py": "3\n"})
    commit(git, repo)
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "other")
    assert len(git(repo, "ls-files", "--unmerged").splitlines()) == 3
    write(repo, {".gitignore": "gen/\n"})
    assert walked(repo) == ({"gen/a.py"}, {})


def test_order_is_stable_and_files_come_before_folders(tmp_path: Path) -> None:
    write(tmp_path, ["b/2.py", "b/1.py", "a/x/1.py", "a/2.py", "z.py", "B.py"])
    order = [item.path for item in walk(tmp_path.resolve())]
    assert order == ["B.py", "z.py", "a/2.py", "a/x/1.py", "b/1.py", "b/2.py"]


def test_git_variables_of_the_caller_do_not_change_the_answer(
    repo: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repo, ["a.py", "b.py"])
    git(repo, "add", ".")
    git(repo, "update-index", "--split-index")  # so that git itself must read the index
    write(repo, {".gitignore": "a.py\nc.py\n", "c.py": "x"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert walked(repo) == ({"a.py", "b.py"}, {})


def test_a_program_in_the_configuration_is_never_started(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo, ["gen/a.py"])
    git(repo, "add", ".")
    git(repo, "update-index", "--split-index")  # so that git itself must read the index
    program = tmp_path / "hook.sh"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    program.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(program))
    assert admitted(repo) == {"gen/a.py"}
    assert not (tmp_path / "started").exists()


def test_git_may_be_missing(repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(repo, {".gitignore": "*.log\n", "a.py": "x", "b.log": "x"})
    git(repo, "add", ".")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(FileNotFoundError):
        subprocess.run(["git", "--version"], check=False)
    assert walked(repo) == ({"a.py"}, {})
