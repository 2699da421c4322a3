"""The full text of one generation: which chunks hold a term, how often, and the scores that follow from it.

It lives in the catalog, so that the catalog's COMMIT publishes it with everything else. Every chunk that holds a term of
the question is scored with exact statistics: an index that grew ranks as one that was built at once.
"""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, islice

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.store import segments
from llama_index_codeindex.engine.store.bags import CHUNK_SHIFT, K1, B, Bags
from llama_index_codeindex.engine.store.connections import batches
from llama_index_codeindex.engine.store.rows import chunk_key
from llama_index_codeindex.engine.store.segments import MAX_DOCUMENTS, NO_POSTINGS, Keys, Mask, Postings, Rows, Segment
from llama_index_codeindex.engine.syntax.words import term_hash

# Postings that are kept for the next questions, in documents of three bytes; what keeps the documents of one term, if only
# that there are none, counts as another hundred.
_KEPT_POSTINGS = 1_000_000
_PER_TERM = 100
# Chunks whose kinds are looked up at a time: a first page of hits, and more with every step.
_KINDS_AT_ONCE = 200
# Segments of about one size that are left side by side, and how many times the next size is bigger.
_SIDE_BY_SIDE = 4
_SIZE_STEP_BITS = 3

Kinds = Callable[[Sequence[int]], dict[int, set[str]]]  # rows to the kinds of what is in them
Floats = npt.NDArray[np.float32]


class Lexical:
    """The full text as readers see it: many threads may share one, each inside a transaction of its generation.

    Args:
        connection: Gives the calling thread's connection.
        parts: The segments of the generation.
    """

    def __init__(self, connection: Callable[[], sqlite3.Connection], parts: Sequence[Segment]) -> None:
        self._connection = connection
        self._segments = parts
        self.documents = sum(part.documents for part in parts)
        self.mean_terms = sum(part.total_length for part in parts) / self.documents if self.documents else 0.0
        self._norms = [_norm(part.lengths, self.mean_terms) for part in parts]
        self._frequencies: dict[int, int] = {}
        self._kept: dict[int, Postings] = {}
        self._kept_size = 0

    def document_frequency(self, term: str) -> int:
        """Return how many chunks hold a term."""
        value = term_hash(term)
        known = self._frequencies.get(value)
        if known is None:
            found = self._postings([value])
            known = sum(
                len(p.documents) if part.gone is None else int(np.count_nonzero(~part.gone[p.documents]))
                for part, (p,) in zip(self._segments, found, strict=True)
            )
            self._frequencies[value] = known
        return known

    def expand(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Return the most frequent terms that start with a prefix, with their document frequencies."""
        rows = self._connection().execute(
            "SELECT term, documents FROM vocabulary WHERE term >= ? AND term < ? ORDER BY documents DESC, term",
            (prefix, prefix + "\U0010ffff"),
        )
        best: list[tuple[str, int]] = []
        for term, most in rows.fetchall():
            # The vocabulary goes on counting what is gone.
            if len(best) == limit and most < best[-1][1]:
                break
            if exact := self.document_frequency(term):
                best = sorted([*best, (term, exact)], key=lambda pair: (-pair[1], pair[0]))[:limit]
        return best

    def search(
        self,
        weighted: Sequence[tuple[str, float]],
        limit: int,
        file_ids: Collection[int] | None = None,
        rows: Collection[int] | None = None,
        kinds: Collection[str] | None = None,
        kinds_of: Kinds | None = None,
    ) -> list[tuple[int, float]]:
        """Return chunk rows and BM25 scores, best first.

        Args:
            weighted: Terms and their weights; a chunk needs at least one of them.
            limit: How many rows at most.
            file_ids: Only chunks of these files, if given.
            rows: Only these chunks, if given.
            kinds: Only chunks that hold something of these kinds, if given.
            kinds_of: Says what kinds are in chunks; needed with `kinds`.
        """
        found_rows: list[Rows] = []
        found_scores: list[Floats] = []
        for part, scores in self._scored(weighted):
            mask = _admitted(part, file_ids, rows)
            where = np.flatnonzero(scores > 0 if mask is None else (scores > 0) & mask)
            if len(where) > limit and kinds is None:
                some = scores[where]
                where = where[some >= np.partition(some, -limit)[-limit]]
            found_rows.append(part.rows[where])
            found_scores.append(scores[where])
        if not found_rows:
            return []
        every, scored = np.concatenate(found_rows), np.concatenate(found_scores)
        order = np.lexsort((every, -scored))
        ranked = list(zip(every[order].tolist(), scored[order].tolist(), strict=True))
        if kinds is not None:
            assert kinds_of is not None
            return list(islice(_of_kinds(ranked, frozenset(kinds), kinds_of), limit))
        return ranked[:limit]

    def _scored(self, weighted: Sequence[tuple[str, float]]) -> Iterator[tuple[Segment, Floats]]:
        gains = [
            weight * inverse_document_frequency(self.documents, self.document_frequency(term))
            for term, weight in weighted
        ]
        found = self._postings([term_hash(term) for term, _ in weighted])
        for part, norm, postings in zip(self._segments, self._norms, found, strict=True):
            if not any(len(p.documents) for p in postings):
                continue
            scores = np.zeros(len(part.rows), np.float32)
            for gain, p in zip(gains, postings, strict=True):
                counts = p.counts.astype(np.float32)
                scores[p.documents] += np.float32(gain * (K1 + 1)) * counts / (counts + norm[p.documents])
            if part.gone is not None:
                scores[part.gone] = 0
            yield part, scores

    def counts(self, rows: Sequence[int], terms: Sequence[str]) -> tuple[Floats, Floats]:
        """Return how often each term occurs in each chunk, of shape (rows, terms), and the chunks' lengths in terms."""
        wanted = np.asarray(rows, np.int64)
        counted = np.zeros((len(rows), len(terms)), np.float32)
        lengths = np.zeros(len(rows), np.float32)
        found = self._postings([term_hash(term) for term in terms])
        for part, postings in zip(self._segments, found, strict=True):
            places = np.minimum(np.searchsorted(part.rows, wanted), len(part.rows) - 1)
            held = part.rows[places] == wanted
            if part.gone is not None:
                held &= ~part.gone[places]
            where = np.flatnonzero(held)
            if not len(where):
                continue
            documents = places[where].astype(np.uint16)
            lengths[where] = part.lengths[documents]
            for column, p in enumerate(postings):
                if len(p.documents):
                    at = np.minimum(np.searchsorted(p.documents, documents), len(p.documents) - 1)
                    counted[where, column] = np.where(p.documents[at] == documents, p.counts[at], 0)
        return counted, lengths

    def _postings(self, values: Sequence[int]) -> list[list[Postings]]:
        """Return, for each segment, the postings of each term, given by its hash."""
        kept = self._kept
        wanted = {segments.posting_key(part.id, value): part for part in self._segments for value in values}
        missing = [key for key in wanted if key not in kept]
        if missing:
            if self._kept_size > _KEPT_POSTINGS:
                # Others may be reading what is kept: they go on with the old one.
                kept = {key: kept[key] for key in wanted if key in kept}
                self._kept, self._kept_size, self._frequencies = kept, _size(kept.values()), {}
            fresh = dict.fromkeys(missing, NO_POSTINGS)
            for batch in batches(missing):
                marks = ",".join("?" * len(batch))
                query = f"SELECT id, entries FROM postings WHERE id IN ({marks})"  # noqa: S608
                for key, entries in self._connection().execute(query, batch):
                    fresh[key] = segments.unpack(wanted[key], entries)
            kept.update(fresh)
            self._kept_size += _size(fresh.values())
        return [[kept[segments.posting_key(part.id, value)] for value in values] for part in self._segments]


def _size(postings: Iterable[Postings]) -> int:
    return sum(_PER_TERM + len(p.documents) for p in postings)


def _norm(lengths: npt.NDArray[np.uint16], mean: float) -> Floats:
    return (K1 * (1 - B + B * lengths / (mean or 1.0))).astype(np.float32)


def _admitted(part: Segment, file_ids: Collection[int] | None, rows: Collection[int] | None) -> Mask | None:
    """Return which documents of a segment the filters leave, or None for all."""
    mask: Mask | None = None
    if file_ids is not None:
        first = np.array(sorted(chunk_key(file_id, 0) for file_id in file_ids), np.int64)
        # The last file that starts at or before each row; a file's rows follow one another.
        owner = np.searchsorted(first, part.rows, side="right") - 1
        width = chunk_key(1, 0)
        mask = (owner >= 0) & (part.rows - first[np.maximum(owner, 0)] < width) if len(first) else owner >= 0
    if rows is not None:
        held = np.isin(part.rows, np.fromiter(rows, np.int64, len(rows)))
        mask = held if mask is None else mask & held
    return mask


def _of_kinds(ranked: list[tuple[int, float]], kinds: frozenset[str], kinds_of: Kinds) -> Iterator[tuple[int, float]]:
    start, step = 0, _KINDS_AT_ONCE
    while start < len(ranked):
        some = ranked[start : start + step]
        held = kinds_of([row for row, _ in some])
        yield from (pair for pair in some if not kinds.isdisjoint(held.get(pair[0], ())))
        start, step = start + step, 2 * step


def inverse_document_frequency(documents: int, frequency: int) -> float:
    """Return the form of the inverse document frequency that is never negative."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class LexicalWriter:
    """Changes the full text inside one transaction of the catalog.

    Args:
        connection: The connection that holds the transaction.
        anew: Start with none.
    """

    def __init__(self, connection: sqlite3.Connection, *, anew: bool) -> None:
        self._connection = connection
        if anew:
            for table in ("segments", "postings", "vocabulary"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608
        self._segments = [] if anew else segments.load(connection)
        self._written = {part.id: part for part in self._segments}
        self._rows: list[int] = []
        self._lengths: list[int] = []
        self._keys: list[Keys] = []
        self._terms: set[str] = set()

    def add(self, rows: Sequence[int], bags: Bags) -> None:
        """Add a file's chunks."""
        if len(self._rows) + len(rows) > MAX_DOCUMENTS:
            self._flush()
        keys = np.frombuffer(bags.keys, "<u8") + (np.uint64(len(self._rows)) << CHUNK_SHIFT)
        self._keys.append(keys)
        self._rows.extend(rows)
        self._lengths.extend(bags.lengths)
        self._terms.update(bags.terms)

    def remove_files(self, file_ids: Iterable[int]) -> None:
        """Remove the chunks of some files, except what was just added and is not written yet."""
        ranges = [(chunk_key(file_id, 0), chunk_key(file_id + 1, 0)) for file_id in file_ids]
        self._segments = [part.without(ranges) for part in self._segments]

    def finish(self) -> int:
        """Write everything, and return how many chunks there are."""
        self._flush()
        for part in self._segments:
            if self._written.get(part.id, part) is not part:
                segments.mark(self._connection, part)
        self._tidy()
        return sum(part.documents for part in self._segments)

    def _flush(self) -> None:
        if self._rows:
            rows, lengths = np.array(self._rows, np.int64), np.minimum(self._lengths, 0xFFFF).astype(np.uint16)
            keys = np.concatenate(self._keys)
            self._keys = []
            part, counts = segments.write(self._connection, rows, lengths, keys)
            self._segments.append(part)
            self._written[part.id] = part
            self._connection.executemany(
                "INSERT INTO vocabulary VALUES (?, ?) "
                "ON CONFLICT (term) DO UPDATE SET documents = documents + excluded.documents",
                [(term, counts[term_hash(term)]) for term in sorted(self._terms)],
            )
        self._rows, self._lengths, self._keys, self._terms = [], [], [], set()

    def _tidy(self) -> None:
        """Join small segments, and drop what is gone where it is the greater part."""
        for part in self._segments:
            if 2 * part.documents < len(part.rows):
                self._join([part])
        while crowd := self._crowd():
            self._join(crowd)

    def _crowd(self) -> list[Segment]:
        """Return segments of about one size that are worth joining, if there are any."""
        sizes: dict[int, list[Segment]] = {}
        for part in sorted(self._segments, key=lambda part: (part.documents, part.id)):
            sizes.setdefault(part.documents.bit_length() // _SIZE_STEP_BITS, []).append(part)
        for crowd in sizes.values():
            total = list(accumulate(part.documents for part in crowd))
            fitting = bisect_right(total, MAX_DOCUMENTS)
            if len(crowd) >= _SIDE_BY_SIDE and fitting > 1:
                return crowd[:fitting]
        return []

    def _join(self, parts: Sequence[Segment]) -> None:
        self._segments = [part for part in self._segments if part not in parts]
        if any(part.documents for part in parts):
            self._segments.append(segments.join(self._connection, parts))
        else:
            for part in parts:
                segments.drop(self._connection, part)
