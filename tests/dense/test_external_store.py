"""The dense lane in a vector store of the user's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index_codeindex import CodeEmbedding, CodeFaissVectorStore, CodeIndex
from tests.conftest import MakeTree
from tests.dense.server import WIDTH, EmbeddingServer
from tests.dense.test_degradation import FILES

STORES: list[Callable[[], BasePydanticVectorStore]] = [lambda: CodeFaissVectorStore(dimension=WIDTH), SimpleVectorStore]


class Refusing(CodeFaissVectorStore):
    """A store whose server is away."""

    def query(self, *_: Any, **__: Any) -> Any:
        raise ConnectionError("secret provider text")


def open_index(root: Path, cache: Path, server: EmbeddingServer, store: BasePydanticVectorStore) -> CodeIndex:
    model = CodeEmbedding(api_base=server.url, model_name="m", num_workers=1)
    return CodeIndex.from_path(root, cache_dir=cache, embed_model=model, vector_store=store)


@pytest.mark.parametrize("make", STORES)
def test_the_store_answers_and_is_kept_in_step(
    make: Callable[[], BasePydanticVectorStore], tree: MakeTree, tmp_path: Path, server: EmbeddingServer
) -> None:
    root, store = tree(FILES), make()
    index = open_index(root, tmp_path / "c", server, store)
    result = index.search("scarlet ruby", mode="meaning")
    assert (result.degraded, result.hits[0].file_path) == (False, "src/red.py")
    assert index.search("scarlet", mode="meaning", filters={"under": "src/blue.py"}).hits[0].file_path == "src/blue.py"
    (root / "src/red.py").unlink()
    tree({"src/pink.py": "def rosy():\n    return 'scarlet ruby rose'\n"})
    index.refresh()
    found = {hit.file_path for hit in index.search("scarlet ruby", mode="meaning").hits}
    assert found == {"src/blue.py", "src/green.py", "src/pink.py"}


def test_no_code_is_sent_to_the_store(tree: MakeTree, tmp_path: Path, server: EmbeddingServer) -> None:
    store = CodeFaissVectorStore(dimension=WIDTH)
    open_index(tree(FILES), tmp_path / "c", server, store)
    assert store.count == 3
    assert not any(word in str(node.to_dict()) for node in store.get_nodes() for word in ("crimson", "scarlet", "jade"))


def test_a_second_refresh_sends_nothing(tree: MakeTree, tmp_path: Path, server: EmbeddingServer) -> None:
    root, store = tree(FILES), CodeFaissVectorStore(dimension=WIDTH)
    index = open_index(root, tmp_path / "c", server, store)
    before = [node.node_id for node in store.get_nodes()]
    index.refresh()
    assert [node.node_id for node in store.get_nodes()] == before


def test_a_store_that_is_away_degrades_the_answer(tree: MakeTree, tmp_path: Path, server: EmbeddingServer) -> None:
    index = open_index(tree(FILES), tmp_path / "c", server, Refusing(dimension=WIDTH))
    result = index.search("crimson")
    assert result.hits[0].file_path == "src/red.py"
    assert result.degraded_reasons == ["vector_store_unavailable"]


@pytest.mark.parametrize("make", STORES)
def test_a_store_that_was_not_sent_everything_is_told_of_once(
    make: Callable[[], BasePydanticVectorStore],
    tree: MakeTree,
    tmp_path: Path,
    server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, store = tree(FILES), make()
    index = open_index(root, tmp_path / "c", server, store)
    assert index.search("scarlet ruby", mode="meaning").degraded_reasons == []
    tree({"src/pink.py": "def rosy():\n    return 'blush coral'\n"})

    def away(*_: Any, **__: Any) -> Any:
        raise ConnectionError("secret provider text")

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "add", away)
        index.refresh()
    for result in (index.search("scarlet ruby", mode="meaning"), index.search("scarlet ruby", mode="meaning")):
        assert result.degraded_reasons == ["partly_embedded"]  # the index has all vectors, the store has not
        assert next(hit.file_path for hit in result.hits) == "src/red.py"
        assert "src/pink.py" not in [hit.file_path for hit in result.hits]
    # Another process that opens the index finds the same, and makes up for it.
    other = open_index(root, tmp_path / "c", server, store)
    assert other.search("blush coral", mode="meaning").hits[0].file_path == "src/pink.py"
    assert other.search("blush coral", mode="meaning").degraded_reasons == []
    assert index.search("blush coral", mode="meaning").degraded_reasons == []


def test_a_text_without_a_vector_and_a_store_that_lacks_some_are_one_reason(
    tree: MakeTree, tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, store = tree(FILES), CodeFaissVectorStore(dimension=WIDTH)
    index = open_index(root, tmp_path / "c", server, store)
    tree({"src/pink.py": "def rosy():\n    return 'blush'\n", "src/grey.py": "def ashen():\n    return 'slate'\n"})
    server.fault = lambda _, texts: (400, b"") if any("slate" in text for text in texts) else None
    with monkeypatch.context() as patched:
        patched.setattr(CodeFaissVectorStore, "add", lambda *_, **__: 1 / 0)
        index.refresh()
    assert index.search("scarlet").degraded_reasons == ["partly_embedded"]


def test_no_question_waits_for_a_thread_that_is_sending(
    tree: MakeTree, tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, store = tree(FILES), CodeFaissVectorStore(dimension=WIDTH)
    index = open_index(root, tmp_path / "c", server, store)
    tree({"src/pink.py": "def rosy():\n    return 'blush coral'\n"})
    sending, answered = threading.Event(), threading.Event()
    add = CodeFaissVectorStore.add

    def slow(self: CodeFaissVectorStore, nodes: Any, **kwargs: Any) -> Any:
        sending.set()
        assert answered.wait(20)
        return add(self, nodes, **kwargs)

    monkeypatch.setattr(CodeFaissVectorStore, "add", slow)
    writer = threading.Thread(target=index.refresh)
    writer.start()
    assert sending.wait(20)
    try:
        assert index.search("scarlet ruby", mode="meaning").degraded_reasons == ["partly_embedded"]
    finally:
        answered.set()
        writer.join()
    assert index.search("scarlet ruby", mode="meaning").degraded_reasons == []


def test_a_question_of_another_width_is_a_mismatch_whatever_the_store_says(
    tree: MakeTree, tmp_path: Path, server: EmbeddingServer
) -> None:
    index = open_index(tree(FILES), tmp_path / "c", server, SimpleVectorStore())
    narrow = index.codebase.search("crimson", vector=np.ones(3, np.float32))
    assert narrow.degraded_reasons == ["dimension_mismatch"]
