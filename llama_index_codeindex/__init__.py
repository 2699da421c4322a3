"""Ground LlamaIndex applications in a real code base.

The public names load on first use: importing this package alone loads neither LlamaIndex nor FAISS.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_codeindex.embeddings import LocalEmbedding as LocalEmbedding
    from llama_index_codeindex.engine.errors import CodeIndexError as CodeIndexError
    from llama_index_codeindex.indices import CodeIndex as CodeIndex
    from llama_index_codeindex.node_parser import OversizedNodeSplitter as OversizedNodeSplitter
    from llama_index_codeindex.node_parser import SymbolNodeParser as SymbolNodeParser
    from llama_index_codeindex.postprocessor import ContextPackPostprocessor as ContextPackPostprocessor
    from llama_index_codeindex.readers import CodeReader as CodeReader
    from llama_index_codeindex.retrievers import HybridCodeRetriever as HybridCodeRetriever
    from llama_index_codeindex.server_embedding import CodeEmbedding as CodeEmbedding
    from llama_index_codeindex.vector_stores import CodeFaissVectorStore as CodeFaissVectorStore

_HOMES = {
    "CodeEmbedding": "server_embedding",
    "CodeFaissVectorStore": "vector_stores",
    "CodeIndex": "indices",
    "CodeIndexError": "engine.errors",
    "CodeReader": "readers",
    "ContextPackPostprocessor": "postprocessor",
    "HybridCodeRetriever": "retrievers",
    "LocalEmbedding": "embeddings",
    "OversizedNodeSplitter": "node_parser",
    "SymbolNodeParser": "node_parser",
}

__version__ = "0.1.0"

__all__ = [
    "CodeEmbedding",
    "CodeFaissVectorStore",
    "CodeIndex",
    "CodeIndexError",
    "CodeReader",
    "ContextPackPostprocessor",
    "HybridCodeRetriever",
    "LocalEmbedding",
    "OversizedNodeSplitter",
    "SymbolNodeParser",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
