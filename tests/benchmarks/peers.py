"""What the peers take for the same files and questions. Run by an interpreter that has them; nothing of ours is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.benchmarks.meters import Figures, peak_mb, resident_mb, serve, timed, waits

PEERS = {"splitter": "CodeSplitter + BM25Retriever", "semble": "semble"}
_TOP_K = 10
_WIDTH = 256

Made = tuple[int, Callable[[str], object]]  # how many chunks, and how they are asked


def _measure(load: Callable[[], Callable[[], Made]], questions: dict[str, list[str]]) -> Figures:
    try:
        make = load()
    except ImportError as error:
        return {"missing": error.name or str(error)}
    before, spent, made = resident_mb(), [], []  # type: ignore[var-annotated]
    timed(lambda: made.append(make()), spent)
    chunks, ask = made[0]
    built = peak_mb()
    asked = {kind: waits(ask, some) for kind, some in questions.items()}
    return {"build": spent[0], "chunks": chunks, "imports_mb": before, "peak_mb": built, "queries": asked}


def splitter(tree: str, questions: dict[str, list[str]]) -> Figures:
    """LlamaIndex's own: `CodeSplitter` cuts, `BM25Retriever` ranks."""

    def load() -> Callable[[], Made]:
        core = import_module("llama_index.core.node_parser")
        document = import_module("llama_index.core.schema").Document
        bm25 = import_module("llama_index.retrievers.bm25").BM25Retriever

        def make() -> Made:
            cut, nodes = core.CodeSplitter(language="python"), []
            for path in sorted(Path(tree).rglob("*.py")):
                text = path.read_text("utf-8", "replace")
                try:
                    nodes += cut.get_nodes_from_documents([document(text=text, id_=str(path))])
                except ValueError:
                    continue  # it refuses what its grammar does not take
            retriever = bm25.from_defaults(nodes=nodes, similarity_top_k=_TOP_K)
            return len(nodes), retriever.retrieve

        return make

    return _measure(load, questions)


class _RandomModel:
    """Vectors that cost nothing, so that only the peer's own work counts."""

    dim = _WIDTH

    def encode(self, texts: Sequence[str], **_: object) -> Any:
        numpy = import_module("numpy")
        return numpy.random.default_rng(0).standard_normal((len(texts), _WIDTH)).astype("float32")


def semble(tree: str, questions: dict[str, list[str]]) -> Figures:
    """Semble, with a model that answers at once."""

    def load() -> Callable[[], Made]:
        create, search = import_module("semble.index.create"), import_module("semble.search").search
        content = (import_module("semble.types").ContentType.CODE,)
        model = _RandomModel()

        def make() -> Made:
            words, vectors, chunks = create.create_index_from_path(Path(tree), model, content=content)[:3]
            return len(chunks), lambda question: search(question, model, vectors, words, chunks, _TOP_K)

        return make

    return _measure(load, questions)


if __name__ == "__main__":
    serve({"splitter": splitter, "semble": semble})
