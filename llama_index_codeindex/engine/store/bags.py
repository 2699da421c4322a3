"""The bags of words of a file's chunks: what full text is made of."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.model import Chunk
from llama_index_codeindex.engine.syntax.words import KnownWords, split_words, words

# The parts of a key: 32 bits of a term's hash, 16 of a chunk's number, 16 of a count.
TERM_SHIFT = np.uint64(32)
CHUNK_SHIFT = np.uint64(16)
MAX_COUNT = 255  # what a segment keeps of it; BM25 saturates long before

_local = threading.local()  # the words of one thread

# BM25 over code. Chunks are cut to one subject, so repetition goes on counting (k1 1.2 with b 0.75 costs 0.005 NDCG@10), and
# they are of one size, so their length says little.
K1 = 6.0
B = 0.12

# A file's own name says more about each of its chunks than any single word in them: counted as often as this.
STEM_COUNT = 8

# Names that say nothing about the file; its folder stands in for it.
GENERIC_STEMS = frozenset("index main mod init __init__ lib package core base common impl types util utils".split())


def path_words(path: str) -> str:
    """Return the words by which a file is known: its stem, or its folder's name where the stem is generic."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name.lstrip(".")
    if stem.lower() in GENERIC_STEMS and len(pure.parts) > 1:
        return f"{pure.parts[-2]} {stem}"
    return stem


class Bags(NamedTuple):
    """The words of a file's chunks.

    Args:
        lengths: How many terms each chunk has.
        keys: For each term of each chunk one number of 64 bits, in order: the term's hash, the chunk, and how often.
        terms: The terms themselves, each once.
    """

    lengths: list[int]
    keys: bytes
    terms: list[str]


def pack_bags(path: str, chunks: Sequence[Chunk]) -> Bags:
    """Return the words of a file's chunks: their text, the file's name, and what encloses each."""
    known = _known_words()
    known.trim()
    look_up = known.__getitem__
    name = STEM_COUNT * b"".join(map(look_up, words(re.sub(r"[-.]", " ", path_words(path)))))
    # What encloses a chunk is part of what it is about: it counts as if it stood in the chunk once more.
    pieces = [split_words(f"{chunk.text} {chunk.scope} {chunk.symbol}") for chunk in chunks]
    hashes = [b"".join(map(look_up, found)) + name for found in pieces]
    lengths = [len(packed) // 4 for packed in hashes]
    numbers = np.repeat(np.arange(len(chunks), dtype=np.uint64) << CHUNK_SHIFT, lengths)
    keys = np.frombuffer(b"".join(hashes), "<u4").astype(np.uint64) << TERM_SHIFT | numbers
    keys.sort()
    starts = first_of_each(keys)
    counts = np.minimum(np.diff(starts, append=len(keys)), MAX_COUNT).astype(np.uint64)
    keys = keys[starts]
    found = keys >> TERM_SHIFT
    terms = list(map(known.texts.__getitem__, found[first_of_each(found)].tolist()))
    return Bags(lengths, (keys | counts).astype("<u8").tobytes(), terms)


def first_of_each(ordered: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return the positions at which a new value starts."""
    if not len(ordered):
        return np.empty(0, np.intp)
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _known_words() -> KnownWords:
    known: KnownWords | None = getattr(_local, "words", None)
    if known is None:
        known = _local.words = KnownWords()
    return known
