"""Ignore rules, each held against git's own verdict."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.files.ignore import FolderNames, RuleList, parse_rule, pattern_lines
from llama_index_codeindex.engine.files.walk import WalkOptions, walk
from llama_index_codeindex.engine.files.wildmatch import compile_expression, translate

from .conftest import Git
from .helpers import Content, admitted, walked, write
from .test_git_parity import NAMES, rule_files

# name, files (rule files among them), what is admitted besides the rule files
TREES: list[tuple[str, Mapping[str, Content], set[str]]] = [
    (
        "allow list",
        {".gitignore": "*\n!*/\n!*.go\n!.gitignore\n"}
        | dict.fromkeys(("cmd/app/main.go", "internal/a.go", "root.go", "notes.txt"), "x"),
        {"cmd/app/main.go", "internal/a.go", "root.go"},
    ),
    (
        "excluded parent",
        {".gitignore": "build\n!keep.log\n", "build/keep.log": "x", "build/secret.py": "x", "a.py": "x"},
        {"a.py"},
    ),
    (
        "excluded contents of a parent",
        {".gitignore": "build/*\n!build/keep.log\n", "build/keep.log": "x", "build/secret.py": "x"},
        {"build/keep.log"},
    ),
    (
        "anchor of a nested file",
        {"sub/.gitignore": "/build/\n"}
        | dict.fromkeys(("sub/build/i.py", "sub/deep/build/k.py", "build/top.py"), "x"),
        {"sub/deep/build/k.py", "build/top.py"},
    ),
    (
        "any depth stays below its own file",
        {"sub/.gitignore": "**/x\n", "sub/x": "1", "sub/a/b/x": "1", "x": "1", "other/x": "1"},
        {"x", "other/x"},
    ),
    (
        "nested negation of a folder",
        {".gitignore": "**/vendor/\n", "a/.gitignore": "!vendor\n", "a/vendor/f.py": "x", "b/vendor/f.py": "x"},
        {"a/vendor/f.py"},
    ),
    (
        "byte order mark and CRLF",
        {".gitignore": b"\xef\xbb\xbfhidden.txt\r\nb.txt\n", "hidden.txt": "x", "b.txt": "x", "c.txt": "x"},
        {"c.txt"},
    ),
    (
        "trailing spaces",
        {".gitignore": "sp\\ \ntail.txt   \n", "sp ": "x", "sp": "x", "tail.txt": "x"},
        {"sp"},
    ),
    (
        "trailing spaces after an escaped backslash",
        {".gitignore": "b\\\\ \n", "b\\": "x", "b\\ ": "x", "b": "x"},
        {"b\\ ", "b"},
    ),
    (
        "escaped marks",
        {".gitignore": "\\#hash.py\n\\!bang.py\n\\*.py\n"}
        | dict.fromkeys(("#hash.py", "!bang.py", "*.py", "a.py"), "x"),
        {"a.py"},
    ),
    (
        "a comment is no rule, and a lone slash, bang or backslash costs one line",
        {".gitignore": "#a.py\n/\n!\n\\\n[\nb.py\n", "#a.py": "x", "a.py": "x", "b.py": "x"},
        {"#a.py", "a.py"},
    ),
    (
        "folders only",
        {".gitignore": "out/\n", "a/out": "x", "b/out/c.py": "x"},
        {"a/out"},
    ),
    (
        "a slash in the middle anchors",
        {".gitignore": "doc/*.txt\n", "doc/a.txt": "x", "doc/b/a.txt": "x", "sub/doc/a.txt": "x"},
        {"doc/b/a.txt", "sub/doc/a.txt"},
    ),
    (
        "stars between slashes",
        {".gitignore": "a/**/z\nb/**\n!b/\n", "a/z": "x", "a/1/2/z": "x", "az": "x", "b/1": "x", "a/b/y": "x"},
        {"az", "a/b/y"},
    ),
    (
        "classes",
        {".gitignore": "[a-c].py\n[!x-z].go\n[[:digit:]]*\n[]].md\n"}
        | dict.fromkeys(("a.py", "d.py", "a.go", "x.go", "1st", "].md", "[.md"), "x"),
        {"d.py", "x.go", "[.md"},
    ),
    (
        "names in other scripts, one byte at a time",
        {".gitignore": "?.py\n??.py\nжур*\n", "é.py": "x", "ж.py": "x", "中.py": "x", "журнал": "x"},
        {"中.py"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), [tree[1:] for tree in TREES], ids=[tree[0] for tree in TREES])
def test_git_and_walk_agree(repo: Path, git: Git, files: Mapping[str, Content], expected: set[str]) -> None:
    write(repo, files)
    assert admitted(repo) == expected
    listed = git(repo, "ls-files", "-co", "--exclude-standard", "-z").decode().split("\0")
    assert {path for path in listed if path and os.path.basename(path) != ".gitignore"} == expected


def test_rules_hold_without_git(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "dist/\n", "sub/.gitignore": "/gen/\n"})
    write(tmp_path, ["dist/a.js", "sub/gen/b.py", "sub/c.py", "gen/d.py"])
    assert admitted(tmp_path) == {"sub/c.py", "gen/d.py"}


@pytest.mark.parametrize("is_real", [True, False], ids=["repository", "empty .git folder"])
def test_child_repositories_below_a_plain_root_have_their_own_rules(tmp_path: Path, git: Git, is_real: bool) -> None:
    write(tmp_path, {"proj1/.gitignore": "dist/\n", "proj1/pkg/.gitignore": "gen/\n"})
    write(tmp_path, ["proj1/dist/a.js", "proj1/pkg/gen/b.py", "proj1/pkg/c.py"])
    if is_real:
        git(tmp_path / "proj1", "init", "-q")
        write(tmp_path, {"proj1/.git/info/exclude": "local.py\n", "proj1/local.py": "x"})
    else:
        (tmp_path / "proj1" / ".git").mkdir()
    assert walked(tmp_path) == ({"proj1/pkg/c.py"}, {})


def test_sources_of_rules_and_their_precedence(repo: Path, config_home: Path) -> None:
    write(config_home, {"git/ignore": "*.scratch.py\na.py\nb.py\nc.py\n"})
    write(repo, {".git/info/exclude": "!a.py\n", ".gitignore": "!b.py\n", ".codeindexignore": "!c.py\nd.py\n"})
    write(repo, ["x.scratch.py", "a.py", "b.py", "c.py", "d.py"])
    assert admitted(repo) == {"a.py", "b.py", "c.py"}
    assert "x.scratch.py" in admitted(repo, WalkOptions(global_ignore=False))


@pytest.mark.parametrize("spelling", ["~/rules", "absolute", "relative"])
def test_configured_global_file(repo: Path, config_home: Path, git: Git, spelling: str) -> None:
    home = config_home.parent
    write(home, {"rules": "a.py\n"})
    write(repo, {"own-rules": "a.py\n"})
    value = {"~/rules": "~/rules", "absolute": str(home / "rules"), "relative": "own-rules"}[spelling]
    git(repo, "config", "core.excludesFile", value)
    write(config_home, {"git/ignore": "b.py\n"})  # the default place no longer counts
    write(repo, ["a.py", "b.py"])
    assert admitted(repo) == {"b.py", "own-rules"}


def test_an_empty_setting_means_no_global_file(repo: Path, config_home: Path, git: Git) -> None:
    write(config_home, {"git/ignore": "a.py\n"})
    git(repo, "config", "core.excludesFile", "")
    write(repo, ["a.py"])
    assert admitted(repo) == {"a.py"}


def test_global_file_counts_without_a_repository(
    tmp_path: Path, config_home: Path, repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(config_home, {"git/ignore": "a.py\n"})
    plain = tmp_path / "plain"
    write(plain, ["a.py", "b.py"])
    git(repo, "config", "core.excludesFile", "")
    monkeypatch.chdir(repo)  # whose setting is nobody else's
    assert admitted(plain) == {"b.py"}


def test_ignore_case_is_gits_setting(repo: Path, git: Git) -> None:
    write(repo, {".gitignore": "*.LOG\nBuild/\n/Sub/X*.py\n", "a.log": "x", "build/b.py": "x", "sub/xY.py": "x"})
    git(repo, "config", "core.ignorecase", "false")
    assert admitted(repo) == {"a.log", "build/b.py", "sub/xY.py"}
    git(repo, "config", "core.ignorecase", "true")
    assert admitted(repo) == set()


def test_own_file_readmits_a_folder_but_never_a_secret(repo: Path) -> None:
    write(repo, {".gitignore": "schemas/\n.env\n*.pem\n", ".codeindexignore": "!schemas/\n!.env\n!*.pem\n"})
    write(repo, ["schemas/a.graphql", ".env", "schemas/server.pem"])
    assert walked(repo) == ({"schemas/a.graphql"}, {".env": "denied", "schemas/server.pem": "denied"})


def test_own_file_readmits_a_cache_folder(repo: Path) -> None:
    write(repo, {".codeindexignore": "!node_modules/\n", "node_modules/p/a.js": "x"})
    assert admitted(repo) == {"node_modules/p/a.js"}


def test_own_file_ranks_above_tracking(repo: Path, git: Git) -> None:
    write(repo, {"gen/a.py": "x", "gen/b.py": "x", "vendored/c.py": "x", "d.py": "x"})
    git(repo, "add", ".")
    write(repo, {".gitignore": "gen/\n", ".codeindexignore": "gen/a.py\nvendored/\nd.py\n"})
    assert admitted(repo) == {"gen/b.py"}


def test_tracked_files_are_read_although_ignored(repo: Path, git: Git) -> None:
    write(repo, ["gen/deep/a.py", "b.log", "node_modules/p/c.js"])
    git(repo, "add", ".")
    write(repo, {".gitignore": "gen/\n*.log\n", "gen/deep/new.py": "x", "c.log": "x", "node_modules/q/d.js": "x"})
    assert walked(repo) == ({"gen/deep/a.py", "b.log", "node_modules/p/c.js"}, {"node_modules": "cache_dir"})


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_every_index_format_is_read_without_git(
    tmp_path: Path, git: Git, version: str, hashes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", f"--object-format={hashes}", ".")
    write(tmp_path, [f"gen/{'deep/' * (number % 3)}file{number}.py" for number in range(40)])
    git(tmp_path, "config", "index.version", version)
    git(tmp_path, "add", ".")
    if version == "3":
        write(tmp_path, ["gen/later.py"])
        git(tmp_path, "add", "--intent-to-add", "gen/later.py")  # a flag that only version 3 has
    git(tmp_path, "update-index", "--index-version", version)
    write(tmp_path, {".gitignore": "gen/\n", "gen/untracked.py": "x"})
    tracked = set(git(tmp_path, "ls-files").decode().split())
    assert len(tracked) >= 40
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert walked(tmp_path) == (tracked, {})


def test_a_split_index_is_read_by_git_and_said_without_it(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(repo, ["gen/a.py", "gen/a-much-longer-name.py"])
    git(repo, "add", ".")
    git(repo, "update-index", "--split-index")
    write(repo, {".gitignore": "gen/\n", "gen/untracked.py": "x", "b.py": "x"})
    assert walked(repo) == ({"gen/a.py", "gen/a-much-longer-name.py", "b.py"}, {})
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert walked(repo) == ({"b.py"}, {".git/index": "not_evaluated"})


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_a_link_is_no_ignore_file(repo: Path, git: Git) -> None:
    write(repo, {"rules": "*.log\n", "a.log": "x", "b.py": "x"})
    (repo / ".gitignore").symlink_to("rules")
    (repo / ".codeindexignore").symlink_to("rules")
    assert b"a.log" in git(repo, "ls-files", "-o", "--exclude-standard")
    assert admitted(repo) == {"rules", "a.log", "b.py"}


def test_a_damaged_index_is_said(repo: Path) -> None:
    write(repo, {".git/index": b"DIRC\0\0\0\x09garbage", "a.py": "x"})
    assert walked(repo) == ({"a.py"}, {".git/index": "not_evaluated"})


def test_sub_directory_obeys_the_rules_above_it(repo: Path, git: Git) -> None:
    write(repo, {".gitignore": "*.log\n/pkg/app/gen/\n", "pkg/.gitignore": "app/tmp*\n"})
    write(repo, ["pkg/app/a.py", "pkg/app/b.log", "pkg/app/gen/c.py", "pkg/app/tmp1", "pkg/app/kept.log"])
    git(repo, "add", "--force", "pkg/app/kept.log")
    assert admitted(repo / "pkg" / "app") == {"a.py", "kept.log"}
    assert admitted(repo) == {"pkg/app/a.py", "pkg/app/kept.log"}


@pytest.mark.parametrize("place", [".hidden/build/repo", "dist/out", "node_modules/x", ".venv/y"])
def test_where_the_root_lies_does_not_matter(tmp_path: Path, git: Git, place: str) -> None:
    root = tmp_path / place
    write(root, ["a.py"])
    assert admitted(root) == {"a.py"}
    git(root, "init", "-q")
    assert admitted(root) == {"a.py"}


def test_rules_inside_ignored_trees_are_never_opened(repo: Path) -> None:
    write(repo, {".gitignore": "node_modules/\n", "a.py": "x"})
    write(repo, dict.fromkeys((f"node_modules/p{number}/.gitignore" for number in range(20)), "*.py\n!secret\n"))
    opened: set[str] = set()
    _record_opens(opened)
    try:
        assert admitted(repo) == {"a.py"}
    finally:
        _record_opens(None)
    assert not [path for path in opened if "node_modules" in path]
    assert any(path.endswith(".gitignore") for path in opened)


_recorder: list[set[str] | None] = [None]


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    seen = _recorder[0]
    if seen is not None and event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], (str, bytes)):
        seen.add(os.fsdecode(arguments[0]))


_hooked: list[bool] = []


def _record_opens(into: set[str] | None) -> None:
    """Note every path that Python opens or lists from now on, through the interpreter's own audit hook."""
    import sys

    if not _hooked:
        sys.addaudithook(_audit)
        _hooked.append(True)
    _recorder[0] = into


def test_rules_may_change_between_walks(repo: Path) -> None:
    write(repo, ["gen/a.py"])
    assert admitted(repo) == {"gen/a.py"}
    write(repo, {".gitignore": "gen/\n"})
    assert admitted(repo) == set()
    (repo / ".gitignore").unlink()
    assert admitted(repo) == {"gen/a.py"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (b"*a" * 30 + b"b", b"a" * 250),
        (b"x/" + b"*a" * 30 + b"b", b"x/" + b"a" * 250),
        (b"**/a/" * 12 + b"b", b"a/" * 200 + b"c"),
        (b"**/*a*/" * 10 + b"b", b"aa/" * 200 + b"c"),
    ],
)
def test_a_hostile_rule_cannot_stop_the_walk(pattern: bytes, text: bytes) -> None:
    rules = RuleList(pattern)
    began = time.perf_counter()
    assert rules.verdict(text, text.rsplit(b"/", 1)[-1], False) is None
    assert time.perf_counter() - began < 2  # a plain translation takes years
    assert rules.verdict(text[:-1] + b"b", text[:-1].rsplit(b"/", 1)[-1] + b"b", False) is True


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (b"*a*b*c", [b"abc", b"aabbcc", b"xaxbxc", b"cabc"], [b"abcd", b"acb", b""]),
        (b"/*a*b/*c*d", [b"ab/cd", b"xaxb/xcxd", b"aabb/ccdd"], [b"ab/c/d", b"a/b/cd", b"ab/cde"]),
        (b"**/f*o/**/b*r", [b"fo/br", b"x/foo/y/z/bar", b"fxx/foo/bar", b"foo/x/fo/br"], [b"foo/bart", b"xfoo/bar"]),
        (b"a/**/b/**/c/**", [b"a/b/c/d", b"a/x/b/y/c/z", b"a/b/b/c/c"], [b"a/b/c", b"a/c/b/d"]),
    ],
)
def test_atomic_steps_find_what_backtracking_would(pattern: bytes, matching: list[bytes], others: list[bytes]) -> None:
    rules = RuleList(pattern)
    for path in matching:
        assert rules.verdict(path, path.rsplit(b"/", 1)[-1], False) is True, path
    for path in others:
        assert rules.verdict(path, path.rsplit(b"/", 1)[-1], False) is None, path


def test_the_last_rule_that_matches_decides_whatever_its_kind() -> None:
    lines = [b"a.py", b"!*.py", b"sub/a.py", b"!a*", b"*.p?", b"!/sub/*", b"a.[p]y"]
    for end in range(1, len(lines) + 1):
        for path in (b"a.py", b"sub/a.py", b"sub/b.py", b"b.py"):
            name = path.rsplit(b"/", 1)[-1]
            single = [RuleList(line).verdict(path, name, False) for line in lines[:end]]
            expected = next((verdict for verdict in reversed(single) if verdict is not None), None)
            assert RuleList(b"\n".join(lines[:end])).verdict(path, name, False) is expected


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(data=rule_files(), base=st.sampled_from([b"", b"a/", b"a/b/", b"foo/A/"]), ignore_case=st.booleans())
def test_no_name_that_a_rule_matches_is_overlooked(data: bytes, base: bytes, ignore_case: bool) -> None:
    for start in (b"", b"a/"):
        if base.startswith(start):
            rules = RuleList(data, start, ignore_case=ignore_case)
            matched = {name for name in NAMES if rules.verdict(base + name, name, False) is not None}
            assert matched <= rules.candidates(base, FolderNames(NAMES))


@pytest.mark.parametrize(
    ("rules", "base", "expected"),
    [
        (b"*.log\nbuild\n/top.py\n", b"", {b"a.log", b"build", b"top.py"}),
        (b"*.log\nbuild\n/top.py\n", b"sub/", {b"a.log", b"build"}),
        (b"sub/x.py\n!a.py\n**/top.py\n", b"sub/", {b"x.py", b"a.py", b"top.py"}),
        (b"*.py[cod]\n*~\n?.log.*\nout/*.py\nbuild/\n*.h\n", b"sub/", set()),
    ],
)
def test_a_folder_that_no_rule_speaks_of_is_settled_at_once(rules: bytes, base: bytes, expected: set[bytes]) -> None:
    names = FolderNames([b"a.py", b"x.py", b"top.py", b"a.log", b"build", b"new\nline", "é".encode()])
    assert RuleList(rules).candidates(base, names) == expected


def test_lines_and_patterns() -> None:
    assert list(pattern_lines(b"a\r\n#b\n\n  \n c\nd\\ \ne\0f\n")) == [b"a", b" c", b"d\\ ", b"e"]
    assert parse_rule(b"[[:nosuch:]]") is None
    assert translate(b"a\\", path=False) is None
    expression = translate(b"a[!/]b", path=True)
    assert expression is not None
    assert compile_expression(expression).fullmatch(b"a/b") is None
    assert isinstance(compile_expression(expression), re.Pattern)


def test_many_literal_rules_cost_no_more_than_few(repo: Path) -> None:
    write(repo, {".gitignore": "".join(f"/dir{number}/file.py\n" for number in range(5000))})
    write(repo, [f"dir{number}/file.py" for number in range(50)] + ["dir7/other.py"])
    began = time.perf_counter()
    assert len(list(walk(repo))) == 2
    assert time.perf_counter() - began < 2
