"""Small code bases in memory, asked through the public retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.schema import Document, NodeWithScore

from llama_index_codeindex import HybridCodeRetriever, SymbolNodeParser


def retriever(files: Mapping[str, str], top_k: int = 5, **kwargs: Any) -> HybridCodeRetriever:
    """Return a retriever over files, cut by our own parser."""
    documents = [Document(id_=path, text=text, metadata={"file_path": path}) for path, text in files.items()]
    nodes = SymbolNodeParser().get_nodes_from_documents(documents)
    return HybridCodeRetriever.from_nodes(nodes, similarity_top_k=top_k, **kwargs)


def places(nodes: list[NodeWithScore]) -> list[str]:
    """Return the paths of nodes, in order."""
    return [str(node.node.metadata["file_path"]) for node in nodes]


def ask(files: Mapping[str, str], query: str, top_k: int = 5, **kwargs: Any) -> list[str]:
    """Return the paths that answer a query, best first."""
    return places(retriever(files, top_k, **kwargs).retrieve(query))
