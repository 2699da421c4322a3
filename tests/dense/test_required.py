"""A caller who insists on meaning gets an error instead of an answer without it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import TextNode

from llama_index_codeindex import CodeEmbedding, CodeIndex, HybridCodeRetriever
from llama_index_codeindex.embeddings import adapt
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import (
    EmbeddingError,
    EmbeddingMismatch,
    EmbeddingPaused,
    EmbeddingReplyInvalid,
    EmbeddingUnavailable,
    InvalidArgument,
    VectorStoreUnavailable,
    embedding_error,
)
from llama_index_codeindex.engine.tools.toolbox import Toolbox
from tests.conftest import MakeTree
from tests.dense.server import WIDTH, EmbeddingServer, ok, rows
from tests.dense.test_degradation import FILES
from tests.dense.test_external_store import Refusing


def embedding(server: EmbeddingServer, **kwargs: Any) -> CodeEmbedding:
    given = {"model_name": "m", "num_workers": 1, "query_seconds": 0.5, **kwargs}
    return CodeEmbedding(api_base=server.url, **given)


def open_index(root: Path, cache: Path, server: EmbeddingServer, model: str = "m", **kwargs: Any) -> CodeIndex:
    options = {"require_dense": True, **kwargs}
    return CodeIndex.from_path(root, cache_dir=cache, embed_model=embedding(server, model_name=model), **options)


def unrefreshed(root: Path, cache: Path, server: EmbeddingServer, model: str = "m") -> CodeIndex:
    embedder = adapt(embedding(server, model_name=model))
    return CodeIndex(Codebase(root, cache, embedder, require_dense=True))


def check_next(error: EmbeddingError, index: CodeIndex) -> None:
    """What an error says to do next can be done as it is."""
    assert error.code != "CODEINDEX_ERROR" and error.message and error.suggestion
    step = error.next_action
    answer = Toolbox(index.codebase).call(step["tool"], step["params"])
    assert not answer.is_error or answer["error"]["code"].startswith(("EMBEDDING", "VECTOR"))


@pytest.fixture
def root(tree: MakeTree) -> Path:
    return tree(FILES)


def test_without_a_model_nothing_is_opened(root: Path, tmp_path: Path) -> None:
    for attempt in (
        lambda: CodeIndex.from_path(root, cache_dir=tmp_path / "c", require_dense=True),
        lambda: CodeIndex.at_revision(root, "HEAD", cache_dir=tmp_path / "c", require_dense=True),
        lambda: Codebase(root, tmp_path / "c", require_dense=True),
    ):
        with pytest.raises(InvalidArgument, match="require_dense"):
            attempt()
    assert not (tmp_path / "c").exists()


def test_with_its_vectors_it_answers_as_ever(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    index = open_index(root, tmp_path / "c", server)
    result = index.search("scarlet ruby", mode="meaning")
    assert (result.hits[0].file_path, result.degraded) == ("src/red.py", False)
    assert index.related("src/red.py", 1).degraded_reasons == []


def test_a_build_without_vectors_is_published_and_an_error(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable, match=r"Generation 1 is published.*3 texts got no vector") as caught:
        open_index(root, tmp_path / "c", server)
    assert caught.value.next_action == {"tool": "refresh_index", "params": {}}
    words = CodeIndex.from_path(root, cache_dir=tmp_path / "c")
    assert words.search("crimson").hits[0].file_path == "src/red.py"
    assert (words.status().generation, words.status().state) == (1, "current")
    with pytest.raises(EmbeddingUnavailable) as caught:
        unrefreshed(root, tmp_path / "c", server).search("crimson")
    server.fault = None
    index = unrefreshed(root, tmp_path / "c", server)
    with pytest.raises(EmbeddingUnavailable, match="no vectors"):
        index.search("crimson")
    with pytest.raises(EmbeddingUnavailable, match="no vectors"):
        index.related("src/red.py", 1)
    check_next(caught.value, index)
    assert index.search("crimson").degraded is False


def test_a_refresh_that_the_server_failed_is_an_error_until_it_is_made_up_for(
    root: Path, tmp_path: Path, tree: MakeTree, server: EmbeddingServer
) -> None:
    index = open_index(root, tmp_path / "c", server)
    tree({"src/pink.py": "def rosy():\n    return 'blush coral'\n"})
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable, match="Generation 2 is published"):
        index.refresh()
    assert Codebase(root, tmp_path / "c").search("rosy").hits[0].file_path == "src/pink.py"
    server.fault = None
    with pytest.raises(EmbeddingUnavailable, match="1 of 4 chunks have no vector"):
        index.search("blush")
    assert index.search("rosy", mode="symbol").hits[0].file_path == "src/pink.py"
    assert index.refresh().embedded == 1
    assert index.search("blush", mode="meaning").hits[0].file_path == "src/pink.py"


def test_a_server_down_at_the_question_is_an_error_with_its_cause(
    root: Path, tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(root, tmp_path / "c", server)
    monkeypatch.setattr("llama_index_codeindex.embeddings._PAUSE_SECONDS", 3600.0)
    server.fault = lambda *_: (503, b"")
    with pytest.raises(EmbeddingUnavailable) as caught:
        index.search("crimson")
    assert type(caught.value) is EmbeddingUnavailable and "503" in caught.value.message
    check_next(caught.value, index)
    with pytest.raises(EmbeddingPaused) as paused:
        index.as_retriever().retrieve("crimson")
    check_next(paused.value, index)
    with pytest.raises(EmbeddingPaused):
        index.codebase.pack("crimson")
    assert Toolbox(index.codebase).call("search_code", {"query": "crimson"})["error"]["code"] == "EMBEDDING_PAUSED"
    # Names and paths ask nothing of the model.
    assert index.search("crimson", mode="symbol").hits and index.search("src/red.py", mode="path").hits


def test_the_async_twin_raises_too(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    index = open_index(root, tmp_path / "c", server)
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable):
        asyncio.run(index.as_retriever().aretrieve("crimson"))


def test_another_model_is_an_error(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    open_index(root, tmp_path / "c", server)
    index = unrefreshed(root, tmp_path / "c", server, "other")
    with pytest.raises(EmbeddingMismatch, match="another model") as caught:
        index.search("crimson")
    check_next(caught.value, index)
    assert index.search("crimson").degraded is False


def test_another_width_is_an_error(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    open_index(root, tmp_path / "c", server)
    server.fault = lambda _, texts: ok([{**row, "embedding": [1.0, 2.0]} for row in rows(texts)])
    with pytest.raises(EmbeddingMismatch, match="width"):
        open_index(root, tmp_path / "c", server).search("crimson")


def test_a_text_over_the_limit_is_said_and_no_error(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    server.fault = lambda _, texts: (400, b"") if any("navy" in text for text in texts) else None
    index = open_index(root, tmp_path / "c", server)
    server.fault = None
    assert index.search("scarlet ruby").degraded_reasons == ["partly_embedded"]
    assert index.related("src/blue.py", 1).degraded_reasons == ["partly_embedded"]


def test_nothing_to_embed_is_no_error(tree: MakeTree, tmp_path: Path, server: EmbeddingServer) -> None:
    result = open_index(tree({}), tmp_path / "c", server).search("crimson")
    assert (result.hits, result.empty_reason, result.degraded_reasons) == ([], "empty_index", ["not_embedded"])


def test_a_search_that_refreshes_first_says_what_the_search_lacks(
    root: Path, tmp_path: Path, tree: MakeTree, server: EmbeddingServer
) -> None:
    index = open_index(root, tmp_path / "c", server, refresh="auto")
    tree({"src/pink.py": "def rosy():\n    return 'blush coral'\n"})
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable, match="1 of 4 chunks"):
        index.search("blush")
    assert index.codebase.definitions("rosy")[0].file_path == "src/pink.py"  # asks nothing of the model
    server.fault = None
    assert index.search("blush", mode="meaning").hits[0].file_path == "src/pink.py"


def test_a_store_that_is_away_is_an_error(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    index = open_index(root, tmp_path / "c", server, vector_store=Refusing(dimension=WIDTH))
    with pytest.raises(VectorStoreUnavailable) as caught:
        index.search("crimson")
    assert "secret" not in caught.value.message
    check_next(caught.value, index)


def test_a_store_that_takes_nothing_is_an_error_of_the_refresh(
    root: Path, tmp_path: Path, server: EmbeddingServer
) -> None:
    class Full(Refusing):
        def add(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("secret provider text")

    with pytest.raises(VectorStoreUnavailable, match="Generation 1 is published") as caught:
        open_index(root, tmp_path / "c", server, vector_store=Full(dimension=WIDTH))
    assert "secret" not in caught.value.message
    assert Codebase(root, tmp_path / "c").search("crimson").hits


def test_a_revision_can_be_required_too(root: Path, tmp_path: Path, server: EmbeddingServer) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable, match="published"):
        CodeIndex.at_revision(root, "HEAD", tmp_path / "c", embedding(server), require_dense=True)


def test_nodes_can_be_required_too(server: EmbeddingServer) -> None:
    nodes = [TextNode(text=text, metadata={"file_path": path}) for path, text in FILES.items()]
    with pytest.raises(InvalidArgument, match="require_dense"):
        HybridCodeRetriever.from_nodes(nodes, require_dense=True)
    found = HybridCodeRetriever.from_nodes(nodes, embedding(server), require_dense=True)
    assert found.search("scarlet ruby").degraded_reasons == []
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable):
        found.retrieve("scarlet ruby again")
    with pytest.raises(EmbeddingUnavailable):
        HybridCodeRetriever.from_nodes(nodes, embedding(server), require_dense=True)


@pytest.mark.parametrize(
    "kind", [EmbeddingUnavailable, EmbeddingPaused, EmbeddingReplyInvalid, EmbeddingMismatch, VectorStoreUnavailable]
)
def test_every_code_leads_back_to_its_error(kind: type[EmbeddingError]) -> None:
    error = embedding_error(kind.code, "It failed.")
    assert type(error) is kind and error.next_action["tool"] == "refresh_index"
