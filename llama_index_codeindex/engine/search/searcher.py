"""Searching one index: lanes, fusion and ranking over one generation, and what is to be said about the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from operator import attrgetter
from typing import Literal

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.model import EmptyReason, Hit, Mode
from llama_index_codeindex.engine.search.dense import DenseLane, ExternalSearch
from llama_index_codeindex.engine.search.filters import Filters, Scope
from llama_index_codeindex.engine.search.focus import focus
from llama_index_codeindex.engine.search.fusion import reciprocal_rank_fusion
from llama_index_codeindex.engine.search.lanes import (
    Definition,
    expand_terms,
    find_definitions,
    lexical_lane,
    path_lane,
)
from llama_index_codeindex.engine.search.query import Query, understand
from llama_index_codeindex.engine.search.ranking import (
    WEIGHTS,
    Candidates,
    Ranking,
    Weights,
    rank,
)
from llama_index_codeindex.engine.search.texts import Located, TextSource, make_hit
from llama_index_codeindex.engine.store.builder import Embedder
from llama_index_codeindex.engine.store.catalog import ChunkRow, SymbolRow
from llama_index_codeindex.engine.store.lexical import Lexical, inverse_document_frequency
from llama_index_codeindex.engine.store.rows import FileFacts, file_of_chunk
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.engine.syntax.words import count_terms

MODES: tuple[Mode, ...] = ("all", "meaning", "path", "symbol")
MAX_TOP_K = 200
# Places that are told of when filters left none.
MAX_PREVIEW = 3

# Chunks of a file that the question names by path: enough to hold its best one.
_CHUNKS_PER_NAMED_FILE = 40
# Joined candidates that are ranked; the lists of the lanes are shorter together.
_MAX_CANDIDATES = 400
# Hits that are read when a quoted phrase must be in them.
_PHRASE_DEPTH = 100
# Terms that stand for a piece of code when its neighbours are looked for: more add noise, not neighbours.
_RELATED_TERMS = 25
# What a hit found by meaning alone is worth: nothing in it shows how much of the question it answers.
_DENSE_CONFIDENCE = 0.4


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of one index, with what degraded them; why there are none, and what filters removed if it was them."""

    hits: list[Hit]
    degraded_reasons: list[str]
    empty_reason: EmptyReason | Literal[""] = ""
    filtered_preview: tuple[Hit, ...] = ()


@dataclass(slots=True)
class _Found:
    """What the lanes found for one question."""

    lanes: dict[str, list[int]] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)
    files_named: list[int] = field(default_factory=list)
    weighted: list[tuple[str, float]] = field(default_factory=list)
    similarities: dict[int, float] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    vector: Vector | None = None  # the question's, once it is known


class Searcher:
    """Answers questions over one generation.

    Args:
        view: The generation.
        texts: Where the text of chunks comes from.
        embedder: The embedding model, or None.
        weights: The constants of the ranking.
        external: A vector store that answers for the dense lane instead of the index's own vectors.
        require_dense: Raise the EmbeddingError that keeps the dense lane from answering, instead of doing without it.

    Raises:
        InvalidArgument: `require_dense` comes without a model.
    """

    def __init__(
        self,
        view: View,
        texts: TextSource,
        embedder: Embedder | None = None,
        weights: Weights = WEIGHTS,
        external: ExternalSearch | None = None,
        *,
        require_dense: bool = False,
    ) -> None:
        self.view = view
        self.texts = texts
        self.dense = DenseLane(view, embedder, external, required=require_dense)
        self.weights = weights

    def search(
        self,
        question: str,
        top_k: int = 5,
        mode: Mode = "all",
        filters: Filters | None = None,
        vector: Vector | None = None,
    ) -> Answer:
        """Return the best `top_k` places for a question.

        Args:
            question: The question.
            top_k: How many hits at most.
            mode: Which lanes answer.
            filters: What may be found.
            vector: The question's vector, if the caller has it already.

        Raises:
            EmptyQuery: The question is empty.
            InvalidArgument: `top_k` or `mode` is out of range.
            EmbeddingError: With `require_dense`: the lane of meaning cannot answer.
        """
        check_arguments(top_k, mode)
        query = understand(question)
        filters = _with_words(filters or Filters(), query)
        scope = filters.scope(self.view.catalog)
        found = self._by_words(query, scope, mode)
        self._add_meaning(found, query, scope, mode, vector)
        ranked = self._rank(query, found)
        hits = self._hits(ranked, found, top_k, query.phrases)
        if hits:
            return Answer(hits, found.reasons)
        if filters and (removed := self._removed(query, mode, found.vector)):
            return Answer([], found.reasons, "filtered_out", removed)
        return Answer([], found.reasons, self._why_empty(query, mode, ranked))

    def related(self, chunk: ChunkRow, top_k: int = 5) -> Answer:
        """Return the neighbours of a piece of code: other places that share its rarest words, or its meaning."""
        located = self.texts.locate(chunk)
        lexical, catalog = self.view.lexical, self.view.catalog
        if lexical is None:
            return Answer([], ["lexical_unavailable"], "no_lane")
        if located is None:
            return Answer([], [], "gone")
        counted = count_terms(located.text)
        idf = self._idf(list(counted))
        best = sorted(counted, key=lambda term: (-counted[term] * idf[term], term))[:_RELATED_TERMS]
        found = _Found(weighted=[(term, 1.0) for term in best])
        found.lanes["lexical"] = lexical_lane(lexical, catalog, found.weighted, Scope())
        found.similarities = self.dense.neighbours(chunk.row, found.reasons)
        if found.similarities:
            found.lanes["dense"] = list(found.similarities)
        for rows in found.lanes.values():
            if chunk.row in rows:
                rows.remove(chunk.row)
        found.similarities.pop(chunk.row, None)
        query = Query("", "prose", tuple(best))
        hits = self._hits(self._rank(query, found), found, top_k, ())
        return Answer(hits, found.reasons, "" if hits else "no_neighbours")

    def _by_words(self, query: Query, scope: Scope, mode: Mode) -> _Found:
        found = _Found()
        catalog, lexical = self.view.catalog, self.view.lexical
        if mode in ("all", "symbol"):
            found.definitions = find_definitions(catalog, query, scope)
            found.lanes["symbol"] = [definition.row.chunk_row for definition in found.definitions]
        if mode == "path" or (mode == "all" and query.paths):
            for spelled in query.paths or (query.text,):
                found.files_named.extend(path_lane(self.view, query, spelled, scope))
            found.lanes["path"] = self._chunks_of_files(found.files_named, scope)
        if lexical is None:
            found.reasons.append("lexical_unavailable")
        elif mode == "all":
            found.weighted = expand_terms(lexical, query.terms)
            found.lanes["lexical"] = lexical_lane(lexical, catalog, found.weighted, scope)
        return found

    def _add_meaning(self, found: _Found, query: Query, scope: Scope, mode: Mode, vector: Vector | None) -> None:
        if mode in ("all", "meaning"):
            found.similarities, found.vector = self.dense.search(
                query.text, vector, lambda: self._rows(scope), found.reasons
            )
            found.lanes["dense"] = list(found.similarities)

    def _rank(self, query: Query, found: _Found) -> Ranking:
        catalog = self.view.catalog
        rows = list(dict.fromkeys(chain.from_iterable(found.lanes.values())))
        if len(rows) > _MAX_CANDIDATES:
            fused = reciprocal_rank_fusion(found.lanes)
            rows = sorted(fused, key=lambda row: (-fused[row], row))[:_MAX_CANDIDATES]
        files, owners, rows = self._by_file(rows)
        lexical = self.view.lexical or Lexical(lambda: catalog.connection, ())
        terms = [term for term, _ in found.weighted]
        counts, lengths = lexical.counts(rows, terms)
        candidates = Candidates(
            rows,
            files,
            owners,
            counts,
            lengths,
            found.similarities,
            _strengths(found.definitions),
            {file_id: 1 / place for place, file_id in enumerate(found.files_named, 1)},
        )
        return rank(query, candidates, found.weighted, self._idf(terms), lexical.mean_terms, self.weights)

    def _by_file(self, rows: Sequence[int]) -> tuple[list[FileFacts], npt.NDArray[np.intp], list[int]]:
        """Return the files of some chunks by path, and each chunk's place among them with its row, in that order."""
        every = np.array(rows, np.int64)
        ids, owners = np.unique(file_of_chunk(every), return_inverse=True)
        facts = self.view.file_facts(ids.tolist())
        files = sorted(facts.values(), key=attrgetter("path"))
        places = {file.id: place for place, file in enumerate(files)}
        placed = np.array([places.get(file_id, -1) for file_id in ids.tolist()], np.intp)[owners]
        order = np.lexsort((every, placed))
        order = order[placed[order] >= 0]  # without those whose file is gone
        return files, placed[order], every[order].tolist()

    def _idf(self, terms: Sequence[str]) -> Mapping[str, float]:
        lexical = self.view.lexical
        if lexical is None:
            return {}
        documents = lexical.documents
        return {term: inverse_document_frequency(documents, lexical.document_frequency(term)) for term in terms}

    def _rows(self, scope: Scope) -> list[int] | None:
        """Return the rows that the filters leave, or None for all."""
        if scope == Scope():
            return None
        catalog = self.view.catalog
        ids = scope.file_ids if scope.file_ids is not None else {file.id for file in catalog.files().values()}
        chunks = catalog.file_chunks(sorted(ids))
        return [chunk.row for chunk in chunks if scope.admits(chunk.file_id, chunk.row, chunk.kind)]

    def _chunks_of_files(self, file_ids: Sequence[int], scope: Scope) -> list[int]:
        """Return the first chunks of each file, file by file."""
        taken: dict[int, list[int]] = {file_id: [] for file_id in file_ids}
        for chunk in self.view.catalog.file_chunks(file_ids):
            rows = taken[chunk.file_id]
            if len(rows) < _CHUNKS_PER_NAMED_FILE and scope.admits(chunk.file_id, chunk.row, chunk.kind):
                rows.append(chunk.row)
        return [row for rows in taken.values() for row in rows]

    def _hits(self, ranked: Ranking, found: _Found, top_k: int, phrases: Sequence[str]) -> list[Hit]:
        positions = {lane: dict(zip(dict.fromkeys(rows), count(1))) for lane, rows in found.lanes.items()}

        def lanes_of(row: int) -> dict[str, int]:
            return {lane: held[row] for lane, held in positions.items() if row in held}

        if not ranked.rows or ranked.scores[0] <= 0:
            return []
        confidence = _confidence(ranked.coverage[0], lanes_of(ranked.rows[0]))
        hits: list[Hit] = []
        shifts: dict[int, int] = {}
        for score, chunk in self._with_chunks(ranked, top_k, _PHRASE_DEPTH if phrases else len(ranked.rows)):
            if len(hits) == top_k or score <= 0:
                break
            located = self.texts.locate(chunk)
            if located is None or not _holds(located, phrases):
                continue  # its file is gone, or it lacks what was quoted
            share = confidence * score / ranked.scores[0]
            hits.append(make_hit(chunk, located, share, lanes_of(chunk.row)))
            shifts[chunk.row] = located.start_line - chunk.start_line
        return self._focused(hits, shifts, found)

    def _with_chunks(self, ranked: Ranking, step: int, depth: int) -> Iterator[tuple[float, ChunkRow]]:
        """Yield the scores and chunks of the first rows, read `step` at a time: most of them are never shown."""
        for start in range(0, depth, step):
            end = min(start + step, depth)
            chunks = {chunk.row: chunk for chunk in self.view.catalog.chunk_rows(ranked.rows[start:end])}
            some = zip(ranked.rows[start:end], ranked.scores[start:end], strict=True)
            yield from ((score, chunks[row]) for row, score in some if row in chunks)

    def _focused(self, hits: Sequence[Hit], shifts: Mapping[int, int], found: _Found) -> list[Hit]:
        """Return the hits, each named after the definition it is about; `shifts` says how far its lines have moved."""
        symbols: dict[int, list[SymbolRow]] = {}
        for row in self.view.catalog.symbols_of_chunks([hit.row for hit in hits]):
            symbols.setdefault(row.chunk_row, []).append(row)
        named = {definition.row.symbol.qualified for definition in found.definitions}
        wanted = [term for term, _ in found.weighted]
        return [
            hit if hit.stale else focus(hit, shifts[hit.row], symbols.get(hit.row, ()), wanted, named) for hit in hits
        ]

    def _removed(self, query: Query, mode: Mode, vector: Vector | None) -> tuple[Hit, ...]:
        """Return the first places that the question finds without filters. They name the code and do not quote it."""
        found = self._by_words(query, Scope(), mode)
        self._add_meaning(found, query, Scope(), mode, vector)
        hits = self._hits(self._rank(query, found), found, MAX_PREVIEW, query.phrases)
        return tuple(replace(hit, text="", context="") for hit in hits)

    def _why_empty(self, query: Query, mode: Mode, ranked: Ranking) -> EmptyReason:
        if not self.view.chunks:
            return "empty_index"
        if query.phrases:
            return "no_phrase"
        if ranked.rows and ranked.scores[0] > 0:
            return "gone"  # a hit, were its file still there
        if mode == "symbol":
            return "no_symbol"
        if mode == "path":
            return "no_path"
        if mode == "meaning":
            return "no_vectors"  # with vectors, something is always the closest
        if self.view.lexical is None:
            return "no_lane"
        return "no_known_word" if query.terms or query.names else "no_tokens"


def _confidence(coverage: float, lanes: Mapping[str, int]) -> float:
    """Return how much of the question the best hit answers: all of it for a name or path, else what its words cover."""
    if "symbol" in lanes or "path" in lanes:
        return 1.0
    return max(coverage, _DENSE_CONFIDENCE if "dense" in lanes else 0.0)


def _holds(located: Located, phrases: Sequence[str]) -> bool:
    """Say whether a text holds every quoted phrase, whatever the case and the line ends."""
    if not phrases:
        return True
    text = " ".join(located.text.casefold().split())
    return all(" ".join(phrase.casefold().split()) in text for phrase in phrases)


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
