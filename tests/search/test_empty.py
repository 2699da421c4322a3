"""An empty answer says why it is empty, and a filter's shows what it removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest

from llama_index_codeindex import CodeIndex, HybridCodeRetriever
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.model import EMPTY_SENTENCES, EmptyReason, SearchResult
from llama_index_codeindex.engine.search.searcher import MAX_PREVIEW, Searcher
from llama_index_codeindex.engine.search.texts import DiskTexts
from llama_index_codeindex.engine.tools.toolbox import Toolbox

FILES = {
    "src/cart.py": "def refund(order):\n    return order.total\n",
    "src/bank.py": "def refund_all(orders):\n    '''refund refund'''\n    return [refund(o) for o in orders]\n",
    "lib/till.py": "def refund_cash():\n    return 0\n",
    "lib/desk.py": "def refund_card():\n    return 1\n",
    "zoo.go": "package zoo\n\nfunc Quagga() int { return 7 }\n",
    ".env": "refund=1\n",
}


class Opposite:
    """A model for which every question is the opposite of every code."""

    model_id = "opposite"
    asked = 0

    def embed_texts(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        return [np.array([1.0, 0.0], np.float32) for _ in texts]

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        self.asked += 1
        return np.array([-1.0, 0.0], np.float32)


def opened(folder: Path, files: Mapping[str, str], embedder: Opposite | None = None) -> Codebase:
    """Return the index of a new folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    folder.mkdir(exist_ok=True)
    codebase = Codebase(folder, folder.parent / "cache", embedder)
    codebase.refresh()
    return codebase


@pytest.fixture
def codebase(tmp_path: Path) -> Codebase:
    return opened(tmp_path / "shop", FILES)


def check(result: SearchResult, reason: EmptyReason) -> None:
    assert (result.hits, result.empty_reason) == ([], reason)
    assert result.explanation == EMPTY_SENTENCES[reason]
    assert result.to_dict()["empty_reason"] == reason
    assert bool(result.filtered_preview) == (reason == "filtered_out") == ("filtered_preview" in result.to_dict())


def test_every_reason_has_its_sentence() -> None:
    assert set(EMPTY_SENTENCES) == set(get_args(EmptyReason))
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in EMPTY_SENTENCES.values())
    assert len(set(EMPTY_SENTENCES.values())) == len(EMPTY_SENTENCES)


def test_an_answer_with_hits_explains_nothing(codebase: Codebase) -> None:
    result = codebase.search("refund", filters={"under": "src"})
    assert (result.empty_reason, result.explanation, result.filtered_preview) == ("", "", ())
    assert not {"empty_reason", "filtered_preview"} & set(result.to_dict())


@pytest.mark.parametrize(
    ("query", "mode", "filters", "reason"),
    [
        ("refund", "all", {"language": "rust"}, "filtered_out"),
        ("refund lang:rust", "all", {}, "filtered_out"),
        ("refund path:nowhere/", "symbol", {}, "filtered_out"),
        ("cart.py", "path", {"under": "lib"}, "filtered_out"),
        ('"return order.total"', "all", {"under": "lib"}, "filtered_out"),
        ('"order refund total"', "all", {"under": "lib"}, "no_phrase"),
        ('"order refund total"', "all", {}, "no_phrase"),
        ("qwertyzzz", "all", {"language": "rust"}, "no_known_word"),
        ("qwertyzzz", "all", {}, "no_known_word"),
        ("->", "all", {}, "no_tokens"),
        ("qwertyzzz", "symbol", {}, "no_symbol"),
        ("qwertyzzz", "path", {}, "no_path"),
        ("refund", "meaning", {}, "no_vectors"),
        ("refund", "meaning", {"under": "lib"}, "no_vectors"),
    ],
)
def test_the_reason_is_the_true_one(
    codebase: Codebase, query: str, mode: Any, filters: dict[str, object], reason: EmptyReason
) -> None:
    check(codebase.search(query, mode=mode, filters=filters), reason)


def test_an_index_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    check(Codebase(tmp_path / "none", tmp_path / "c").search("refund", filters={"under": "src"}), "empty_index")
    check(opened(tmp_path / "none", {}).search("refund"), "empty_index")


def test_what_is_gone_is_not_said_to_be_unknown(codebase: Codebase) -> None:
    (codebase.root / "zoo.go").unlink()
    check(codebase.search("Quagga"), "gone")
    check(codebase.related("zoo.go", 3), "gone")
    assert codebase.search("Quagga", filters={"under": "src"}).filtered_preview == ()


def test_code_that_nothing_resembles(tmp_path: Path) -> None:
    check(
        opened(tmp_path / "lonely", {"only.py": "def alone():\n    return 1\n"}).related("only.py", 1), "no_neighbours"
    )


def test_with_vectors_something_is_always_the_closest(tmp_path: Path) -> None:
    assert opened(tmp_path / "shop", FILES, Opposite()).search("qwertyzzz", mode="meaning").hits


def test_a_lane_that_is_missing_is_not_called_an_unknown_word(codebase: Codebase) -> None:
    with codebase.store.read() as view:
        searcher = Searcher(replace(view, kept=replace(view.kept, lexical=None)), DiskTexts(codebase.gate))
        asked = searcher.search("qwertyzzz")
        near = searcher.related(view.catalog.file_chunks([view.catalog.files()["zoo.go"].id])[0])
    for answer in (asked, near):
        assert (answer.hits, answer.empty_reason) == ([], "no_lane")
        assert "lexical_unavailable" in answer.degraded_reasons


def test_the_preview_shows_where_and_quotes_nothing(codebase: Codebase) -> None:
    result = codebase.search("refund", filters={"language": "rust"})
    free = codebase.search("refund", top_k=MAX_PREVIEW)
    assert [hit.place() for hit in result.filtered_preview] == [hit.place() for hit in free.hits]
    assert result.to_dict()["filtered_preview"][0] == {
        "file_path": "src/cart.py", "start_line": 1, "end_line": 2, "symbol": "refund",
    }  # fmt: skip
    assert len(result.filtered_preview) == MAX_PREVIEW == 3
    assert {(hit.text, hit.context) for hit in result.filtered_preview} == {("", "")}


def test_the_preview_has_nothing_that_is_denied_by_now(codebase: Codebase) -> None:
    (codebase.root / "src/cart.py").unlink()
    (codebase.root / "src/cart.py").symlink_to(codebase.root / ".env")
    shown = {hit.file_path for hit in codebase.search("refund", filters={"language": "rust"}).filtered_preview}
    assert shown and not shown & {"src/cart.py", ".env"}


def test_the_preview_asks_the_model_nothing_more(tmp_path: Path) -> None:
    model = Opposite()
    check(opened(tmp_path / "shop", FILES, model).search("refund", filters={"language": "rust"}), "filtered_out")
    assert model.asked == 1


def test_tools_show_the_preview(codebase: Codebase) -> None:
    answer = Toolbox(codebase).call("search_code", {"query": "refund", "language": "rust"})
    assert answer["empty_reason"] == "filtered_out" and "note" not in answer
    assert answer["filtered_preview"][0] == {
        "file_path": "src/cart.py", "start_line": 1, "end_line": 2, "symbol": "refund",
    }  # fmt: skip
    assert '"filtered_preview":[{"file_path":"src/cart.py"' in str(answer)
    assert answer["next_step"] == {"tool": "search_code", "params": {"query": "refund"}}
    assert "filtered_preview" not in Toolbox(codebase).call("search_code", {"query": "qwertyzzz", "language": "rust"})


def test_several_indexes_preview_the_best_of_all(codebase: Codebase, tmp_path: Path) -> None:
    other = opened(tmp_path / "other", {"a.rb": "def unrelated\nend\n"})
    both = HybridCodeRetriever.from_indexes([CodeIndex(other), CodeIndex(codebase)], filters={"language": "rust"})
    assert both.retrieve("refund") == []
    result = both.search("refund")
    assert (result.empty_reason, len(result.filtered_preview)) == ("filtered_out", 3)
    assert {hit.source for hit in result.filtered_preview} == {"shop"}
