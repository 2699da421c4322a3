"""Ground LlamaIndex applications in a real code base.

The public names load on first use: importing this package alone loads neither LlamaIndex nor FAISS.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_codeindex.chat_engine import CodeContextChatEngine as CodeContextChatEngine
    from llama_index_codeindex.chat_engine import safe_chat_engine as safe_chat_engine
    from llama_index_codeindex.embeddings import LocalEmbedding as LocalEmbedding
    from llama_index_codeindex.engine.errors import CodeIndexError as CodeIndexError
    from llama_index_codeindex.indices import CodeIndex as CodeIndex
    from llama_index_codeindex.memory import CodeContextMemoryBlock as CodeContextMemoryBlock
    from llama_index_codeindex.memory import code_memory as code_memory
    from llama_index_codeindex.node_parser import OversizedNodeSplitter as OversizedNodeSplitter
    from llama_index_codeindex.node_parser import SymbolNodeParser as SymbolNodeParser
    from llama_index_codeindex.postprocessor import ContextPackPostprocessor as ContextPackPostprocessor
    from llama_index_codeindex.query_engine import CodeQueryEngine as CodeQueryEngine
    from llama_index_codeindex.readers import CodeReader as CodeReader
    from llama_index_codeindex.retrievers import HybridCodeRetriever as HybridCodeRetriever
    from llama_index_codeindex.server_embedding import CodeEmbedding as CodeEmbedding
    from llama_index_codeindex.tools import CodeIndexToolSpec as CodeIndexToolSpec
    from llama_index_codeindex.vector_stores import CodeFaissVectorStore as CodeFaissVectorStore

_HOMES = {
    "CodeContextChatEngine": "chat_engine",
    "CodeContextMemoryBlock": "memory",
    "CodeEmbedding": "server_embedding",
    "CodeFaissVectorStore": "vector_stores",
    "CodeIndex": "indices",
    "CodeIndexError": "engine.errors",
    "CodeIndexToolSpec": "tools",
    "CodeQueryEngine": "query_engine",
    "CodeReader": "readers",
    "ContextPackPostprocessor": "postprocessor",
    "HybridCodeRetriever": "retrievers",
    "LocalEmbedding": "embeddings",
    "OversizedNodeSplitter": "node_parser",
    "SymbolNodeParser": "node_parser",
    "code_memory": "memory",
    "safe_chat_engine": "chat_engine",
}

__version__ = "0.1.0"

__all__ = [
    "CodeContextChatEngine",
    "CodeContextMemoryBlock",
    "CodeEmbedding",
    "CodeFaissVectorStore",
    "CodeIndex",
    "CodeIndexError",
    "CodeIndexToolSpec",
    "CodeQueryEngine",
    "CodeReader",
    "ContextPackPostprocessor",
    "HybridCodeRetriever",
    "LocalEmbedding",
    "OversizedNodeSplitter",
    "SymbolNodeParser",
    "code_memory",
    "safe_chat_engine",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
