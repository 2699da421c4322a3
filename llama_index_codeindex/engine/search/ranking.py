"""Ranking: the joined candidates, ordered by measured signals.

The unit of every additive signal is the best full-text score of the candidates, so that the constants mean the same in
every repository. What each signal is worth is in the quality table of the README; a signal earns its place there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.search.query import Query, name_parts
from llama_index_codeindex.engine.store.bags import frequencies
from llama_index_codeindex.engine.store.catalog import ChunkRow
from llama_index_codeindex.engine.syntax.words import STOP_WORDS, term_hash, terms

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """Every constant of the ranking, with its reason.

    The values are the best of a coarse grid over all questions; none is sharp: half or twice costs under 0.01.
    """

    k1: float = 3.0  # chunks are cut to one subject, so repetition goes on counting (1.2 costs 0.004)
    b: float = 0.1  # chunks are of one size, so their length says little (0.75 costs 0.005)
    path: float = 1.6  # the question's words in the file's name and folders: the strongest single signal
    coherence: float = 0.3  # a file with many matching chunks is probably the file
    definition: float = 3.0  # a symbol question wants its definition
    named: float = 0.8  # an identifier inside prose
    plain: float = 0.2  # a plain word that is also a definition's name
    stem_is_name: float = 3.0  # the file named after the symbol holds the main one
    prior: float = 0.4  # files that many others use
    dense: float = 0.4  # cosine similarity, scaled to the candidates
    more_of_file: float = 0.2  # each further chunk of a file: five places beat five pieces of one
    categories: Mapping[str, float] = field(
        default_factory=lambda: {
            "test": 0.15, "example": 0.15, "docs": 0.15, "vendored": 0.15, "generated": 0.15, "config": 0.15,
            "script": 0.3, "declaration": 0.6,
        }
    )  # fmt: skip
    header: float = 0.7  # a header beside its source


WEIGHTS = Weights()


@dataclass(slots=True)
class Candidates:
    """What the lanes brought together, aligned by position."""

    chunks: list[ChunkRow]
    dense: Mapping[int, float]  # cosine similarity by row
    definitions: Mapping[int, float]  # strength of the definition a chunk holds, by row
    files_named: frozenset[int]  # files whose path the question spells


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its final score, in units of the best one's, and the share of the question it covers."""

    chunk: ChunkRow
    score: float
    coverage: float


def rank(
    query: Query,
    candidates: Candidates,
    weighted: Sequence[tuple[str, float]],
    idf: Mapping[str, float],
    mean_terms: float,
    weights: Weights = WEIGHTS,
) -> list[Ranked]:
    """Order candidates.

    Args:
        query: The question.
        candidates: What the lanes found.
        weighted: The terms and their weights.
        idf: The inverse document frequency of each term in the whole index.
        mean_terms: The mean length of a chunk, in terms.
        weights: The constants.
    """
    chunks = candidates.chunks
    if not chunks:
        return []
    counts = frequencies([chunk.bag for chunk in chunks], [term_hash(term) for term, _ in weighted])
    lexical = bm25(counts, [chunk.terms for chunk in chunks], weighted, idf, mean_terms, weights)
    top = float(lexical.max()) or 1.0
    scores = lexical.copy()
    if candidates.dense:
        scores += weights.dense * top * _dense_share(chunks, candidates.dense)
    scores += _coherence(chunks, scores, top, weights)
    by_path = {c.file_id: path_share(query, c.path) for c in chunks}
    scores += weights.path * top * np.array([by_path[c.file_id] for c in chunks])
    scores += top * np.array([_definition(query, c, candidates.definitions.get(c.row, 0.0), weights) for c in chunks])
    scores += weights.definition * top * np.array([float(c.file_id in candidates.files_named) for c in chunks])
    scores *= np.array([_factor(query, c, weights) for c in chunks])
    scores = _header_beside_source(chunks, scores, weights)
    coverage = _coverage(counts, weighted, idf)
    order = sorted(range(len(chunks)), key=lambda i: (-scores[i], chunks[i].path, chunks[i].start_line, chunks[i].row))
    return _one_per_file(chunks, scores, coverage, order, weights)


def bm25(
    counts: npt.NDArray[np.float32],
    lengths: Sequence[int],
    weighted: Sequence[tuple[str, float]],
    idf: Mapping[str, float],
    mean_terms: float,
    weights: Weights = WEIGHTS,
) -> Scores:
    """Return BM25 scores (Robertson and Zaragoza, 2009) of bags, with the field weights already in the counts."""
    if not weighted:
        return np.zeros(len(lengths))
    relative = np.asarray(lengths, np.float64) / (mean_terms or 1.0)
    norm = weights.k1 * (1 - weights.b + weights.b * relative)[:, None]
    gain = np.array([idf[term] * weight for term, weight in weighted])
    return np.asarray((counts * (weights.k1 + 1) / (counts + norm)) @ gain, np.float64)


def inverse_document_frequency(documents: int, frequency: int) -> float:
    """Return Lucene's never negative form of the inverse document frequency."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def _dense_share(chunks: Sequence[ChunkRow], dense: Mapping[int, float]) -> Scores:
    """Scale similarities to 0..1 over the candidates: their absolute height differs from model to model."""
    known = list(dense.values())
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    return np.array([(dense[c.row] - low) / span if c.row in dense else 0.0 for c in chunks])


def _coherence(chunks: Sequence[ChunkRow], scores: Scores, top: float, weights: Weights) -> Scores:
    """Give each file's best chunk a part of what its chunks among the best 50 bring together."""
    best = np.argsort(-scores, kind="stable")[:50]
    sums: dict[int, float] = defaultdict(float)
    first: dict[int, int] = {}
    for i in best:
        sums[chunks[i].file_id] += float(scores[i])
        first.setdefault(chunks[i].file_id, int(i))
    gains = np.zeros(len(chunks))
    highest = max(sums.values(), default=0.0)
    if highest > 0:
        for file_id, i in first.items():
            gains[i] = weights.coherence * top * sums[file_id] / highest
    return gains


@lru_cache(maxsize=1 << 16)
def _path_terms(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of a file's stem, and those of its folders."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name
    folders = " ".join(pure.parts[:-1])
    return frozenset(terms(stem.replace("-", " "))), frozenset(terms(folders.replace("-", " ")))


def path_share(query: Query, path: str) -> float:
    """Return the share of the question's words that the file's name or folders hold, by prefix."""
    asked = question_words(query)
    if not asked:
        return 0.0
    stem, folders = _path_terms(path)
    matched = sum(
        any(_starts(word, term) for term in stem) or any(_starts(word, term) for term in folders) for word in asked
    )
    return matched / len(asked)


def _starts(word: str, term: str) -> bool:
    return word == term or (len(word) >= 3 and term.startswith(word)) or (len(term) >= 3 and word.startswith(term))


@lru_cache(maxsize=256)
def question_words(query: Query) -> tuple[str, ...]:
    """Return the content words of a question, stemmed and split, without repetitions."""
    found: dict[str, None] = {}
    for word in query.text.replace("-", " ").split():
        for part in terms(word):
            if word.lower() not in STOP_WORDS:
                found.setdefault(part)
    return tuple(found)


def _definition(query: Query, chunk: ChunkRow, strength: float, weights: Weights) -> float:
    if not strength:
        return 0.0
    scale = weights.definition if query.shape == "symbol" else weights.named
    stem = PurePosixPath(chunk.path).name.split(".", 1)[0].replace("_", "").replace("-", "").casefold()
    named = {name_parts(name)[-1].replace("_", "").casefold() for name in query.names if name_parts(name)}
    return scale * strength * (weights.stem_is_name if stem in named else 1.0)


def _factor(query: Query, chunk: ChunkRow, weights: Weights) -> float:
    factor = 1.0 + weights.prior * min(1.0, math.log1p(chunk.prior) / math.log(50))
    if chunk.category not in query.about:
        factor *= weights.categories.get(chunk.category, 1.0)
    return factor


_SOURCE_SUFFIXES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))


def _header_beside_source(chunks: Sequence[ChunkRow], scores: Scores, weights: Weights) -> Scores:
    """Put a header behind the source of the same name: it declares what the source does."""
    sources = {
        str(PurePosixPath(c.path).with_suffix("").name)
        for c in chunks
        if PurePosixPath(c.path).suffix in _SOURCE_SUFFIXES
    }
    for i, chunk in enumerate(chunks):
        path = PurePosixPath(chunk.path)
        if path.suffix in (".h", ".hh", ".hpp") and path.with_suffix("").name in sources:
            scores[i] *= weights.header
    return scores


def _coverage(
    counts: npt.NDArray[np.float32], weighted: Sequence[tuple[str, float]], idf: Mapping[str, float]
) -> Scores:
    """Return the share of the question's information that each candidate holds."""
    if not weighted:
        return np.zeros(len(counts))
    mass = np.array([idf[term] * weight for term, weight in weighted])
    return np.asarray(((counts > 0) @ mass) / (mass.sum() or 1.0), np.float64)


def _one_per_file(
    chunks: Sequence[ChunkRow], scores: Scores, coverage: Scores, order: Sequence[int], weights: Weights
) -> list[Ranked]:
    seen: dict[int, int] = defaultdict(int)
    damped: list[tuple[float, int]] = []
    for i in order:
        file_id = chunks[i].file_id
        damped.append((float(scores[i]) * weights.more_of_file ** seen[file_id], i))
        seen[file_id] += 1
    damped.sort(key=lambda pair: (-pair[0], chunks[pair[1]].path, chunks[pair[1]].start_line, chunks[pair[1]].row))
    return [Ranked(chunks[i], score, float(coverage[i])) for score, i in damped]
