"""The FAISS store against a brute-force reference, and where LlamaIndex's own falls short."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

from llama_index_codeindex.engine.errors import (
    EmbeddingMismatch,
    EmbeddingReplyInvalid,
    IndexDamaged,
    InvalidArgument,
)
from llama_index_codeindex.metadata_filters import MetadataColumns, matches
from llama_index_codeindex.vector_stores import CodeFaissVectorStore

WIDTH = 4


def node(name: str, vector: list[float], document: str = "doc", **metadata: Any) -> TextNode:
    return TextNode(
        id_=name, text=f"text of {name}", embedding=vector, metadata=metadata,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )  # fmt: skip


def ids(store: CodeFaissVectorStore, vector: list[float], top_k: int = 10, **kwargs: Any) -> list[str]:
    return store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=top_k, **kwargs)).ids or []


def test_the_most_similar_direction_comes_first_whatever_its_length() -> None:
    store = CodeFaissVectorStore(dimension=2)
    store.add([node("long", [0.5, 0.5]), node("short", [0.1, 0.0])])
    result = store.query(VectorStoreQuery(query_embedding=[3.0, 0.0], similarity_top_k=2))
    assert result.ids == ["short", "long"]
    assert result.similarities == pytest.approx([1.0, 0.70710677])


def test_more_asked_for_than_there_is() -> None:
    store = CodeFaissVectorStore(dimension=2)
    assert ids(store, [1.0, 0.0], 50) == []
    store.add([node(str(i), [1.0, i]) for i in range(3)])
    assert len(ids(store, [1.0, 0.0], 50)) == 3


def test_an_id_is_never_used_for_another_node() -> None:
    store = CodeFaissVectorStore(dimension=2)
    store.add([node("a", [1, 0]), node("b", [0, 1]), node("c", [-1, 0])])
    store.delete_nodes(["a"])
    store.add([node("d", [0, -1])])
    assert ids(store, [-1, 0], 1) == ["c"]
    assert ids(store, [0, -1], 1) == ["d"]
    assert store.count == 3


def test_delete_takes_a_documents_nodes_and_no_others() -> None:
    store = CodeFaissVectorStore(dimension=2)
    store.add([node("a", [1, 0], "x"), node("b", [1, 0], "x"), node("c", [1, 0], "y")])
    store.delete("x")
    store.delete("nobody")
    assert ids(store, [1, 0]) == ["c"]


def test_adding_an_id_again_replaces_it() -> None:
    store = CodeFaissVectorStore(dimension=2)
    store.add([node("a", [1, 0], "x")])
    store.add([node("a", [0, 1], "y")])
    assert ids(store, [0, 1]) == ["a"]
    store.delete("x")
    assert store.count == 1
    store.delete("y")
    assert store.count == 0


def test_filters_hold_before_the_best_are_chosen() -> None:
    store = CodeFaissVectorStore(dimension=2)
    store.add([node(f"near{i}", [1, 0], language="python", size=i) for i in range(50)])
    store.add([node("far", [0, 1], language="go", size=99)])
    go = MetadataFilters(filters=[MetadataFilter(key="language", value="go")])
    big = MetadataFilters(filters=[MetadataFilter(key="size", value=48, operator=FilterOperator.GTE)])
    assert ids(store, [1, 0], 3, filters=go) == ["far"]
    assert set(ids(store, [1, 0], 5, filters=big)) == {"near48", "near49", "far"}
    assert ids(store, [1, 0], 5, node_ids=["far", "near3"]) == ["near3", "far"]
    assert ids(store, [1, 0], 5, filters=MetadataFilters(filters=[MetadataFilter(key="language", value="c")])) == []


VALUES = st.sampled_from([None, "a", "b", "ab", "", 0, 1, 1.0, True, False, ["a"], ["a", "b"], {"a": 1}])
CONDITIONS = st.one_of(
    st.builds(
        MetadataFilter,
        key=st.sampled_from("kl"),
        value=st.sampled_from(["a", "b", 1, 1.0, 7]),
        operator=st.sampled_from(
            [FilterOperator(x) for x in ("==", "!=", "contains", "text_match", "text_match_insensitive", "is_empty")]
        ),
    ),
    st.builds(
        MetadataFilter,
        key=st.sampled_from("kl"),
        value=st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2) | st.just([1, 2]),
        operator=st.sampled_from([FilterOperator(x) for x in ("in", "nin", "any", "all")]),
    ),
)
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: st.builds(
        MetadataFilters, filters=st.lists(inner, max_size=3), condition=st.sampled_from(list(FilterCondition))
    ),
    max_leaves=5,
)


CHANGES = st.lists(
    st.tuples(st.integers(0, 6), st.none() | st.fixed_dictionaries({}, optional={"k": VALUES, "l": VALUES})),
    max_size=25,
)


@given(CHANGES, st.lists(FILTERS, min_size=1, max_size=3))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_a_filter_by_values_passes_what_it_passes_node_by_node(
    changes: list[tuple[int, dict[str, Any] | None]], filters: list[MetadataFilters | MetadataFilter]
) -> None:
    nodes: dict[int, dict[str, Any]] = {}
    columns = MetadataColumns(nodes)
    for number, metadata in changes:
        if number in nodes:
            columns.removed(number, nodes.pop(number))
        if metadata is not None:
            nodes[number] = metadata
            columns.added(number)
        for part in filters:
            assert columns.passing(part) == {n for n, held in nodes.items() if matches(part, held)}


def test_a_filter_on_many_nodes_looks_at_few_or_many() -> None:
    store = CodeFaissVectorStore(dimension=2)
    store.add([node(f"n{i}", [1, i], part=str(i % 3), one=str(i)) for i in range(1000)])
    store.delete_nodes([f"n{i}" for i in range(0, 1000, 2)])
    for key, value, count in (("part", "1", 167), ("one", "7", 1), ("one", "8", 0)):
        only = MetadataFilters(filters=[MetadataFilter(key=key, value=value)])
        assert len(ids(store, [0, 1], 999, filters=only)) == len(store.get_nodes(filters=only)) == count


def test_what_does_not_fit_is_refused_whole() -> None:
    store = CodeFaissVectorStore(dimension=2)
    with pytest.raises(EmbeddingMismatch, match=r"width 3 .* width 2"):
        store.add([node("a", [1, 0]), node("b", [1, 0, 0])])
    for bad in ([0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]):
        with pytest.raises(EmbeddingReplyInvalid):
            store.add([node("a", [1, 0]), node("b", bad)])
    assert store.count == 0
    with pytest.raises(EmbeddingMismatch):
        ids(store, [1.0])
    with pytest.raises(InvalidArgument):
        store.query(VectorStoreQuery(similarity_top_k=1))
    with pytest.raises(InvalidArgument):
        CodeFaissVectorStore(dimension=0)
    with pytest.raises(InvalidArgument):
        store.delete_nodes()


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "delete", "delete_nodes", "query"]), st.integers(0, 12), st.integers(0, 4)),
    max_size=60,
)


@given(OPERATIONS, st.integers(0, 2**31))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_random_operations_agree_with_brute_force(operations: list[tuple[str, int, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    store = CodeFaissVectorStore(dimension=WIDTH)
    reference: dict[str, tuple[str, np.ndarray[Any, Any]]] = {}
    for operation, number, document in operations:
        name = f"n{number}"
        if operation == "add":
            vector = random.normal(size=WIDTH).astype(np.float32)
            store.add([node(name, vector.tolist(), f"d{document}")])
            reference[name] = (f"d{document}", vector / np.linalg.norm(vector))
        elif operation == "delete":
            store.delete(f"d{document}")
            reference = {k: v for k, v in reference.items() if v[0] != f"d{document}"}
        elif operation == "delete_nodes":
            store.delete_nodes([name])
            reference.pop(name, None)
        else:
            query = random.normal(size=WIDTH).astype(np.float32)
            expected = sorted(((-float(v[1] @ query), k) for k, v in reference.items()))[: document + 1]
            assert ids(store, query.tolist(), document + 1) == [k for _, k in expected]
        assert store.count == len(reference) == store.client.ntotal


def test_a_persisted_store_answers_the_same(tmp_path: Path) -> None:
    store = CodeFaissVectorStore(dimension=2, model_id="m1")
    store.add([node("a", [1, 0], "x", language="go"), node("ü", [0, 1], "y", language="c")])
    store.delete_nodes(["a"])
    path = tmp_path / "größe 目录" / "store.bin"
    store.persist(str(path))
    loaded = CodeFaissVectorStore.from_persist_path(str(path), model_id="m1")
    assert ids(loaded, [0, 1]) == ["ü"]
    assert loaded.get_nodes()[0].metadata["language"] == "c"
    loaded.add([node("b", [1, 0], "z")])
    assert ids(loaded, [1, 0], 1) == ["b"]
    loaded.delete("y")
    assert loaded.count == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["store.bin"]


def test_another_model_or_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    store = CodeFaissVectorStore(dimension=2, model_id="m1")
    store.add([node("a", [1, 0])])
    path = tmp_path / "store.bin"
    store.persist(str(path))
    with pytest.raises(EmbeddingMismatch, match="'m1', not from 'm2'"):
        CodeFaissVectorStore.from_persist_path(str(path), model_id="m2")
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-300] + bytes(300)):
        path.write_bytes(damaged)
        with pytest.raises(IndexDamaged):
            CodeFaissVectorStore.from_persist_path(str(path))
    with pytest.raises(IndexDamaged):
        CodeFaissVectorStore.from_persist_dir(str(tmp_path / "nowhere"))


def test_an_ordinary_vector_index_on_top() -> None:
    store = CodeFaissVectorStore(dimension=8)
    index = VectorStoreIndex.from_documents(
        [Document(id_="one", text="first"), Document(id_="two", text="second")],
        storage_context=StorageContext.from_defaults(vector_store=store), embed_model=MockEmbedding(8),
    )  # fmt: skip
    index.delete_ref_doc("one")
    again = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(8))
    assert [hit.node.get_content() for hit in again.as_retriever().retrieve("x")] == ["second"]


def test_a_pipeline_that_upserts_and_deletes() -> None:
    store = CodeFaissVectorStore(dimension=8)
    pipeline = IngestionPipeline(
        transformations=[MockEmbedding(8)], vector_store=store, docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE, disable_cache=True,
    )  # fmt: skip
    first = [Document(id_="a", text="one", metadata={"p": "a"}), Document(id_="b", text="two", metadata={"p": "b"})]
    pipeline.run(documents=first)
    pipeline.run(documents=[Document(id_="a", text="changed", metadata={"p": "a"})])
    assert [found.get_content() for found in store.get_nodes()] == ["changed"]


def test_threads_and_coroutines_share_a_store() -> None:
    store = CodeFaissVectorStore(dimension=2)
    errors: list[Exception] = []

    def work(worker: int) -> None:
        try:
            for i in range(30):
                store.add([node(f"{worker}-{i}", [1, i + 1], f"doc{worker}")])
                assert ids(store, [1, 1], 3)
            store.delete(f"doc{worker}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.count == 0

    async def together() -> None:
        await asyncio.gather(*(store.async_add([node(str(i), [1, i])]) for i in range(20)))
        found = await asyncio.gather(
            *(store.aquery(VectorStoreQuery(query_embedding=[1, 0], similarity_top_k=1)) for _ in range(20))
        )
        assert {tuple(result.ids or ()) for result in found} == {("0",)}
        await store.adelete("doc")
        assert await store.aget_nodes() == []

    asyncio.run(together())


def test_serialised_it_keeps_its_settings() -> None:
    store = CodeFaissVectorStore(dimension=3, model_id="m")
    assert CodeFaissVectorStore.from_dict(store.to_dict()).dimension == 3
