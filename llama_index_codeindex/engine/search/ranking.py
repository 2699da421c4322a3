"""Ranking: the joined candidates, ordered by measured signals.

The unit of every additive signal is the best full-text score of the candidates, so that the constants mean the same in
every repository. What each signal is worth is in the quality table of the README; a signal earns its place there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
from llama_index_codeindex.engine.store.rows import FileFacts

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

_HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx"))
_SOURCES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))


@dataclass(slots=True)
class Candidates:
    """What the lanes brought together: chunks by their rows, in the order of paths and lines, aligned by position."""

    rows: Sequence[int]
    files: Sequence[FileFacts]  # each file once
    owners: npt.NDArray[np.intp]  # the position in `files` of each chunk's file
    counts: Counts  # how often each term of the question occurs in each chunk, of shape (chunks, terms)
    lengths: Counts  # in terms
    dense: Mapping[int, float]  # cosine similarity by row
    definitions: Mapping[int, float]  # strength of the definition a chunk holds, by row
    files_named: Mapping[int, float]  # how well a file's path is the one that the question spells, by file


class Ranking(NamedTuple):
    """The rows of the candidates, best first, with their final scores, and what their files hold of the question (0..1)."""

    rows: list[int]
    scores: list[float]
    coverage: list[float]


def rank(
    query: Query,
    candidates: Candidates,
    weighted: Sequence[tuple[str, float]],
    idf: Mapping[str, float],
    mean_terms: float,
    weights: Weights = WEIGHTS,
) -> Ranking:
    """Order candidates.

    Args:
        query: The question.
        candidates: What the lanes found.
        weighted: The terms and their weights.
        idf: The inverse document frequency of each term in the whole index.
        mean_terms: The mean length of a chunk, in terms.
        weights: The constants.
    """
    if not len(candidates.rows):
        return Ranking([], [], [])
    files, owners = candidates.files, candidates.owners
    gain = np.array([idf[term] * weight for term, weight in weighted])
    lexical = bm25(candidates.counts, candidates.lengths, gain, mean_terms, weights)
    scores = lexical / (float(lexical.max()) or 1.0)
    if candidates.dense:
        scores += weights.dense * _dense_share(candidates.rows, candidates.dense)
    scores += weights.coherence * _coherence(owners, scores)
    coverage = _file_coverage(candidates.counts, gain, owners, len(files))[owners]
    # Where some place answers the question's words, one that holds none of them is the less likely answer.
    scores[coverage == 0] *= 1 - weights.words_win * float(coverage.max())
    scores += weights.file_coverage * coverage
    paths = match_paths(question_words(query), {file.path for file in files})
    matches = np.array([paths[file.path] for file in files])
    scores += (weights.path * matches[:, 0])[owners]
    scores += (weights.stem * matches[:, 1])[owners]
    for place, row in enumerate(candidates.rows) if candidates.definitions else ():
        if row in candidates.definitions:
            file = files[owners[place]]
            scores[place] += _definition(query, file.path, candidates.definitions[row], weights)
    if candidates.files_named:
        named = np.array([candidates.files_named.get(file.id, 0.0) for file in files])
        scores += (weights.definition * named)[owners]
    scores *= np.array(_factors(query, files, owners, weights))[owners]
    return _one_per_file(candidates.rows, owners, scores, coverage, weights.more_of_file)


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


def _dense_share(rows: Sequence[int], dense: Mapping[int, float]) -> Scores:
    """Scale similarities to 0..1 over the candidates: their absolute height differs from model to model."""
    low, high = min(dense.values()), max(dense.values())
    span = high - low

    def share(similarity: float) -> float:
        return _DENSE_FLOOR + (1 - _DENSE_FLOOR) * ((similarity - low) / span if span else 1.0)

    return np.array([share(dense[row]) if row in dense else 0.0 for row in rows])


def _coherence(owners: npt.NDArray[np.intp], scores: Scores) -> Scores:
    """Give each file's best chunk the share, of what the best file has, that its chunks among the best 50 bring."""
    best = np.argsort(-scores, kind="stable")[:50]
    sums = np.bincount(owners[best], scores[best])
    shares = np.zeros(len(scores))
    highest = float(sums.max(initial=0.0))
    if highest > 0:
        found, first = np.unique(owners[best], return_index=True)
        shares[best[first]] = sums[found] / highest
    return shares


def _file_coverage(counts: Counts, gain: Scores, owners: npt.NDArray[np.intp], files: int) -> Scores:
    """Return, for each file, the share of the question's information that its candidates hold together."""
    together = np.zeros((files, counts.shape[1]), np.bool_)
    chunks, terms = np.nonzero(counts)
    together[owners[chunks], terms] = True
    return np.asarray((together @ gain) / (float(gain.sum()) or 1.0), np.float64)


def _definition(query: Query, path: str, strength: float, weights: Weights) -> float:
    scale = weights.definition if query.shape == "symbol" else weights.named
    named = {plain_name(name_parts(name)[-1]) for name in query.names if name_parts(name)}
    return scale * strength * (weights.stem_is_name if path_facts(path).plain_stem in named else 1.0)


def _factors(query: Query, files: Sequence[FileFacts], owners: npt.NDArray[np.intp], weights: Weights) -> list[float]:
    """Return what each file is worth: its use by others, its category, its place."""
    facts = [path_facts(file.path) for file in files]
    chunks = np.bincount(owners, minlength=len(files)).tolist()
    sources = sum(count for count, fact in zip(chunks, facts, strict=True) if fact.suffix in _SOURCES)
    headers = sum(count for count, fact in zip(chunks, facts, strict=True) if fact.suffix in _HEADERS)
    has_sources = sources > 0 and sources >= headers
    asks_windows = any(word.startswith("win") for word in query.plain)

    def factor(file: FileFacts, fact: PathFacts) -> float:
        # 50 users are as good as 500.
        worth = 1 + weights.prior * min(1.0, math.log1p(file.prior) / math.log(50))
        usual = weights.categories.get(file.category, 1.0)
        worth *= max(usual, weights.about) if file.category in query.about else usual
        if has_sources and fact.suffix in _HEADERS:
            worth *= weights.header
        if fact.is_windows and not asks_windows:
            worth *= weights.windows
        return worth * weights.aside if fact.is_aside else worth

    return [factor(file, fact) for file, fact in zip(files, facts, strict=True)]


def _one_per_file(
    rows: Sequence[int], owners: npt.NDArray[np.intp], scores: Scores, coverage: Scores, more: float
) -> Ranking:
    """Order by score, with each further chunk of a file damped; ties stay in the order of the chunks."""
    best = np.argsort(-scores, kind="stable")
    by_file = best[np.argsort(owners[best], kind="stable")]  # the chunks of each file together, best first
    _, firsts, sizes = np.unique(owners[by_file], return_index=True, return_counts=True)
    before = np.arange(len(rows)) - np.repeat(firsts, sizes)
    damped = scores.copy()
    damped[by_file] *= more**before
    order = np.argsort(-damped, kind="stable")
    return Ranking([rows[place] for place in order.tolist()], damped[order].tolist(), coverage[order].tolist())
