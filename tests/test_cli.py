"""The command line: answers, JSON, exit codes, and one clear error for bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llama_index_codeindex.cli import FAILED, FOUND, NOTHING, main
from tests.conftest import MakeTree
from tests.store.support import make_repository

FILES = {
    "src/retry.py": "def backoff(attempt):\n    '''Wait longer after each failed attempt.'''\n    return 2 ** attempt\n",
    "src/server.py": "class Server:\n    def start(self):\n        return backoff(1)\n",
    "tests/test_retry.py": "from src.retry import backoff\n\ndef test_backoff():\n    assert backoff(1) == 2\n",
}


@pytest.fixture
def run(tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    root = tree(FILES)

    def call(command: str, *arguments: str, where: Path = root) -> tuple[int, str, str]:
        code = main([command, str(where), *arguments, "--embed", "none", "--cache-dir", str(tmp_path / "cache")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_search_prints_the_place_and_its_lines(run: Any) -> None:
    code, out, err = run("search", "how long to wait after a failed attempt")
    assert code == FOUND
    assert out.splitlines()[0] == "src/retry.py:1-3  backoff"
    assert "    return 2 ** attempt" in out
    assert "no_embedding_model" in err


def test_search_json_has_the_documented_shape(run: Any) -> None:
    code, out, _ = run("search", "backoff", "--json")
    answer = json.loads(out)
    assert code == FOUND
    assert set(answer) == {"hits", "degraded", "degraded_reasons", "watermark"}
    assert set(answer["hits"][0]) == {
        "file_path", "start_line", "end_line", "symbol", "symbol_kind", "language", "score", "lanes", "stale",
    }  # fmt: skip
    first = answer["hits"][0]
    assert (first["file_path"], first["symbol"], first["symbol_kind"]) == ("src/retry.py", "backoff", "function")
    assert first["lanes"]["symbol"] == 1
    assert answer["degraded"] is True
    assert answer["watermark"]["files"] == 3


def test_nothing_found_is_exit_code_one_and_says_why(run: Any) -> None:
    code, out, _ = run("search", "qwertyzzz")
    assert code == NOTHING
    assert out == "nothing found: No word of the question is in the code.\n"


@pytest.mark.parametrize("top_k", ["0", "-3", "201", "five"])
def test_a_bad_top_k_is_an_error(run: Any, top_k: str) -> None:
    code, out, _ = run("search", "backoff", "--top-k", top_k, "--json")
    assert code == FAILED
    assert json.loads(out)["error"]["code"] == "INVALID_ARGUMENT"


def test_an_empty_query_is_an_error(run: Any) -> None:
    code, out, _ = run("search", "  ", "--json")
    error = json.loads(out)["error"]
    assert code == FAILED
    assert set(error) == {"code", "message", "suggestion", "next_action"}
    assert error["code"] == "EMPTY_QUERY"


def test_a_root_that_does_not_exist_is_an_error_without_its_path(run: Any, tmp_path: Path) -> None:
    code, out, err = run("search", "x", "--json", where=tmp_path / "nowhere")
    assert code == FAILED
    assert json.loads(out)["error"]["code"] == "ROOT_NOT_FOUND"
    assert str(tmp_path) not in out + err


def test_a_file_as_root_is_an_error(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    code, _, err = run("index", where=tmp_path / "a.py")
    assert code == FAILED
    assert err.startswith("ROOT_NOT_DIRECTORY: ")


def test_the_home_directory_is_refused_unless_meant(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "person"
    home.mkdir()
    (home / "a.py").write_text("x = 1\n")
    monkeypatch.setenv("HOME", str(home))
    assert run("index", where=home)[0] == FAILED
    assert run("index", "--allow-broad-root", where=home)[0] == FOUND


def test_an_empty_repository_is_an_honest_empty_result(run: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, _ = run("search", "anything", "--json", where=tmp_path / "empty")
    assert code == NOTHING
    assert json.loads(out)["empty_reason"] == "empty_index"


def test_an_unreadable_file_is_a_gap_and_costs_only_itself(run: Any, tree: MakeTree) -> None:
    root = tree({"src/locked.py": "def locked(): pass\n"})
    os.chmod(root / "src/locked.py", 0)
    if os.access(root / "src/locked.py", os.R_OK):
        pytest.skip("this user may read every file")
    assert run("search", "backoff")[0] == FOUND
    _, out, _ = run("status", "--gaps", "--json")
    assert {"path": "src/locked.py", "reason": "unreadable", "detail": "Permission denied"} in json.loads(out)["gaps"]


def test_index_counts_what_changed(run: Any, tree: MakeTree) -> None:
    assert "3 added, 0 changed, 0 removed" in run("index")[1]
    assert "0 added, 0 changed, 0 removed" in run("index")[1]
    tree({"src/new.py": "def fresh():\n    return 1\n"})
    _, out, _ = run("index", "--json")
    assert json.loads(out)["added"] == 1
    assert json.loads(out)["watermark"]["generation"] == 2


def test_pack_prints_exactly_what_a_model_would_be_given(run: Any) -> None:
    code, out, _ = run("pack", "how long to wait after a failed attempt")
    assert code == FOUND
    mark = out.split("carry the mark ")[1][:16]
    assert f"[[{mark} begin src/retry.py:1-3" in out
    assert out.endswith("]]\n\n")


def test_filters_narrow_the_search(run: Any) -> None:
    _, out, _ = run("search", "backoff", "--under", "tests", "--json")
    assert {hit["file_path"] for hit in json.loads(out)["hits"]} == {"tests/test_retry.py"}
    code, out, _ = run("search", "backoff", "--language", "go", "--json")
    assert code == NOTHING
    answer = json.loads(out)
    assert answer["empty_reason"] == "filtered_out"
    assert answer["filtered_preview"][0]["file_path"] == "src/retry.py"
    code, out, _ = run("search", "backoff", "--language", "go")
    assert code == NOTHING and out.startswith("nothing found: The question is answered, but the filters leave none")
    assert "without the filters: src/retry.py:" in out


def test_output_survives_a_terminal_that_is_not_utf8(tree: MakeTree, tmp_path: Path) -> None:
    root = tree({"straße.py": "def größe():\n    '''计算加班费'''\n    return 1\n"})
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"}
    command = [sys.executable, "-m", "llama_index_codeindex.cli", "search", str(root), "加班", "--embed", "none"]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "c")], capture_output=True, env=environment, check=False
    )
    assert done.returncode == FOUND, done.stderr
    assert b"Traceback" not in done.stderr


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for argument, expected in (("--version", "codeindex 0.1.0"), ("--help", "examples:")):
        with pytest.raises(SystemExit) as stopped:
            main([argument])
        assert stopped.value.code == 0
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message", "suggestion"),
    [
        (["--json"], "The following arguments are required: COMMAND.", "See `codeindex --help`."),
        (["serch", ".", "x", "--json"], "invalid choice: 'serch'", "See `codeindex --help`."),
        (["search", ".", "--json"], "The following arguments are required: QUERY.", "See `codeindex search --help`."),
        (["map", ".", "--budget", "many", "--json"], "Argument --budget: invalid int value: 'many'.", "codeindex map"),
        (["refs", ".", "x", "--js", "--deep", "3"], "Unrecognized arguments: --deep 3.", "See `codeindex"),
        (["completion", "tcsh", "--json"], "invalid choice: 'tcsh'", "See `codeindex completion --help`."),
    ],
)
def test_a_wrong_use_is_the_one_error_shape_where_json_is_wanted(
    capsys: pytest.CaptureFixture[str], line: list[str], message: str, suggestion: str
) -> None:
    assert main(line) == FAILED
    captured = capsys.readouterr()
    error = json.loads(captured.err)["error"]
    assert captured.out == ""
    assert set(error) == {"code", "message", "suggestion", "next_action"}
    assert error["code"] == "INVALID_ARGUMENT"
    assert message in error["message"]
    assert suggestion in error["suggestion"]


def test_a_wrong_use_names_no_place_of_the_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["status", ".", str(tmp_path), "--json"]) == FAILED
    message = json.loads(capsys.readouterr().err)["error"]["message"]
    assert message == f"Unrecognized arguments: {tmp_path.name}."


@pytest.mark.parametrize("line", [["search", "."], ["serch"], [], ["search", ".", "--", "--json", "x"]])
def test_a_wrong_use_is_text_otherwise(capsys: pytest.CaptureFixture[str], line: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(line)
    captured = capsys.readouterr()
    assert stopped.value.code == FAILED
    assert captured.out == ""
    assert captured.err.startswith("usage: codeindex")


def test_a_wrong_use_in_a_process_of_its_own_leaves_no_traceback() -> None:
    command = [sys.executable, "-m", "llama_index_codeindex", "search", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (FAILED, b"")
    assert list(json.loads(done.stderr)) == ["error"]


def test_clear_removes_this_index_and_prune_those_without_a_folder(
    run: Any, tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, cache = tree(FILES), ["--cache-dir", str(tmp_path / "cache")]

    def prune(*arguments: str) -> str:
        assert main(["prune", *cache, *arguments]) == FOUND
        return capsys.readouterr().out

    other = root.rename(tmp_path / "other")
    run("index", where=other)
    assert prune() == "every index has its folder\n"
    other.rename(tmp_path / "moved")
    assert json.loads(prune("--json")) == {"removed": [str(other.resolve())]}
    run("index", where=tmp_path / "moved")
    assert run("clear", where=tmp_path / "moved")[:2] == (FOUND, "cleared\n")
    assert not list((tmp_path / "cache").glob("*/catalog.sqlite3"))


def test_roots_that_are_none(run: Any, tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_repository(tmp_path / "repository", {"a.py": "def f():\n    return 1\n"})
    for where, code in (("", "ROOT_NOT_FOUND"), (str(root / ".git"), "ROOT_NOT_DIRECTORY")):
        for command in ("index", "clear"):
            if command == "clear" and where:
                continue
            assert main([command, where, "--json", "--cache-dir", str(tmp_path / "cache")]) == FAILED
            assert json.loads(capsys.readouterr().out)["error"]["code"] == code


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of folders are text")
def test_a_root_whose_name_is_no_text(tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(FILES).rename(tmp_path / os.fsdecode(b"r\xff"))
    cache = ["--cache-dir", str(tmp_path / "cache")]
    assert main(["search", str(root), "backoff", *cache]) == FOUND
    assert main(["prune", *cache]) == FOUND
    assert capsys.readouterr().out.endswith("every index has its folder\n")


def test_standard_output_that_is_closed(tree: MakeTree, tmp_path: Path) -> None:
    code = "import sys; sys.stdout = None; from llama_index_codeindex.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["search", str(tree(FILES)), "backoff", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (FAILED, "OUTPUT_FAILED: There is no standard output.\n")


def test_status_says_that_nothing_is_built(run: Any) -> None:
    assert "not built yet" in run("status")[1]
    run("index")
    assert "not built yet" not in run("status")[1]


def test_clear_removes_what_cannot_be_opened(run: Any, tmp_path: Path) -> None:
    run("index")
    (catalog,) = (tmp_path / "cache").glob("*/catalog.sqlite3")
    catalog.unlink()
    catalog.mkdir()
    assert run("clear")[:2] == (FOUND, "cleared\n")
    assert not catalog.exists()
    assert run("search", "backoff")[0] == FOUND


def test_facts_of_an_ecosystem_that_is_not_there(run: Any) -> None:
    assert run("facts", "--ecosystem", "npm")[:2] == (NOTHING, "nothing found: no manifest of the ecosystem 'npm'\n")


def test_watch_writes_a_line_of_json_for_each_generation(tree: MakeTree, tmp_path: Path) -> None:
    root = tree(FILES)
    command = [sys.executable, "-m", "llama_index_codeindex", "watch", str(root), "--json", "--debounce", "0.1",
               "--cache-dir", str(tmp_path / "cache")]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        assert watching.stdout is not None
        try:
            assert json.loads(watching.stdout.readline()) == {"generation": 1}
            (root / "src/more.py").write_text("def more():\n    return 1\n")
            told = json.loads(watching.stdout.readline())
            assert (told["generation"], told["added"]) == (2, 1)
        finally:
            watching.kill()
