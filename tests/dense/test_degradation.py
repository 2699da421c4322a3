"""The dense lane inside an index: what it adds, and how honestly it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llama_index_codeindex import CodeEmbedding, CodeIndex
from tests.conftest import MakeTree
from tests.dense.server import EmbeddingServer, ok, rows

FILES = {
    "src/red.py": "def crimson():\n    return 'scarlet ruby'\n",
    "src/blue.py": "def azure():\n    return 'navy cobalt'\n",
    "src/green.py": "def emerald():\n    return 'jade olive'\n",
}


def open_index(root: Path, cache: Path, server: EmbeddingServer | None, **kwargs: Any) -> CodeIndex:
    model = None
    if server is not None:
        model = CodeEmbedding(
            api_base=server.url, **{"model_name": "m", "num_workers": 1, "query_seconds": 0.5, **kwargs}
        )
    return CodeIndex.from_path(root, cache_dir=cache, embed_model=model)


@pytest.fixture
def root(tree: MakeTree) -> Path:
    return tree(FILES)


def test_with_a_model_nothing_is_degraded(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    index = open_index(root, tmp_path / "c", server)
    result = index.search("scarlet ruby", mode="meaning")
    assert (result.degraded, result.degraded_reasons) == (False, [])
    assert result.hits[0].file_path == "src/red.py"
    assert result.hits[0].lanes == {"dense": 1}
    agreed = index.search("crimson").hits
    assert agreed[0].lanes == {"symbol": 1, "lexical": 1, "dense": 1}
    assert len({hit.row for hit in agreed}) == len(agreed)
    status = index.status()
    assert (status.state, status.embedded_share) == ("current", 1.0)


def test_a_refresh_without_a_change_asks_the_server_nothing(
    root: Path, tmp_path: Path, server: EmbeddingServer
) -> None:
    index = open_index(root, tmp_path / "c", server)
    asked = len(server.requests)
    index.refresh()
    open_index(root, tmp_path / "c", server)
    assert len(server.requests) == asked


def test_without_a_model_the_answer_says_so(root: Path, tmp_path: Path) -> None:
    result = open_index(root, tmp_path / "c", None).search("crimson")
    assert result.hits[0].file_path == "src/red.py"
    assert result.degraded_reasons == ["no_embedding_model"]


def test_a_server_down_at_build_leaves_the_words_and_is_made_up_for(
    root: Path, tmp_path: Path, server: EmbeddingServer
) -> None:
    server.fault = lambda *_: (404, b"")
    index = open_index(root, tmp_path / "c", server)
    assert index.status().state == "partial"
    assert index.status().embedded_share == 0.0
    result = index.search("crimson")
    assert result.hits[0].file_path == "src/red.py"
    assert result.degraded
    server.fault = None
    assert index.refresh().embedded == 3
    again = index.search("crimson")
    assert (again.degraded, index.status().state) == (False, "current")


def test_a_server_down_at_the_question_degrades_that_answer(
    root: Path, tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(root, tmp_path / "c", server)
    monkeypatch.setattr("llama_index_codeindex.embeddings._PAUSE_SECONDS", 3600.0)
    server.fault = lambda *_: (503, b"")
    assert index.search("crimson").degraded_reasons == ["embedding_unavailable"]
    assert index.search("crimson").degraded_reasons == ["breaker_open"]
    monkeypatch.setattr("llama_index_codeindex.embeddings._PAUSE_SECONDS", 0.0)
    server.fault = None
    fresh = open_index(root, tmp_path / "c", server)
    assert fresh.search("crimson").degraded is False


def test_a_text_without_a_vector_is_counted_and_tried_again(
    root: Path, tmp_path: Path, server: EmbeddingServer
) -> None:
    server.fault = lambda _, texts: (400, b"") if any("navy" in text for text in texts) else None
    index = open_index(root, tmp_path / "c", server)
    assert index.status().embedded_share == pytest.approx(2 / 3, abs=1e-3)
    server.fault = None
    result = index.search("navy cobalt")
    assert result.hits[0].file_path == "src/blue.py"
    assert result.degraded_reasons == ["partly_embedded"]
    assert index.refresh().embedded == 1
    assert index.search("navy cobalt").degraded is False


def test_another_model_of_the_same_width_is_never_compared(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    open_index(root, tmp_path / "c", server)
    server.fault = lambda *_: (404, b"")
    other = open_index(root, tmp_path / "c", server, model_name="other")
    assert other.search("crimson").degraded_reasons == ["model_mismatch"]
    assert other.search("scarlet ruby", mode="meaning").hits == []
    server.fault = None
    other.refresh()
    assert other.search("crimson").degraded is False


def test_another_width_at_the_question_is_a_reason(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    open_index(root, tmp_path / "c", server)
    server.fault = lambda _, texts: ok([{**row, "embedding": [1.0, 2.0]} for row in rows(texts)])
    assert open_index(root, tmp_path / "c", server).search("crimson").degraded_reasons == ["dimension_mismatch"]


def test_vectors_are_never_shifted(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    server.fault = lambda _, texts: ok(rows(texts)[:-1]) if len(texts) > 1 else None
    index = open_index(root, tmp_path / "c", server)
    for word, path in (("scarlet", "src/red.py"), ("cobalt", "src/blue.py"), ("jade", "src/green.py")):
        assert index.search(word, mode="meaning").hits[0].file_path == path
