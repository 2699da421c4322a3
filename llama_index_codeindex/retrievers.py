"""Hybrid retrieval: exact names and paths, full text and meaning, fused and ranked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index_instrumentation import get_dispatcher

from llama_index_codeindex.embeddings import adapt
from llama_index_codeindex.engine.collection import Collection, Piece
from llama_index_codeindex.engine.model import Chunk, Hit, Mode, SearchResult
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.searcher import check_arguments
from llama_index_codeindex.node_parser import LOCATION_KEYS

dispatcher = get_dispatcher(__name__)

# What an answer says of itself; like the location, it is not given to embedder and LLM.
_ANSWER_KEYS = ["lanes", "generation", "commit", "stale", "degraded", "degraded_reasons"]

FilterValues = Filters | dict[str, Any] | None


class _Searchable(Protocol):
    """What a retriever needs: an index on disk, or nodes in memory."""

    def find(self, query: str, top_k: int, mode: Mode, filters: Filters) -> tuple[SearchResult, list[TextNode]]:
        """Return the result and a fresh node for each hit."""
        ...


class HybridCodeRetriever(BaseRetriever):
    """Retrieve code by name, path, words and meaning.

    Nodes come with `lanes` (the rank in each lane that found them), `generation`, `commit`, `stale`, `degraded` and
    `degraded_reasons` in their metadata. Scores are between 0 and 1: the best hit's is the share of the question that it
    answers, the others' are relative to it.

    Args:
        index: A `CodeIndex`; for nodes of your own, use `from_nodes`.
        similarity_top_k: How many nodes at most, from 1 to 200.
        mode: `all` lanes, or only `meaning`, `path` or `symbol`.
        filters: What may be retrieved: `under`, `language`, `category`, `symbol_kind`, `exclude`.
        callback_manager: LlamaIndex's callbacks.

    Raises:
        InvalidArgument: An argument is out of range.
    """

    def __init__(
        self,
        index: _Searchable,
        similarity_top_k: int = 5,
        mode: Mode = "all",
        filters: FilterValues = None,
        callback_manager: CallbackManager | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(similarity_top_k, mode)
        self._index = index
        self.similarity_top_k = similarity_top_k
        self.mode: Mode = mode
        self.filters = filters if isinstance(filters, Filters) else Filters.parse(filters)
        super().__init__(callback_manager=callback_manager, **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the component."""
        return "HybridCodeRetriever"

    @classmethod
    def from_nodes(
        cls,
        nodes: Sequence[BaseNode],
        embed_model: BaseEmbedding | None = None,
        similarity_top_k: int = 5,
        **kwargs: Any,
    ) -> HybridCodeRetriever:
        """Return a retriever over nodes in memory.

        Args:
            nodes: Nodes of any parser; those of `SymbolNodeParser` bring symbols and lines.
            embed_model: Embeds the nodes that have no embedding yet; without one only the lexical lanes answer.
            similarity_top_k: How many nodes at most.
            kwargs: Further arguments of the class.
        """
        return cls(_NodeCollection(nodes, embed_model), similarity_top_k=similarity_top_k, **kwargs)

    def search(self, query: str) -> SearchResult:
        """Return the hits together with `degraded`, its reasons and the watermark.

        Raises:
            QueryError: The query is empty.
        """
        return self._index.find(query, self.similarity_top_k, self.mode, self.filters)[0]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result, nodes = self._index.find(query_bundle.query_str, self.similarity_top_k, self.mode, self.filters)
        return [_with_facts(node, hit, result) for node, hit in zip(nodes, result.hits, strict=True)]

    @dispatcher.span
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _with_facts(node: TextNode, hit: Hit, result: SearchResult) -> NodeWithScore:
    node.metadata |= {
        "lanes": dict(hit.lanes),
        "generation": result.watermark.generation,
        "commit": result.watermark.commit,
        "stale": hit.stale,
        "degraded": result.degraded,
        "degraded_reasons": list(result.degraded_reasons),
    }
    for keys in (node.excluded_embed_metadata_keys, node.excluded_llm_metadata_keys):
        keys.extend(key for key in _ANSWER_KEYS if key not in keys)
    return NodeWithScore(node=node, score=hit.score)


def hit_node(hit: Hit) -> TextNode:
    """Return the node of a hit from an index on disk."""
    metadata: dict[str, Any] = {
        "file_path": hit.file_path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "language": hit.language,
        "category": hit.category,
        "symbol": hit.symbol,
        "symbol_kind": hit.symbol_kind,
        "scope": hit.scope,
        "content_hash": hit.content_hash,
    }
    if hit.context:
        metadata["context"] = hit.context
    return TextNode(
        id_=hit.chunk_id,
        text=hit.text,
        metadata=metadata,
        excluded_embed_metadata_keys=list(LOCATION_KEYS),
        excluded_llm_metadata_keys=list(LOCATION_KEYS),
        metadata_template="{value}",
        text_template="{metadata_str}\n{content}",
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.file_path)},
    )


class _NodeCollection:
    """Nodes in memory, as a retriever needs them."""

    def __init__(self, nodes: Sequence[BaseNode], embed_model: BaseEmbedding | None) -> None:
        self._nodes = [node if isinstance(node, TextNode) else _as_text_node(node) for node in nodes]
        pieces = [_piece(number, node) for number, node in enumerate(self._nodes)]
        self._collection = Collection(pieces, adapt(embed_model))

    def find(self, query: str, top_k: int, mode: Mode, filters: Filters) -> tuple[SearchResult, list[TextNode]]:
        result, positions = self._collection.search(query, top_k, mode, filters)
        return result, [self._nodes[position].model_copy(deep=True) for position in positions]


def _as_text_node(node: BaseNode) -> TextNode:
    return TextNode(
        id_=node.node_id, text=node.get_content(metadata_mode=MetadataMode.NONE), metadata=dict(node.metadata),
        excluded_embed_metadata_keys=list(node.excluded_embed_metadata_keys),
        excluded_llm_metadata_keys=list(node.excluded_llm_metadata_keys), relationships=dict(node.relationships),
        embedding=node.embedding,
    )  # fmt: skip


def _piece(number: int, node: TextNode) -> Piece:
    facts = node.metadata
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    start = facts.get("start_line")
    first = start if isinstance(start, int) else 1
    chunk = Chunk(
        number, first, first + max(text.rstrip("\n").count("\n"), 0), text, str(facts.get("symbol") or ""),
        str(facts.get("symbol_kind") or ""), str(facts.get("scope") or ""), str(facts.get("context") or ""),
    )  # fmt: skip
    path = str(facts.get("file_path") or node.ref_doc_id or node.node_id)
    vector = None if node.embedding is None else np.array(node.embedding, np.float32)
    return Piece(path, str(facts.get("language") or "text"), chunk, vector)
