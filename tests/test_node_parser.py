"""The node parsers, as LlamaIndex uses them: ids, offsets, links, events, round trips, pipelines."""

from __future__ import annotations

import asyncio
import pickle
import re
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import NodeParser, SentenceSplitter
from llama_index.core.schema import BaseNode, Document, MetadataMode, NodeRelationship, TextNode, TransformComponent

from llama_index_codeindex import OversizedNodeSplitter, SymbolNodeParser
from tests.syntax.test_samples import SAMPLES, read

CODE = "import os\n\n\nclass Box(Base):\n    LIMIT = 1\n\n" + "".join(
    f"    def m{i}(self):\n" + f"        value = {i}\n" * 60 + "\n" for i in range(3)
)


def document(text: str = CODE, path: str = "src/box.py", **metadata: Any) -> Document:
    return Document(text=text, id_=path, metadata={"file_path": path, **metadata})


def parse(*documents: Document, **options: Any) -> list[TextNode]:
    return texts(SymbolNodeParser(**options).get_nodes_from_documents(list(documents)))


def texts(nodes: list[BaseNode]) -> list[TextNode]:
    assert all(isinstance(node, TextNode) for node in nodes)
    return [node for node in nodes if isinstance(node, TextNode)]


def numbered(number: int, node: BaseNode) -> str:
    return f"{node.node_id}!{number}"


def words(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)


def test_every_node_has_its_place_in_the_metadata() -> None:
    nodes = parse(document(commit="abc"))
    lines = CODE.split("\n")
    for node in nodes:
        assert {
            "file_path",
            "start_line",
            "end_line",
            "language",
            "symbol",
            "symbol_kind",
            "scope",
            "content_hash",
        } <= set(node.metadata)
        shown = lines[node.metadata["start_line"] - 1 : node.metadata["end_line"]]
        assert node.text == "\n".join(shown) + "\n"
        assert (node.metadata["file_path"], node.metadata["language"], node.metadata["commit"]) == (
            "src/box.py",
            "python",
            "abc",
        )
    assert [(n.metadata["symbol"], n.metadata["symbol_kind"], n.metadata["scope"]) for n in nodes[-2:]] == [
        ("Box.m1", "method", "Box"),
        ("Box.m2", "method", "Box"),
    ]
    assert len({node.metadata["content_hash"] for node in nodes}) == len(nodes)


def test_offsets_are_exact_even_where_text_repeats() -> None:
    for sample in SAMPLES:
        name, source, _ = read(sample)
        text = source * 2
        for node in parse(document(text, name), max_chars=160):
            assert text[node.start_char_idx : node.end_char_idx] == node.text


def test_ids_follow_from_the_content_and_never_collide() -> None:
    repeated = document("def f(): pass\n" * 200, "a.py")
    nodes = parse(document(), repeated, document(CODE, "other.py"), max_chars=100)
    assert len({node.node_id for node in nodes}) == len(nodes)
    again = parse(document(), repeated, document(CODE, "other.py"), max_chars=100)
    assert [node.node_id for node in again] == [node.node_id for node in nodes]
    shifted = parse(document("# new\n" * 3 + "\n\n" + CODE))
    assert {n.node_id for n in parse(document())[1:]} <= {n.node_id for n in shifted}


def test_two_parts_of_one_file_do_not_share_ids() -> None:
    first = Document(text="x = 1\n", id_="1", metadata={"file_path": "a.py"})
    second = Document(text="x = 1\n", id_="2", metadata={"file_path": "a.py", "start_line": 40})
    nodes = parse(first, second)
    assert len({node.node_id for node in nodes}) == 2
    assert [node.metadata["start_line"] for node in nodes] == [1, 40]


def test_the_embedder_is_given_the_header_and_no_place() -> None:
    node = parse(document(commit="abc"))[-1]
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        shown = node.get_content(metadata_mode=mode)
        assert shown == f"class Box(Base):\n{node.text}".strip()
        assert "box.py" not in shown
    assert "context" not in parse(document("x = 1\n"))[0].metadata


def test_excluded_keys_of_the_document_stay_excluded() -> None:
    given = document(secret="s")
    given.excluded_embed_metadata_keys = ["secret"]
    assert "secret" in parse(given)[0].excluded_embed_metadata_keys


def test_neighbours_are_linked_when_asked_for() -> None:
    bare = parse(document())
    assert all(set(node.relationships) == {NodeRelationship.SOURCE} for node in bare)
    nodes = parse(document(), document(CODE, "other.py"), include_prev_next_rel=True)
    half = len(nodes) // 2
    for before, after in [*pairwise(nodes[:half]), *pairwise(nodes[half:])]:
        assert before.next_node is not None and before.next_node.node_id == after.node_id
        assert after.prev_node is not None and after.prev_node.node_id == before.node_id
    assert nodes[half - 1].next_node is None
    assert {node.ref_doc_id for node in nodes} == {"src/box.py", "other.py"}


def test_metadata_of_the_document_can_be_left_out() -> None:
    assert "commit" in parse(document(commit="abc"))[0].metadata
    assert "commit" not in parse(document(commit="abc"), include_metadata=False)[0].metadata
    split = OversizedNodeSplitter(max_chars=50, include_metadata=False).get_nodes_from_documents(
        [document(commit="abc")]
    )
    assert "commit" not in split[0].metadata


@pytest.mark.parametrize("parser", [SymbolNodeParser, OversizedNodeSplitter])
def test_events_ids_and_limits_come_from_the_caller(parser: type[NodeParser]) -> None:
    handler = LlamaDebugHandler(print_trace_on_end=False)
    made = parser.from_defaults(max_chars=200, callback_manager=CallbackManager([handler]), id_func=numbered)  # type: ignore[attr-defined]
    nodes = made.get_nodes_from_documents([document()])
    assert max(len(node.get_content(MetadataMode.NONE)) for node in nodes) <= 200
    assert [node.node_id for node in nodes] == [f"src/box.py!{number}" for number in range(len(nodes))]
    assert len(handler.get_event_pairs(CBEventType.NODE_PARSING)) == 1


@pytest.mark.parametrize(
    "parser", [SymbolNodeParser(max_chars=300), OversizedNodeSplitter(max_chars=300, max_lines=9, max_tokens=60)]
)
def test_round_trips_change_nothing(parser: SymbolNodeParser | OversizedNodeSplitter) -> None:
    expected = parser.get_nodes_from_documents([document()])
    copies = [
        type(parser).from_dict(parser.to_dict()),
        type(parser).from_json(parser.to_json()),
        pickle.loads(pickle.dumps(parser)),
        parser.model_copy(deep=True),
    ]
    for copy in copies:
        assert copy.get_nodes_from_documents([document()]) == expected
    assert parser.to_dict()["class_name"] == parser.class_name() == type(parser).__name__
    assert len(expected) > 3


def test_the_language_may_come_from_the_metadata_or_the_path() -> None:
    assert parse(document("def f(): pass\n", "no-suffix", language="python"))[0].metadata["symbol"] == "f"
    assert parse(document("def f(): pass\n", "no-suffix"))[0].metadata["language"] == "text"
    assert parse(document("def f(): pass\n", "a.py", language="unheard-of"))[0].metadata["language"] == "python"
    bare = Document(text="def f(): pass\n", id_="lib/x.py")
    assert parse(bare)[0].metadata["file_path"] == "lib/x.py"


def test_empty_documents_give_no_nodes_and_bad_ones_stop_nobody() -> None:
    nodes = parse(
        document("", "a.py"), document(" \n", "b.py"), document("class (((\n", "c.py"), document("x = 1\n", "d.py")
    )
    assert [node.metadata["file_path"] for node in nodes] == ["c.py", "d.py"]


def test_async_gives_the_same() -> None:
    parser, splitter = SymbolNodeParser(), OversizedNodeSplitter(max_chars=200)
    assert asyncio.run(parser.aget_nodes_from_documents([document()])) == parser.get_nodes_from_documents([document()])
    nodes = parser.get_nodes_from_documents([document()])
    assert asyncio.run(splitter.acall(nodes)) == splitter(nodes)


def test_progress_is_shown_on_stderr_alone(capsys: pytest.CaptureFixture[str]) -> None:
    SymbolNodeParser().get_nodes_from_documents([document()], show_progress=True)
    shown = capsys.readouterr()
    assert "Parsing code" in shown.err
    assert shown.out == ""


def test_a_pipeline_of_both_keeps_every_line() -> None:
    long_line = "X = '" + "y" * 3000 + "'\n"
    transformations: list[TransformComponent] = [SymbolNodeParser(max_chars=4000), OversizedNodeSplitter(max_chars=500)]
    nodes = texts(list(IngestionPipeline(transformations=transformations).run(documents=[document(CODE + long_line)])))
    assert "".join(node.text for node in nodes).replace("\n", "") == (CODE + long_line).replace("\n", "")
    assert max(len(node.text) for node in nodes) <= 500
    assert {node.ref_doc_id for node in nodes} == {"src/box.py"}
    lines = (CODE + long_line).split("\n")
    for node in nodes:
        shown = "\n".join(lines[node.metadata["start_line"] - 1 : node.metadata["end_line"]])
        assert node.text.rstrip("\n") in shown
        assert (CODE + long_line)[node.start_char_idx : node.end_char_idx] == node.text


def test_worker_processes_give_the_same() -> None:
    transformations: list[TransformComponent] = [SymbolNodeParser(), OversizedNodeSplitter(max_chars=600)]
    documents = [document("def f(): pass\n", "a.py"), document(CODE, "b.py")]
    alone = IngestionPipeline(transformations=transformations, disable_cache=True).run(documents=documents)
    shared = IngestionPipeline(transformations=transformations, disable_cache=True).run(
        documents=documents, num_workers=2
    )
    assert [(n.node_id, n.hash) for n in shared] == [(n.node_id, n.hash) for n in alone]


def test_what_fits_is_passed_through() -> None:
    nodes = parse(document())
    passed = OversizedNodeSplitter(max_chars=10_000).get_nodes_from_documents(nodes)  # type: ignore[arg-type]
    assert passed == nodes
    assert all(kept is not given for kept, given in zip(passed, nodes, strict=True))


def test_pieces_say_which_they_are_and_join_to_the_original() -> None:
    [node] = parse(document("def f():\n" + "    x = 1\n" * 100), max_chars=5000)
    split = texts(OversizedNodeSplitter(max_chars=300).get_nodes_from_documents([node]))  # type: ignore[list-item]
    assert "".join(piece.text for piece in split) == node.text
    assert [piece.metadata["part"] for piece in split] == [f"{n}/{len(split)}" for n in range(1, len(split) + 1)]
    assert [piece.node_id for piece in split] == [f"{node.node_id}/{n}" for n in range(1, len(split) + 1)]
    ends = [piece.metadata["end_line"] for piece in split]
    assert [piece.metadata["start_line"] for piece in split] == [1, *(end + 1 for end in ends[:-1])]
    assert ends[-1] == 101
    assert {piece.metadata["symbol"] for piece in split} == {"f"}
    assert len({piece.metadata["content_hash"] for piece in split}) == len({piece.text for piece in split})


def test_each_limit_of_the_splitter_holds() -> None:
    def sizes(**limits: Any) -> list[str]:
        split = OversizedNodeSplitter(**limits).get_nodes_from_documents([document()])
        assert "".join(node.get_content(MetadataMode.NONE) for node in split) == CODE
        return [node.get_content(MetadataMode.NONE) for node in split]

    assert max(map(len, sizes(max_chars=100))) <= 100
    assert max(text.count("\n") for text in sizes(max_chars=10_000, max_lines=7)) <= 7
    assert max(len(words(text)) for text in sizes(max_chars=10_000, max_tokens=50, tokenizer=words)) <= 50
    assert len(sizes(max_chars=10_000, max_tokens=50)) > 1  # LlamaIndex's own tokenizer


def test_the_splitter_follows_any_parser() -> None:
    prose = " ".join(f"Sentence number {n} is here." for n in range(200))
    sentences = SentenceSplitter(chunk_size=500, chunk_overlap=0).get_nodes_from_documents([document(prose, "a.txt")])
    split = texts(OversizedNodeSplitter(max_chars=150).get_nodes_from_documents(sentences))  # type: ignore[arg-type]
    assert max(len(node.text) for node in split) <= 150
    assert "".join(n.text for n in split) == "".join(n.get_content(MetadataMode.NONE) for n in sentences)
    assert all("start_line" not in node.metadata for node in split)
    assert all(prose[node.start_char_idx : node.end_char_idx] == node.text for node in split)
    assert {node.ref_doc_id for node in split} == {"a.txt"}


def test_whole_documents_can_be_split() -> None:
    split = texts(OversizedNodeSplitter(max_chars=400).get_nodes_from_documents([document()]))
    assert "".join(node.text for node in split) == CODE
    assert split[0].metadata["start_line"] == 1
    assert split[-1].metadata["end_line"] == CODE.count("\n")
    [small] = texts(OversizedNodeSplitter().get_nodes_from_documents([document("x = 1\n")]))
    assert (small.text, small.ref_doc_id, small.metadata["part"]) == ("x = 1\n", "src/box.py", "1/1")
