"""An ordinary LlamaIndex pipeline, grounded in a code base: reader, parsers, retriever and context pack are drop-ins.

    python examples/pipeline.py ROOT "a question"

It runs offline with a mock language model, which repeats what a real one would be given. With a real one, replace the
two lines marked below.
"""

from __future__ import annotations

import sys

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llama_index_codeindex import (
    CodeReader,
    ContextPackPostprocessor,
    HybridCodeRetriever,
    OversizedNodeSplitter,
    SymbolNodeParser,
)


def build(root: str) -> RetrieverQueryEngine:
    """Return a query engine over a folder."""
    reader = CodeReader(root=root)
    pipeline = IngestionPipeline(transformations=[SymbolNodeParser(), OversizedNodeSplitter()])
    nodes = pipeline.run(documents=reader.load_data())
    print(f"{len(nodes)} nodes; not read: {len(reader.gaps)}", file=sys.stderr)
    llm = MockLLM()  # a real one: from llama_index.llms.openai_like import OpenAILike
    # llm = OpenAILike(model="qwen3", api_base="http://localhost:11434/v1", is_chat_model=True, context_window=32768)
    return RetrieverQueryEngine.from_args(
        HybridCodeRetriever.from_nodes(nodes, similarity_top_k=10),
        llm=llm,
        node_postprocessors=[ContextPackPostprocessor(root=root)],
    )


def main(root: str, question: str) -> str:
    """Answer a question about a folder, and return the answer."""
    response = build(root).query(question)
    for source in getattr(response, "source_nodes", ()):
        place = source.node.metadata
        print(f"{place['file_path']}:{place['start_line']}-{place['end_line']}  {place['symbol']}")
    return str(response)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit('usage: python examples/pipeline.py ROOT "a question"')
    main(sys.argv[1], sys.argv[2])
