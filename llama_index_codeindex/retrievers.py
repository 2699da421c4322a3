"""Hybrid retrieval: exact names and paths, full text and meaning, fused and ranked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
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
from llama_index.core.vector_stores import MetadataFilters
from llama_index_instrumentation import get_dispatcher

from llama_index_codeindex.embeddings import adapt
from llama_index_codeindex.engine.collection import Collection, Piece
from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.model import Chunk, Hit, Mode, SearchResult, Symbol, Watermark
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.searcher import MAX_PREVIEW, check_arguments
from llama_index_codeindex.engine.store.vectors import Vector, unit
from llama_index_codeindex.metadata_filters import condition_of
from llama_index_codeindex.node_parser import LOCATION_KEYS

dispatcher = get_dispatcher(__name__)

# What an answer says of itself; like the location, it is not given to embedder and LLM.
_ANSWER_KEYS = ["source", "lanes", "generation", "commit", "stale", "degraded", "degraded_reasons"]

FilterValues = Filters | MetadataFilters | dict[str, Any] | None


def parse_filters(given: FilterValues) -> Filters:
    """Return filters in any accepted form as the engine takes them.

    Raises:
        InvalidArgument: A key is unknown.
    """
    if isinstance(given, Filters):
        return given
    if isinstance(given, MetadataFilters):
        return Filters(condition=condition_of(given))
    return Filters.parse(given)


class _Searchable(Protocol):
    """What a retriever needs: an index on disk, or nodes in memory."""

    def find(
        self, query: str, top_k: int, mode: Mode, filters: Filters, vector: Vector | None = None
    ) -> tuple[SearchResult, list[TextNode]]:
        """Return the result and a fresh node for each hit; `vector` is the question's, if it is known."""
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
        filters: What may be retrieved: a mapping of `under`, `language`, `category`, `symbol_kind` and `exclude`, or
            LlamaIndex's `MetadataFilters`. They hold in every lane, before any ranks.
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
        self.filters = parse_filters(filters)
        super().__init__(callback_manager=callback_manager, **kwargs)

    @property
    def index(self) -> _Searchable:
        """What is searched: an index, several, or nodes in memory."""
        return self._index

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
        *,
        require_dense: bool = False,
        **kwargs: Any,
    ) -> HybridCodeRetriever:
        """Return a retriever over nodes in memory.

        Args:
            nodes: Nodes of any parser; those of `SymbolNodeParser` bring symbols and lines.
            embed_model: Embeds the nodes that have no embedding yet; without one only the lexical lanes answer.
            similarity_top_k: How many nodes at most.
            require_dense: Insist on answers by meaning: what keeps that lane from answering is raised.
            kwargs: Further arguments of the class.

        Raises:
            InvalidArgument: `require_dense` comes without a model.
            EmbeddingError: With `require_dense`: the model failed.
        """
        return cls(
            _NodeCollection(nodes, embed_model, require_dense=require_dense),
            similarity_top_k=similarity_top_k,
            **kwargs,
        )

    @classmethod
    def from_indexes(
        cls, indexes: Sequence[NamedIndex], similarity_top_k: int = 5, **kwargs: Any
    ) -> HybridCodeRetriever:
        """Return a retriever over several indexes; every hit names its `source`.

        An index that is cleared, or whose root is gone, leaves the answers of the next query, which says so.

        Args:
            indexes: The indexes.
            similarity_top_k: How many nodes at most, over all of them.
            kwargs: Further arguments of the class.

        Raises:
            InvalidArgument: There is no index.
        """
        if not indexes:
            raise InvalidArgument("There is no index to search.", suggestion="Pass at least one `CodeIndex`.")
        return cls(_Several(indexes), similarity_top_k=similarity_top_k, **kwargs)

    def search(self, query: str) -> SearchResult:
        """Return the hits together with `degraded`, its reasons and the watermark.

        Raises:
            QueryError: The query is empty.
        """
        return self._index.find(query, self.similarity_top_k, self.mode, self.filters)[0]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        given = query_bundle.embedding
        vector = None if given is None else unit(np.asarray(given, np.float32))
        result, nodes = self._index.find(query_bundle.query_str, self.similarity_top_k, self.mode, self.filters, vector)
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
    if hit.source:
        node.metadata["source"] = hit.source
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

    def __init__(self, nodes: Sequence[BaseNode], embed_model: BaseEmbedding | None, *, require_dense: bool) -> None:
        self._nodes = [node if isinstance(node, TextNode) else _as_text_node(node) for node in nodes]
        pieces = [_piece(number, node) for number, node in enumerate(self._nodes)]
        self._collection = Collection(pieces, adapt(embed_model), require_dense=require_dense)

    def find(
        self, query: str, top_k: int, mode: Mode, filters: Filters, vector: Vector | None = None
    ) -> tuple[SearchResult, list[TextNode]]:
        result, positions = self._collection.search(query, top_k, mode, filters, vector)
        return result, [self._nodes[position].model_copy(deep=True) for position in positions]


class NamedIndex(_Searchable, Protocol):
    """An index that says what it is called and whether it is still there."""

    @property
    def name(self) -> str:
        """What hits call it."""
        ...

    def is_there(self) -> bool:
        """Say whether it can be searched: its root exists and it is not cleared."""
        ...


class _Several:
    """Several indexes as one. Scores say how much of the question a hit answers, so they compare across indexes."""

    def __init__(self, indexes: Sequence[NamedIndex]) -> None:
        self._indexes = list(indexes)

    def find(
        self, query: str, top_k: int, mode: Mode, filters: Filters, vector: Vector | None = None
    ) -> tuple[SearchResult, list[TextNode]]:
        found: list[tuple[float, int, int, Hit, TextNode]] = []
        reasons: dict[str, None] = {}
        results: list[SearchResult] = []
        removed: list[tuple[float, int, Hit]] = []
        for number, index in enumerate(self._indexes):
            if not index.is_there():
                reasons.setdefault("index_gone")
                continue
            result, nodes = index.find(query, top_k, mode, filters, vector)
            results.append(result)
            reasons.update(dict.fromkeys(result.degraded_reasons))
            for place, (hit, node) in enumerate(zip(result.hits, nodes, strict=True)):
                found.append((-hit.score, place, number, replace(hit, source=index.name), node))
            removed.extend((-hit.score, number, replace(hit, source=index.name)) for hit in result.filtered_preview)
        found.sort(key=lambda item: item[:3])
        hits = [item[3] for item in found[:top_k]]
        mark = results[0].watermark if len(results) == 1 else Watermark()
        if hits:
            return SearchResult(hits, bool(reasons), list(reasons), mark), [item[4] for item in found[:top_k]]
        # Where filters were the reason, that is the one that a caller can do something about.
        empty = sorted((result.empty_reason for result in results), key=lambda reason: reason != "filtered_out")
        preview = tuple(item[2] for item in sorted(removed, key=lambda item: item[:2])[:MAX_PREVIEW])
        return SearchResult([], bool(reasons), list(reasons), mark, next(iter(empty), "empty_index"), preview), []


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
    return Piece(path, str(facts.get("language") or "text"), chunk, vector, _symbols(facts.get("symbols"), chunk))


def _symbols(told: object, chunk: Chunk) -> tuple[Symbol, ...]:
    """Return the definitions that a node's metadata tells, or none where it is not ours."""
    try:
        rows = json.loads(told) if isinstance(told, str) else []
        return tuple(
            Symbol(name, qualified, kind, scope, start, end, min(max(start, chunk.start_line), chunk.end_line), "")
            for kind, name, qualified, scope, start, end in rows
            if chunk.start_line <= start <= chunk.end_line
        )
    except (ValueError, TypeError):
        return ()
