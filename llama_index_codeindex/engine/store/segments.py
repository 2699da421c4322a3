"""Segments: the full text of a set of chunks, as rows of the catalog that are written once.

A segment has a row with its chunks, and one row of postings per term with the chunks that hold it. What leaves the index
is only marked as gone; small segments are joined, so that a question asks few (the design of Lucene's index, in tables).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.store.bags import CHUNK_SHIFT, MAX_COUNT, TERM_SHIFT, first_of_each
from llama_index_codeindex.engine.store.connections import Damage

# A document's number has 16 bits. With half of those a segment is made in 80 MB, and of a million chunks there are thirty;
# a single file of more chunks has a segment of its own.
MAX_DOCUMENTS = 1 << 15

_POSTING = np.dtype([("document", "<u2"), ("count", "u1")])
_LOW = np.uint64(0xFFFF)
_TERM_BITS = 32

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Segment:
    """The chunks of a segment, by document number: their rows in ascending order, their lengths in terms, and who is gone."""

    id: int
    rows: Rows
    lengths: npt.NDArray[np.uint16]
    gone: Mask | None = None

    @cached_property
    def documents(self) -> int:
        """How many chunks there are and not gone."""
        return len(self.rows) - (int(np.count_nonzero(self.gone)) if self.gone is not None else 0)

    @cached_property
    def total_length(self) -> int:
        """The terms of all of them together."""
        lengths = self.lengths if self.gone is None else self.lengths[~self.gone]
        return int(lengths.sum(dtype=np.int64))

    def without(self, ranges: Iterable[tuple[int, int]]) -> Segment:
        """Return the segment with the rows of some ranges gone, or itself if it has none of them."""
        gone: Mask | None = None
        for first, end in ranges:
            low, high = np.searchsorted(self.rows, [first, end])
            if low < high:
                if gone is None:
                    gone = np.zeros(len(self.rows), np.bool_) if self.gone is None else self.gone.copy()
                gone[low:high] = True
        return self if gone is None else replace(self, gone=gone)


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents that hold a term, in order, and how often."""

    documents: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.uint8]


NO_POSTINGS = Postings(np.empty(0, np.uint16), np.empty(0, np.uint8))


def load(connection: sqlite3.Connection) -> list[Segment]:
    """Return all segments.

    Raises:
        Damage: One is damaged.
    """
    query = "SELECT id, rows, lengths, gone FROM segments ORDER BY id"
    try:
        return [_load(*row) for row in connection.execute(query)]
    except (TypeError, ValueError):
        raise Damage("damaged segments") from None


def _load(number: int, rows: bytes, lengths: bytes, gone: bytes) -> Segment:
    segment = Segment(number, np.frombuffer(rows, "<i8"), np.frombuffer(lengths, "<u2"))
    if len(segment.lengths) != len(segment.rows):
        raise ValueError("lengths without rows")
    if not gone:
        return segment
    packed = np.frombuffer(gone, np.uint8)
    if len(packed) != (len(segment.rows) + 7) // 8:
        raise ValueError("a mask of another size")
    return replace(segment, gone=np.unpackbits(packed, count=len(segment.rows)).astype(np.bool_))


def posting_key(segment: int, term: int) -> int:
    """Return the row of a term's postings."""
    return segment << _TERM_BITS | term


def unpack(segment: Segment, entries: bytes) -> Postings:
    """Return postings as they are stored.

    Raises:
        Damage: They are damaged.
    """
    try:
        found = np.frombuffer(entries, _POSTING)
        documents = np.ascontiguousarray(found["document"])
        if documents.max() < len(segment.rows):
            return Postings(documents, np.ascontiguousarray(found["count"]))
    except (TypeError, ValueError, IndexError):
        pass
    raise Damage("damaged postings")


def write(
    connection: sqlite3.Connection, rows: Rows, lengths: npt.NDArray[np.uint16], keys: Keys
) -> tuple[Segment, dict[int, int]]:
    """Write a segment; return it, and how many of its chunks hold each term, by the term's hash.

    Args:
        connection: A connection inside a transaction.
        rows: The rows of its chunks, each once, in any order.
        lengths: Their lengths in terms.
        keys: Its postings as in `Bags`, with the positions in `rows` as numbers, in any order.
    """
    order = np.argsort(rows)
    numbers = np.empty(len(rows), np.uint64)
    numbers[order] = np.arange(len(rows), dtype=np.uint64)
    counts = np.minimum(keys & _LOW, np.uint64(MAX_COUNT))
    keys = keys >> TERM_SHIFT << TERM_SHIFT | numbers[keys >> CHUNK_SHIFT & _LOW] << CHUNK_SHIFT | counts
    keys.sort()
    found = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM segments").fetchone()
    segment = Segment(int(found[0]), rows[order], lengths[order])
    connection.execute(
        "INSERT INTO segments VALUES (?, ?, ?, x'')",
        (segment.id, segment.rows.astype("<i8").tobytes(), segment.lengths.astype("<u2").tobytes()),
    )
    terms = keys >> TERM_SHIFT
    starts = first_of_each(terms)
    entries = np.empty(len(keys), _POSTING)
    entries["document"] = keys >> CHUNK_SHIFT & _LOW
    entries["count"] = keys & _LOW
    packed, width = entries.tobytes(), _POSTING.itemsize
    bounds = [*starts.tolist(), len(keys)]
    held = terms[starts].tolist()
    connection.executemany(
        "INSERT INTO postings VALUES (?, ?)",
        (
            (posting_key(segment.id, term), packed[start * width : end * width])
            for term, start, end in zip(held, bounds, bounds[1:], strict=False)
        ),
    )
    return segment, {term: end - start for term, start, end in zip(held, bounds, bounds[1:], strict=False)}


def mark(connection: sqlite3.Connection, segment: Segment) -> None:
    """Note who is gone from a segment."""
    gone = b"" if segment.gone is None else np.packbits(segment.gone).tobytes()
    connection.execute("UPDATE segments SET gone = ? WHERE id = ?", (gone, segment.id))


def drop(connection: sqlite3.Connection, segment: Segment) -> None:
    """Remove a segment."""
    bounds = posting_key(segment.id, 0), posting_key(segment.id + 1, 0)
    connection.execute("DELETE FROM postings WHERE id >= ? AND id < ?", bounds)
    connection.execute("DELETE FROM segments WHERE id = ?", (segment.id,))


def join(connection: sqlite3.Connection, segments: Sequence[Segment]) -> Segment:
    """Write one segment in the place of several, without what is gone."""
    rows, lengths, keys = [], [], []
    start = 0
    for segment in segments:
        held = np.ones(len(segment.rows), np.bool_) if segment.gone is None else ~segment.gone
        numbers = (np.cumsum(held) - 1 + start).astype(np.uint64)
        some = _keys(connection, segment)
        documents = some >> CHUNK_SHIFT & _LOW
        some = (some >> TERM_SHIFT << TERM_SHIFT | numbers[documents] << CHUNK_SHIFT | some & _LOW)[held[documents]]
        rows.append(segment.rows[held])
        lengths.append(segment.lengths[held])
        keys.append(some)
        start += segment.documents
        drop(connection, segment)
    return write(connection, np.concatenate(rows), np.concatenate(lengths), np.concatenate(keys))[0]


def _keys(connection: sqlite3.Connection, segment: Segment) -> Keys:
    """Return all postings of a segment as keys.

    Raises:
        Damage: They are damaged.
    """
    bounds = posting_key(segment.id, 0), posting_key(segment.id + 1, 0)
    stored = connection.execute(
        "SELECT id, entries FROM postings WHERE id >= ? AND id < ? ORDER BY id", bounds
    ).fetchall()
    terms = np.array([number for number, _ in stored], np.int64).astype(np.uint64) << TERM_SHIFT
    try:
        entries = np.frombuffer(b"".join([packed for _, packed in stored]), _POSTING)
        keys = np.repeat(terms, [len(packed) // _POSTING.itemsize for _, packed in stored])
        if entries["document"].max(initial=0) >= len(segment.rows):
            raise ValueError("a document that is not there")
        keys |= entries["document"].astype(np.uint64) << CHUNK_SHIFT
    except (TypeError, ValueError):
        raise Damage("damaged postings") from None
    keys |= entries["count"]
    return keys
