"""The same answers through the command line, the tools and the managed index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llama_index_codeindex import CodeIndex, CodeIndexToolSpec
from llama_index_codeindex.cli import FAILED, FOUND, NOTHING, main
from tests.conftest import MakeTree
from tests.graph.samples import PYTHON


@pytest.fixture
def run(tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    root = tree(PYTHON)

    def call(command: str, *arguments: str) -> tuple[int, str, str]:
        code = main([command, str(root), *arguments, "--embed", "none", "--cache-dir", str(tmp_path / "cache")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def index(tree: MakeTree, tmp_path: Path) -> Iterator[CodeIndex]:
    made = CodeIndex.from_path(tree(PYTHON), cache_dir=tmp_path / "cache", embed_model=None)
    yield made
    made.close()


def test_symbol(run: Any) -> None:
    code, out, _ = run("symbol", "Cart.total_price")
    assert code == FOUND
    assert out == "shop/cart.py:8-9  Cart.total_price (method)  def total_price(self):\n"
    code, out, _ = run("symbol", "helper", "--json")
    assert [(d["file_path"], d["start_line"]) for d in json.loads(out)["definitions"]] == [
        ("tests/test_cart.py", 5),
        ("tests/test_cart.py", 11),
    ]
    assert run("symbol", "nosuch")[:2] == (NOTHING, "nothing found\n")


def test_refs(run: Any) -> None:
    code, out, _ = run("refs", "total_price")
    assert code == FOUND
    assert out.splitlines() == [
        "shop/cart.py:12  call  exact  in Cart.describe_total",
        "shop/report.py:10  call  likely  in print_report",
        "tests/test_cart.py:7  call  likely  in test_total",
    ]
    code, out, _ = run("refs", "total_price", "--json")
    assert set(json.loads(out)) == {"name", "definitions", "uses", "generation"}
    assert run("refs", "nosuch")[0] == NOTHING


def test_refs_of_callers(run: Any) -> None:
    code, out, _ = run("refs", "_digits", "--callers", "--depth", "2")
    assert code == FOUND
    assert out.splitlines() == [
        "shop/money.py:2  round_price  exact",
        "  shop/cart.py:9  Cart.total_price -> round_price  exact",
    ]
    code, out, _ = run("refs", "_digits", "--callers", "--json")
    assert [c["symbol"] for c in json.loads(out)["callers"]] == ["round_price"]
    assert run("refs", "_digits", "--callers", "--depth", "99")[0] == FAILED


def test_map(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("map", "--budget", "300")
    assert code == FOUND and out.startswith("map, page 1;") and "class Cart" in out
    code, out, _ = run("map", "--query", "print the report", "--json")
    assert code == FOUND and json.loads(out)["files"][0]["file_path"] == "shop/report.py"
    code, out, _ = run("map", "--page", "2", "--json")
    assert code == FAILED and json.loads(out)["error"]["code"] == "INVALID_ARGUMENT"
    picture = tmp_path / "map.svg"
    assert run("map", "--svg", str(picture))[0] == FOUND
    assert picture.read_text("utf-8").startswith("<svg ")
    assert run("map", "--svg", str(tmp_path / "missing" / "map.svg"))[0] == FAILED


def test_tools(index: CodeIndex) -> None:
    spec = CodeIndexToolSpec(index=index)
    answer = spec.repo_map(budget=120)
    assert answer["map"].startswith("map, page 1;") and answer["page"] == 1 and answer["has_next"]
    assert spec.call(**answer["next_step"])["page"] == 2
    assert (
        asyncio.run(spec.arepo_map(query="print the report", under="shop"))["map"].splitlines()[3] == "shop/report.py"
    )
    assert spec.repo_map(under="nowhere")["error"]["code"] == "FILE_NOT_INDEXED"
    found = spec.find_references("Cart.total_price")
    assert [(u["file_path"], u["confidence"], u.get("in")) for u in found["references"]] == [
        ("shop/cart.py", "exact", "Cart.describe_total"),
        ("shop/report.py", "likely", "print_report"),
        ("tests/test_cart.py", "likely", "test_total"),
    ]


def test_the_managed_index(index: CodeIndex) -> None:
    assert [use.line for use in index.references("_digits").uses] == [2]
    assert [caller.symbol for caller in index.callers("_digits").callers] == ["round_price"]
    assert index.impact("_digits").tests == ("tests/test_cart.py",)
    assert str(index.repo_map(budget=500)) == index.repo_map(500).text
