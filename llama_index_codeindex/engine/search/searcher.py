"""Searching one index: lanes, fusion and ranking over one generation, and what is to be said about the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llama_index_codeindex.engine.errors import EmbeddingError, EmbeddingUnavailable, InvalidArgument
from llama_index_codeindex.engine.model import Hit, Mode
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.fusion import reciprocal_rank_fusion
from llama_index_codeindex.engine.search.lanes import (
    Definition,
    Scope,
    expand_terms,
    find_definitions,
    lexical_lane,
    path_lane,
)
from llama_index_codeindex.engine.search.query import Query, understand
from llama_index_codeindex.engine.search.ranking import (
    WEIGHTS,
    Candidates,
    Ranked,
    Weights,
    inverse_document_frequency,
    rank,
)
from llama_index_codeindex.engine.search.texts import TextSource, make_hit
from llama_index_codeindex.engine.store.builder import Embedder
from llama_index_codeindex.engine.store.store import View

MODES: tuple[Mode, ...] = ("all", "meaning", "path", "symbol")
MAX_TOP_K = 200

DENSE_LIMIT = 50
# Chunks of a file that the question names by path: enough to hold its best one.
_CHUNKS_PER_NAMED_FILE = 40
# Joined candidates that are ranked; the lists of the lanes are shorter together.
_MAX_CANDIDATES = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of one index, with what degraded them. `empty_reason` says why there are none."""

    hits: list[Hit]
    degraded_reasons: list[str]
    empty_reason: str = ""


class Searcher:
    """Answers questions over one generation.

    Args:
        view: The generation.
        texts: Where the text of chunks comes from.
        embedder: The embedding model, or None.
        weights: The constants of the ranking.
    """

    def __init__(
        self, view: View, texts: TextSource, embedder: Embedder | None = None, weights: Weights = WEIGHTS
    ) -> None:
        self.view = view
        self.texts = texts
        self.embedder = embedder
        self.weights = weights

    def search(self, question: str, top_k: int = 5, mode: Mode = "all", filters: Filters | None = None) -> Answer:
        """Return the best `top_k` places for a question.

        Raises:
            EmptyQuery: The question is empty.
            InvalidArgument: `top_k` or `mode` is out of range.
        """
        check_arguments(top_k, mode)
        query = understand(question)
        filters = _with_words(filters or Filters(), query)
        file_ids = filters.file_ids(self.view.catalog)
        scope = Scope(
            None if file_ids is None else frozenset(file_ids), frozenset(filters.kinds) if filters.kinds else None
        )
        ranked, lanes, reasons = self._rank(query, scope, mode)
        hits = self._hits(ranked, lanes, top_k)
        return Answer(hits, reasons, "" if hits else self._why_empty(query, filters, mode))

    def _rank(self, query: Query, scope: Scope, mode: Mode) -> tuple[list[Ranked], dict[str, list[int]], list[str]]:
        reasons: list[str] = []
        lanes: dict[str, list[int]] = {}
        catalog, lexical = self.view.catalog, self.view.lexical
        definitions = find_definitions(catalog, query, scope) if mode in ("all", "symbol") else []
        if definitions:
            lanes["symbol"] = [definition.row.chunk_row for definition in definitions]
        files_named: list[int] = []
        if mode == "path" or (mode == "all" and query.shape == "path"):
            files_named = path_lane(catalog, query, scope)
            lanes["path"] = self._chunks_of_files(files_named)
        weighted: list[tuple[str, float]] = []
        if lexical is None:
            reasons.append("lexical_unavailable")
        elif mode == "all":
            weighted = expand_terms(lexical, query.terms)
            lanes["lexical"] = lexical_lane(lexical, weighted, scope)
        similarities: dict[int, float] = {}
        if mode in ("all", "meaning"):
            similarities = self._dense(query, scope, reasons)
            if similarities:
                lanes["dense"] = list(similarities)
        fused = reciprocal_rank_fusion(lanes)
        rows = sorted(fused, key=lambda row: (-fused[row], row))[:_MAX_CANDIDATES]
        chunks = catalog.chunk_rows(rows)
        if scope.kinds is not None and mode != "symbol":
            allowed = set(lanes.get("lexical", ())) | set(lanes.get("symbol", ()))
            chunks = [c for c in chunks if c.row in allowed or c.kind in scope.kinds]
        candidates = Candidates(
            chunks,
            similarities,
            _strengths(definitions),
            frozenset(files_named if query.shape == "path" or mode == "path" else ()),
        )
        idf: dict[str, float] = {}
        if lexical is not None:
            idf = {
                term: inverse_document_frequency(lexical.documents, lexical.document_frequency(term))
                for term, _ in weighted
            }
        mean_terms = float(self.view.meta.get("mean_terms", "0")) or 1.0
        return rank(query, candidates, weighted, idf, mean_terms, self.weights), lanes, reasons

    def _dense(self, query: Query, scope: Scope, reasons: list[str]) -> dict[int, float]:
        """Return similarities by row, best first; what keeps the lane from answering goes to `reasons`."""
        if self.embedder is None:
            reasons.append("no_embedding_model")
            return {}
        matrix = self.view.vectors(self.embedder.model_id)
        if not len(matrix.rows):
            known = self.view.meta.get("embedding_model", "")
            reasons.append("model_mismatch" if known not in ("", self.embedder.model_id) else "not_embedded")
            return {}
        if len(matrix.rows) < self.view.catalog.counts()[1]:
            reasons.append("partly_embedded")
        try:
            vector = self.embedder.embed_query(query.text)
        except EmbeddingError as error:
            reasons.append("embedding_unavailable" if isinstance(error, EmbeddingUnavailable) else "embedding_invalid")
            return {}
        if vector.shape[-1] != matrix.width:
            reasons.append("dimension_mismatch")
            return {}
        only = None
        if scope.file_ids is not None:
            only = [chunk.row for chunk in self.view.catalog.file_chunks(sorted(scope.file_ids))]
        return dict(matrix.search(vector, DENSE_LIMIT, only))

    def _chunks_of_files(self, file_ids: Sequence[int]) -> list[int]:
        """Return the first chunks of each file, file by file."""
        taken: dict[int, list[int]] = {file_id: [] for file_id in file_ids}
        for chunk in self.view.catalog.file_chunks(file_ids):
            if len(taken[chunk.file_id]) < _CHUNKS_PER_NAMED_FILE:
                taken[chunk.file_id].append(chunk.row)
        return [row for rows in taken.values() for row in rows]

    def _hits(self, ranked: Sequence[Ranked], lanes: dict[str, list[int]], top_k: int) -> list[Hit]:
        ranks: dict[int, dict[str, int]] = {}
        for lane, rows in lanes.items():
            for position, row in enumerate(dict.fromkeys(rows), 1):
                ranks.setdefault(row, {})[lane] = position
        hits: list[Hit] = []
        best = ranked[0].score if ranked and ranked[0].score > 0 else 0.0
        for item in ranked:
            if len(hits) == top_k or item.score <= 0 or not best:
                break
            located = self.texts.locate(item.chunk)
            if located is None:
                continue  # its file is gone, and with it the hit
            found_by = ranks.get(item.chunk.row, {})
            confidence = 1.0 if {"symbol", "path"} & set(ranks.get(ranked[0].chunk.row, {})) else _confidence(ranked[0])
            hits.append(make_hit(item.chunk, located, confidence * item.score / best, found_by))
        return hits

    def _why_empty(self, query: Query, filters: Filters, mode: Mode) -> str:
        if not self.view.catalog.counts()[1]:
            return "empty_index"
        if filters and self._found_without(query, mode):
            return "filtered_out"
        if mode in ("symbol", "path"):
            return f"no_{mode}"
        if not query.terms and not query.names:
            return "no_terms"
        return "no_known_word"

    def _found_without(self, query: Query, mode: Mode) -> bool:
        return bool(self._rank(query, Scope(), mode)[0])


def _confidence(best: Ranked) -> float:
    """Return how much of the question the best hit answers; a hit found by meaning alone counts half."""
    return min(1.0, max(best.coverage, 0.5))


def check_arguments(top_k: int, mode: str) -> None:
    """Check what every search takes.

    Raises:
        InvalidArgument: `top_k` is not between 1 and 200, or `mode` is unknown.
    """
    if not isinstance(top_k, int) or isinstance(top_k, bool) or not 1 <= top_k <= MAX_TOP_K:
        raise InvalidArgument(f"top_k must be a whole number from 1 to {MAX_TOP_K}.", suggestion="Use top_k=5.")
    if mode not in MODES:
        raise InvalidArgument(f"Unknown mode {mode!r}.", suggestion=f"Modes are: {', '.join(MODES)}.")


def _with_words(filters: Filters, query: Query) -> Filters:
    """Add the `path:` and `lang:` words of the question to the filters."""
    if not query.path_filters and not query.languages:
        return filters
    return replace(filters, under=filters.under + query.path_filters, languages=filters.languages + query.languages)


def _strengths(definitions: Sequence[Definition]) -> dict[int, float]:
    strengths: dict[int, float] = {}
    for definition in definitions:
        row = definition.row.chunk_row
        strengths[row] = max(strengths.get(row, 0.0), definition.strength)
    return strengths
