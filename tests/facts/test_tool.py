"""The `dependency_facts` tool and the `facts` command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llama_index_codeindex.cli import FOUND, NOTHING, main
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.context.tokens import estimate_tokens
from llama_index_codeindex.engine.tools.answers import Answer
from llama_index_codeindex.engine.tools.toolbox import Toolbox
from tests.conftest import MakeTree

PYPROJECT = '[project]\nrequires-python = ">=3.10"\ndependencies = [\n  "httpx>=0.27",\n  "orjson",\n]\n'
LOCK = "".join(f'[[package]]\nname = "lib-{number}"\nversion = "1.{number}"\n' for number in range(40)) + "[metadata]\n"
FILES = {"pyproject.toml": PYPROJECT, "poetry.lock": LOCK, "package.json": "{", "setup.py": "import os\n"}


@pytest.fixture
def toolbox(tree: MakeTree, tmp_path: Path) -> Iterator[Toolbox]:
    codebase = Codebase(tree(FILES), tmp_path / "cache")
    codebase.refresh()
    yield Toolbox(codebase)
    codebase.close()


def ask(toolbox: Toolbox, **params: Any) -> Answer:
    return toolbox.call("dependency_facts", params)


def test_the_overview_gives_totals_and_the_status_of_every_manifest(toolbox: Toolbox) -> None:
    answer = ask(toolbox)
    assert answer["totals"] == {
        "npm": {"known": "unknown", "direct": None, "locked": None},
        "pypi": {"known": "partial", "direct": 2, "locked": 40},
    }
    assert answer["manifests"] == [
        {"file_path": "package.json", "status": "unparsed", "reason": "not JSON: line 1"},
        {"file_path": "setup.py", "status": "not_evaluated", "reason": "a program: it would have to be run"},
        {"file_path": "poetry.lock", "status": "parsed", "facts": 40},
        {"file_path": "pyproject.toml", "status": "parsed", "facts": 2},
    ]
    assert answer["manifest_counts"] == {"not_evaluated": 1, "parsed": 2, "unparsed": 1}
    assert answer["runtimes"] == [{"name": "python", "version": ">=3.10", "file_path": "pyproject.toml", "line": 2}]
    assert answer["next_step"] == {"tool": "dependency_facts", "params": {"ecosystem": "pypi"}}
    assert estimate_tokens(str(answer)) < 400


def test_an_ecosystem_comes_in_pages(toolbox: Toolbox) -> None:
    first = ask(toolbox, ecosystem="PyPI")
    assert (first["total"], first["page"], first["pages"], len(first["facts"])) == (42, 1, 3, 15)
    assert first["facts"][0] == {
        "ecosystem": "pypi", "name": "httpx", "version": ">=0.27", "scope": "runtime", "direct": True,
        "file_path": "pyproject.toml", "line": 4,
    }  # fmt: skip
    assert first["facts"][2] == {
        "ecosystem": "pypi", "name": "lib-0", "resolved": "1.0", "scope": "runtime", "direct": False, "locked": True,
        "file_path": "poetry.lock", "line": 2,
    }  # fmt: skip
    last = toolbox.call(**_as_call(toolbox.call(**_as_call(first))))
    assert (last["page"], len(last["facts"])) == (3, 12)
    assert last["next_step"]["tool"] == "read_lines"
    assert ask(toolbox, ecosystem="pypi", page=4)["error"]["code"] == "INVALID_ARGUMENT"


def _as_call(answer: Answer) -> dict[str, Any]:
    return {"name": answer["next_step"]["tool"], "params": answer["next_step"]["params"]}


def test_a_package_is_found_by_its_name(toolbox: Toolbox) -> None:
    answer = ask(toolbox, package="Lib_7")
    assert [(fact["name"], fact["resolved"], fact["line"]) for fact in answer["facts"]] == [("lib-7", "1.7", 23)]
    assert toolbox.call(**_as_call(answer))["text"].count('name = "lib-7"') == 1


def test_an_unknown_package_gives_candidates_and_says_what_is_unknown(toolbox: Toolbox) -> None:
    answer = ask(toolbox, package="httpxx")
    assert (answer["facts"], answer["total"], answer["candidates"]) == ([], 0, ["httpx"])
    assert answer["next_step"] == {"tool": "dependency_facts", "params": {"package": "httpx"}}
    assert [manifest["file_path"] for manifest in answer["unknown"]] == ["package.json", "setup.py"]


def test_an_unknown_ecosystem_is_an_error_with_the_known_ones(toolbox: Toolbox) -> None:
    error = ask(toolbox, ecosystem="cargo")["error"]
    assert (error["code"], error["suggestion"]) == ("INVALID_ARGUMENT", "Ecosystems with manifests: npm, pypi.")
    assert error["next_action"] == {"tool": "dependency_facts", "params": {}}


def test_the_command_prints_facts_and_json(tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(FILES)

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["facts", str(root), *arguments, "--embed", "none", "--cache-dir", str(tmp_path / "cache")])
        return code, capsys.readouterr().out

    code, out = run()
    assert code == FOUND
    assert out.splitlines() == [
        "npm  unknown direct, unknown locked  (unknown)",
        "pypi  2 direct, 40 locked  (partial)",
        "pyproject.toml:2  python >=3.10",
        "pyproject.toml:4  httpx >=0.27  runtime",
        "pyproject.toml:5  orjson  runtime",
        "package.json  unparsed: not JSON: line 1",
        "setup.py  not evaluated: a program: it would have to be run",
    ]
    code, out = run("--json", "--ecosystem", "pypi")
    answer = json.loads(out)
    assert (code, set(answer)) == (FOUND, {"totals", "facts", "runtimes", "manifests"})
    assert (len(answer["facts"]), answer["facts"][0]["file_path"]) == (42, "poetry.lock")
    assert run("--ecosystem", "cargo") == (NOTHING, "nothing found: no manifest of the ecosystem 'cargo'\n")
