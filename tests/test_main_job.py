"""The main job through the public API: from a folder to the right lines."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
from llama_index.core.llms.mock import MockLLM

from llama_index_codeindex import CodeIndex, HybridCodeRetriever
from llama_index_codeindex.engine.errors import EmptyQuery, FileNotIndexed, InvalidArgument, PathOutsideRoot
from tests.conftest import MakeTree

REPOSITORY = Path(__file__).parents[1]
FILES = {
    "src/flags.py": (
        "class Command:\n    def __init__(self, parent=None):\n        self.parent = parent\n        self.flags = {}\n\n"
        "    def inherited_flags(self):\n        '''Collect the persistent flags of every parent.'''\n"
        "        found = {}\n        node = self.parent\n        while node is not None:\n"
        "            found.update(node.flags)\n            node = node.parent\n        return found\n"
    ),
    "src/help.py": "def usage(command):\n    return 'Usage: ' + command\n",
    "docs/guide.md": "# Flags\n\nPersistent flags are inherited by child commands.\n",
}


@pytest.fixture
def index(tree: MakeTree, tmp_path: Path) -> CodeIndex:
    return CodeIndex.from_path(tree(FILES), cache_dir=tmp_path / "cache", embed_model=None)


def test_the_right_lines_for_a_question(index: CodeIndex) -> None:
    nodes = index.as_retriever(similarity_top_k=3).retrieve("how are persistent flags inherited")
    first = nodes[0].node.metadata
    assert first["file_path"] == "src/flags.py"
    assert first["start_line"] <= 6 and first["end_line"] >= 13
    assert {
        "language",
        "symbol",
        "symbol_kind",
        "scope",
        "content_hash",
        "lanes",
        "generation",
        "commit",
        "stale",
    } <= set(first)
    assert first["degraded_reasons"] == ["no_embedding_model"]


def test_async_answers_alike_and_leaves_the_loop_free(index: CodeIndex) -> None:
    retriever = index.as_retriever()

    async def both() -> tuple[list[str], list[str]]:
        inside = retriever.retrieve("inherited_flags")  # a sync call inside a running loop works, too
        found = await asyncio.gather(*(retriever.aretrieve("inherited_flags") for _ in range(8)))
        assert len({tuple(n.node.node_id for n in nodes) for nodes in found}) == 1
        return [n.node.node_id for n in inside], [n.node.node_id for n in found[0]]

    sync, concurrent = asyncio.run(both())
    assert sync == concurrent


def test_modes(index: CodeIndex) -> None:
    assert index.search("inherited_flags", mode="symbol").hits[0].symbol == "Command.inherited_flags"
    assert index.search("help.py", mode="path").hits[0].file_path == "src/help.py"
    assert index.search("src/help", mode="path").hits[0].file_path == "src/help.py"
    meaning = index.search("anything", mode="meaning")
    assert (meaning.hits, meaning.empty_reason) == ([], "no_vectors")
    with pytest.raises(InvalidArgument, match="guess"):
        index.search("x", mode="guess")  # type: ignore[arg-type]
    with pytest.raises(EmptyQuery):
        index.search(" ")
    with pytest.raises(InvalidArgument):
        index.as_retriever(similarity_top_k=0)


def test_neighbours_of_a_piece_of_code(index: CodeIndex) -> None:
    related = index.related("src/flags.py", 8)
    assert {hit.file_path for hit in related.hits} == {"src/help.py", "docs/guide.md"}
    with pytest.raises(FileNotIndexed):
        index.related("src/nothing.py", 1)
    with pytest.raises(PathOutsideRoot):
        index.related("../secret.py", 1)
    with pytest.raises(InvalidArgument):
        index.related("src/flags.py", 500)


def test_several_repositories_are_ranked_together(index: CodeIndex, tmp_path: Path) -> None:
    other_root = tmp_path / "other"
    other_root.mkdir()
    (other_root / "net.py").write_text("def open_socket():\n    '''Open a network socket.'''\n")
    other = CodeIndex.from_path(other_root, cache_dir=tmp_path / "cache", embed_model=None)
    both = HybridCodeRetriever.from_indexes([index, other], similarity_top_k=4)
    assert both.retrieve("open a network socket")[0].node.metadata["source"] == "other"
    assert both.retrieve("inherited_flags")[0].node.metadata["source"] == "tree"
    (other_root / "net.py").unlink()
    other_root.rmdir()
    result = both.search("open a network socket")
    assert all(hit.source == "tree" for hit in result.hits)
    assert "index_gone" in result.degraded_reasons
    with pytest.raises(InvalidArgument):
        HybridCodeRetriever.from_indexes([])


def test_a_query_engine_gives_the_model_a_pack(index: CodeIndex) -> None:
    response = index.as_query_engine(llm=MockLLM()).query("how are persistent flags inherited")
    assert re.search(r"\[\[[0-9a-f]{16} begin src/flags\.py:\d+-\d+", str(response))
    assert "found.update(node.flags)" in str(response)


def test_the_pipeline_example_answers() -> None:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples/pipeline.py"), str(REPOSITORY), "how is a path kept inside the root"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "llama_index_codeindex/engine/files/jail.py:" in done.stdout
