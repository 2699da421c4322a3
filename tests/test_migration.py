"""The migration page: every piece of code on it runs, before and after."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
PAGE = (FOLDER / "docs" / "pages" / "migration.md").read_text("utf-8")
SECTIONS = re.findall(r"^## From (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(code, id=f"{title}-{number}".replace(" ", "_"))
    for title, body in SECTIONS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", body, re.DOTALL))
]

# What "before" needs and this package does not bring; where it is not installed, that piece is not run.
_EXTRAS = ("llama_index.retrievers.bm25", "llama_index.packs.code_hierarchy")


def run(code: str) -> dict[str, Any]:
    """Run a piece of the page and return its names."""
    names: dict[str, Any] = {"__name__": "migration"}
    exec(compile(code, "migration.md", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def in_the_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with source files, one of them secret."""
    root = tmp_path / "shop"
    shutil.copytree(FOLDER / "shop", root)
    (root / ".env").write_text("BANK_KEY=never-shown\n")
    monkeypatch.chdir(root)
    logging.getLogger("llama_index.core.readers.file.base").setLevel(logging.ERROR)


def pieces(title: str) -> list[str]:
    """Return the code of a section."""
    return re.findall(r"```python\n(.*?)```", dict(SECTIONS)[title], re.DOTALL)


def test_every_section_has_a_before_and_an_after() -> None:
    assert len(SECTIONS) == 4
    for title, body in SECTIONS:
        assert body.count("\nBefore: ") == 1, title
        assert body.count("\nAfter: ") == 1, title
        before, *after = pieces(title)
        assert "llama_index_codeindex" not in before, title
        assert after and all("from llama_index_codeindex import" in code for code in after), title


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the parts that "before" imports
@pytest.mark.parametrize("code", BLOCKS)
def test_a_piece_runs(code: str) -> None:
    for module in _EXTRAS:
        if f"from {module} import" in code:
            pytest.importorskip(module)
    assert len(run(code)) > 2


def test_the_reader_says_relative_paths_and_what_it_left_out() -> None:
    before, after = map(run, pieces("SimpleDirectoryReader"))
    assert Path(before["documents"][0].metadata["file_path"]).is_absolute()
    assert {d.id_ for d in after["documents"]} >= {"shop/orders.py", "shop/payments/retry.py"}
    assert {Path(d.metadata["file_path"]).name for d in before["documents"]} == {
        Path(d.id_).name for d in after["documents"]
    }
    assert after["skipped"][".env"] == "denied"


def test_the_parser_knows_lines_and_symbols() -> None:
    before, after = map(run, pieces("CodeSplitter"))
    assert all("start_line" not in node.metadata for node in before["nodes"])
    assert ("shop/stock.py", 10, "Shelf") in after["places"]


def test_the_retrievers_find_the_place() -> None:
    for code in pieces("BM25Retriever and QueryFusionRetriever")[1:]:
        found = run(code)["found"]
        assert found[0].node.metadata["file_path"] == "shop/payments/retry.py"
        assert 0 < found[0].score <= 1


def test_the_hierarchy_is_in_the_metadata() -> None:
    _, first, second = pieces("CodeHierarchyNodeParser")
    assert run(first)["members"] == ["Shelf.put", "Shelf.available", "Shelf.reserve", "Shelf.release"]
    names = run(second)
    assert "shop/orders.py" in names["overview"]
    assert "with_retries" in str(names["callers"])
