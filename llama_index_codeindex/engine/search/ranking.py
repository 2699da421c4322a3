"""Ranking: the joined candidates, ordered by measured signals.

The unit of every additive signal is the best full-text score of the candidates, so that the constants mean the same in
every repository. What each signal is worth is in the quality table of the README; a signal earns its place there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.search.path_words import (
    PathFacts,
    match_paths,
    path_facts,
    plain_name,
    question_words,
)
from llama_index_codeindex.engine.search.query import Query, name_parts
from llama_index_codeindex.engine.store.bags import K1, B
from llama_index_codeindex.engine.store.catalog import Candidate

Scores = npt.NDArray[np.float64]
Counts = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """Every constant of the ranking, with its reason.

    The values are the middle of wide plateaus over 695 questions about 35 repositories: half or twice of any one costs
    less than 0.005 NDCG@10. Effects in brackets are of switching the signal off, on library folders and on whole
    repositories.
    """

    k1: float = K1
    b: float = B  # with the text-book's 1.2 and 0.75: -0.008, -0.009
    path: float = 1.4  # the question's words in the file's name and folders (-0.006, -0.003)
    # The file's name, all of it, in the question: `InsertStatement` before `BatchInsertStatement` (-0.011, -0.007).
    stem: float = 0.4
    coherence: float = 0.4  # a file with many matching chunks is probably the file (-0.009, +0.001)
    file_coverage: float = 0.45  # what a file's chunks cover of the question together (-0.004, -0.001)
    definition: float = 3.0  # a symbol question wants its definition (-0.006, -0.010; symbol questions: -0.030)
    named: float = 1.2  # an identifier inside prose (-0.006, -0.005)
    stem_is_name: float = 3.0  # the file named after the symbol holds the main one (-0.001, 0; in prose: -0.002)
    prior: float = 0.25  # files whose names many others use (-0.005, -0.002)
    # Keeps neighbours in meaning behind the one place that holds the rare word asked for; no effect on the average.
    words_win: float = 0.8
    dense: float = 0.3  # similarity of meaning, scaled over the candidates (packaged model: +0.002, +0.005)
    # Each further chunk of a file. Five places beat five pieces of one (1.0: -0.05), but at line level the right piece is
    # often the second: 0.2 costs 0.025 hit@5 there, and 0.35 costs nothing here.
    more_of_file: float = 0.35
    about: float = 0.7  # what accompanies the code, when the question speaks of it
    header: float = 0.5  # a header, where sources are at hand: it declares what they do (-0.003, 0)
    aside: float = 0.6  # folders of interfaces alone, and of what is outdated (-0.001, 0; architecture: -0.004)
    windows: float = 0.7  # of two halves, the one for Windows is meant where it is named (-0.003, 0)
    categories: Mapping[str, float] = field(  # what accompanies the code (-0.004, -0.112)
        default_factory=lambda: {
            "test": 0.15,
            "example": 0.15,
            "docs": 0.15,
            "vendored": 0.15,
            "generated": 0.15,
            "config": 0.15,
            "script": 0.3,
            "declaration": 0.6,
        }
    )


WEIGHTS = Weights()

BY_PLACE = attrgetter("path", "start_line", "row")  # what decides where scores are equal
_HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx"))
_SOURCES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))


@dataclass(slots=True)
class Candidates:
    """What the lanes brought together, aligned by position."""

    chunks: list[Candidate]  # in the order of `BY_PLACE`
    counts: Counts  # how often each term of the question occurs in each, of shape (chunks, terms)
    lengths: Counts  # in terms
    dense: Mapping[int, float]  # cosine similarity by row
    definitions: Mapping[int, float]  # strength of the definition a chunk holds, by row
    files_named: Mapping[int, float]  # how well a file's path is the one that the question spells, by file


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its final score, and the share of the question's information that its file holds."""

    chunk: Candidate
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
    gain = np.array([idf[term] * weight for term, weight in weighted])
    counts = candidates.counts
    lexical = bm25(counts, candidates.lengths, gain, mean_terms, weights)
    scores = lexical / (float(lexical.max()) or 1.0)
    if candidates.dense:
        scores += weights.dense * _dense_share(chunks, candidates.dense)
    scores += weights.coherence * _coherence(chunks, scores)
    coverage = _file_coverage(chunks, counts, gain)
    # Where some place answers the question's words, one that holds none of them is the less likely answer.
    scores[coverage == 0] *= 1 - weights.words_win * float(coverage.max())
    scores += weights.file_coverage * coverage
    paths = match_paths(question_words(query), {chunk.path for chunk in chunks})
    scores += weights.path * np.array([paths[chunk.path][0] for chunk in chunks])
    scores += weights.stem * np.array([paths[chunk.path][1] for chunk in chunks])
    if candidates.definitions:
        scores += np.array([_definition(query, c, candidates.definitions.get(c.row, 0.0), weights) for c in chunks])
    if candidates.files_named:
        scores += weights.definition * np.array([candidates.files_named.get(chunk.file_id, 0.0) for chunk in chunks])
    scores *= _factors(query, chunks, weights)
    return _one_per_file(chunks, scores, coverage, weights.more_of_file)


def bm25(counts: Counts, lengths: Counts, gain: Scores, mean_terms: float, weights: Weights = WEIGHTS) -> Scores:
    """Return BM25 scores (Robertson and Zaragoza, 2009) of bags whose counts hold the field weights already.

    Args:
        counts: How often each term occurs in each bag, of shape (bags, terms).
        lengths: The length of each bag, in terms.
        gain: What each term is worth: its inverse document frequency, weighted.
        mean_terms: The mean length of a bag in the whole index.
        weights: Holds `k1` and `b`.
    """
    if not len(gain):
        return np.zeros(len(lengths))
    relative = np.asarray(lengths, np.float64) / (mean_terms or 1.0)
    norm = weights.k1 * (1 - weights.b + weights.b * relative)[:, None]
    return np.asarray((counts * (weights.k1 + 1) / (counts + norm)) @ gain, np.float64)


# The least similar candidate was still found by meaning: it is worth more than none at all.
_DENSE_FLOOR = 0.05


def _dense_share(chunks: Sequence[Candidate], dense: Mapping[int, float]) -> Scores:
    """Scale similarities to 0..1 over the candidates: their absolute height differs from model to model."""
    low, high = min(dense.values()), max(dense.values())
    span = high - low

    def share(similarity: float) -> float:
        return _DENSE_FLOOR + (1 - _DENSE_FLOOR) * ((similarity - low) / span if span else 1.0)

    return np.array([share(dense[c.row]) if c.row in dense else 0.0 for c in chunks])


def _coherence(chunks: Sequence[Candidate], scores: Scores) -> Scores:
    """Give each file's best chunk the share, of what the best file has, that its chunks among the best 50 bring."""
    sums: dict[int, float] = defaultdict(float)
    first: dict[int, int] = {}
    for i in np.argsort(-scores, kind="stable")[:50].tolist():
        sums[chunks[i].file_id] += float(scores[i])
        first.setdefault(chunks[i].file_id, i)
    shares = np.zeros(len(chunks))
    highest = max(sums.values(), default=0.0)
    if highest > 0:
        for file_id, i in first.items():
            shares[i] = sums[file_id] / highest
    return shares


def _coverage(counts: Counts, gain: Scores) -> Scores:
    """Return the share of the question's information that each candidate holds."""
    if not len(gain):
        return np.zeros(len(counts))
    return np.asarray(((counts > 0) @ gain) / (float(gain.sum()) or 1.0), np.float64)


def _file_coverage(chunks: Sequence[Candidate], counts: Counts, gain: Scores) -> Scores:
    """Return, for each candidate, the coverage of all its file's candidates together."""
    positions: dict[int, int] = {}
    files = np.array([positions.setdefault(chunk.file_id, len(positions)) for chunk in chunks])
    together = np.zeros((len(positions), counts.shape[1]), np.float32)
    np.maximum.at(together, files, counts)
    covered: Scores = _coverage(together, gain)[files]
    return covered


def _definition(query: Query, chunk: Candidate, strength: float, weights: Weights) -> float:
    if not strength:
        return 0.0
    scale = weights.definition if query.shape == "symbol" else weights.named
    named = {plain_name(name_parts(name)[-1]) for name in query.names if name_parts(name)}
    return scale * strength * (weights.stem_is_name if path_facts(chunk.path).plain_stem in named else 1.0)


def _factors(query: Query, chunks: Sequence[Candidate], weights: Weights) -> Scores:
    """Return what each candidate's file is worth: its use by others, its category, its place."""
    facts = [path_facts(chunk.path) for chunk in chunks]
    sources = sum(fact.suffix in _SOURCES for fact in facts)
    has_sources = sources > 0 and sources >= sum(fact.suffix in _HEADERS for fact in facts)

    asks_windows = any(word.startswith("win") for word in query.plain)

    def factor(chunk: Candidate, fact: PathFacts) -> float:
        # 50 users are as good as 500.
        worth = 1 + weights.prior * min(1.0, math.log1p(chunk.prior) / math.log(50))
        usual = weights.categories.get(chunk.category, 1.0)
        worth *= max(usual, weights.about) if chunk.category in query.about else usual
        if has_sources and fact.suffix in _HEADERS:
            worth *= weights.header
        if fact.is_windows and not asks_windows:
            worth *= weights.windows
        return worth * weights.aside if fact.is_aside else worth

    files = {chunk.file_id: (chunk, fact) for chunk, fact in zip(chunks, facts, strict=True)}
    factors = {file_id: factor(*pair) for file_id, pair in files.items()}
    return np.array([factors[chunk.file_id] for chunk in chunks])


def _one_per_file(chunks: Sequence[Candidate], scores: Scores, coverage: Scores, more: float) -> list[Ranked]:
    """Order by score, with each further chunk of a file damped; ties stay in the order of the chunks."""
    seen: dict[int, int] = defaultdict(int)
    damped = scores.copy()
    for i in np.argsort(-scores, kind="stable").tolist():
        file_id = chunks[i].file_id
        damped[i] *= more ** seen[file_id]
        seen[file_id] += 1
    return [
        Ranked(chunks[i], float(damped[i]), float(coverage[i])) for i in np.argsort(-damped, kind="stable").tolist()
    ]
