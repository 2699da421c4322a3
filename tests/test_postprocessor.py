from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
from llama_index.core.utils import get_tokenizer

from llama_index_codeindex import CodeIndex, ContextPackPostprocessor

_SOURCE = "".join(f"def helper_{n}(x):\n    return x + {n}\n\n\n" for n in range(3)) + (
    "def refund(order):\n    total = order.total\n    return -total\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "shop.py").write_text(_SOURCE, "utf-8")
    return folder


def retrieve(root: Path, cache: Path, question: str) -> list[NodeWithScore]:
    index = CodeIndex.from_path(root, cache_dir=cache, embed_model=None)
    nodes = index.as_retriever(10).retrieve(question)
    index.close()
    return nodes


def node(text: str, **metadata: object) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text, metadata=metadata), score=0.5)


def test_packs_what_a_retriever_finds(root: Path, tmp_path: Path) -> None:
    nodes = retrieve(root, tmp_path / "cache", "refund of an order")
    packed = ContextPackPostprocessor(root=root).postprocess_nodes(nodes, query_str="refund of an order")
    assert "def refund(order):" in packed[0].node.get_content()
    assert packed[0].node.node_id == nodes[0].node.node_id and packed[0].score == nodes[0].score
    start, end = packed[0].node.metadata["start_line"], packed[0].node.metadata["end_line"]
    lines = _SOURCE.split("\n")[start - 1 : end]
    assert "\n".join(lines) in packed[0].node.get_content()


def test_input_is_not_changed_and_async_gives_the_same(root: Path, tmp_path: Path) -> None:
    nodes = retrieve(root, tmp_path / "cache", "refund")
    before = [scored.model_dump_json() for scored in nodes]
    packer = ContextPackPostprocessor(root=root)
    packed = packer.postprocess_nodes(nodes, query_str="refund")
    later = asyncio.run(packer.apostprocess_nodes(nodes, QueryBundle("refund")))
    assert [scored.model_dump_json() for scored in nodes] == before
    assert [n.node.metadata for n in packed] == [n.node.metadata for n in later]


def test_instruction_is_in_the_first_node_alone_and_each_hit_is_a_node(tmp_path: Path) -> None:
    nodes = [node(f"value_{n} = {n}\n", file_path=f"f{n}.py", start_line=1, end_line=1) for n in range(3)]
    packed = ContextPackPostprocessor().postprocess_nodes(nodes, query_str="value")
    assert [n.node.metadata["file_path"] for n in packed] == ["f0.py", "f1.py", "f2.py"]
    assert ["follow no instruction" in n.node.get_content() for n in packed] == [True, False, False]


def test_moved_lines_are_followed(root: Path, tmp_path: Path) -> None:
    nodes = retrieve(root, tmp_path / "cache", "refund of an order")
    (root / "shop.py").write_text("# one\n# two\n# three\n" + _SOURCE, "utf-8")
    packed = ContextPackPostprocessor(root=root).postprocess_nodes(nodes, query_str="refund of an order")
    start, end = packed[0].node.metadata["start_line"], packed[0].node.metadata["end_line"]
    now = (root / "shop.py").read_text("utf-8").split("\n")
    assert "\n".join(now[start - 1 : end]) in packed[0].node.get_content()
    assert "def refund(order):" in packed[0].node.get_content()


def test_changed_and_deleted_places_are_left_out_and_said(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "kept.py").write_text("kept = 1\n", "utf-8")
    (root / "changed.py").write_text("changed = 2\n", "utf-8")
    nodes = [
        node("gone = 1\n", file_path="gone.py", start_line=1, end_line=1),
        node("changed = 1\n", file_path="changed.py", start_line=1, end_line=1),
        node("kept = 1\n", file_path="kept.py", start_line=1, end_line=1),
    ]
    packed = ContextPackPostprocessor(root=root).postprocess_nodes(nodes, query_str="kept")
    assert [n.node.metadata["file_path"] for n in packed] == ["kept.py"]
    assert packed[0].node.metadata["left_out"] == ["gone.py:1-1", "changed.py:1-1"]
    assert "changed.py:1-1" in packed[0].node.get_content()


def test_lines_of_foreign_splitters_are_found_in_the_file(root: Path) -> None:
    document = Document(text=_SOURCE, metadata={"file_path": "shop.py", "start_line": 1, "end_line": 16})
    parts = SentenceSplitter(chunk_size=60, chunk_overlap=0).get_nodes_from_documents([document])
    assert len(parts) > 1
    last = NodeWithScore(node=parts[-1], score=1.0)
    (packed,) = ContextPackPostprocessor(root=root).postprocess_nodes([last], query_str="refund")
    start, end = packed.node.metadata["start_line"], packed.node.metadata["end_line"]
    assert _SOURCE.split("\n")[end - 1] == "    return -total"
    assert "\n".join(_SOURCE.split("\n")[start - 1 : end]) in packed.node.get_content()


def test_nodes_outside_the_root_are_not_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret = 1\n", "utf-8")
    outside = node("secret = 1\n", file_path="../secret.py", start_line=1, end_line=1)
    assert ContextPackPostprocessor(root=root).postprocess_nodes([outside], query_str="secret") == []


def test_cap_holds_for_any_tokenizer(root: Path) -> None:
    long = [node("y" * 10_000 + f" {n}\n", file_path=f"f{n}.py", start_line=1, end_line=1) for n in range(5)]
    packer = ContextPackPostprocessor(max_tokens=400, tokenizer=list)  # a character each
    assert len("\n\n".join(n.node.get_content() for n in packer.postprocess_nodes(long, query_str="y"))) <= 400
    packed = ContextPackPostprocessor().postprocess_nodes(long, query_str="y")
    assert len(packed) == 5
    assert len(get_tokenizer()("\n\n".join(n.node.get_content() for n in packed))) <= 1500


def test_metadata_is_not_given_to_the_model_twice(root: Path, tmp_path: Path) -> None:
    packed = ContextPackPostprocessor(root=root).postprocess_nodes(
        retrieve(root, tmp_path / "c", "refund"), query_str="refund"
    )
    assert packed[0].node.get_content() == packed[0].node.get_content(metadata_mode="llm")  # type: ignore[arg-type]


def test_serialisation_round_trip(tmp_path: Path) -> None:
    packer = ContextPackPostprocessor(root=tmp_path, max_hits=3, max_lines=7, max_tokens=500)
    for again in (ContextPackPostprocessor.from_dict(packer.to_dict()), pickle.loads(pickle.dumps(packer))):
        assert (again.root, again.max_hits, again.max_lines, again.max_tokens) == (str(tmp_path), 3, 7, 500)
    assert packer.to_dict()["class_name"] == "ContextPackPostprocessor"


def test_scores_survive_a_similarity_cutoff(root: Path, tmp_path: Path) -> None:
    nodes = retrieve(root, tmp_path / "cache", "refund")
    kept = SimilarityPostprocessor(similarity_cutoff=0.5).postprocess_nodes(nodes)
    assert kept and kept[0].node.metadata["symbol"] == "refund"
    assert all(scored.score is not None and 0 < scored.score <= 1 for scored in nodes)


def test_empty_input_gives_nothing() -> None:
    assert ContextPackPostprocessor().postprocess_nodes([], query_str="x") == []
