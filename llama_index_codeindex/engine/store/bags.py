"""The bag of words of a chunk: what its exact score is computed from, without reading the file."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.syntax.words import KnownWords, words

_local = threading.local()  # the words of one thread
_ENTRY = np.dtype([("term", "<u4"), ("count", "<u2")])

# BM25 over code. Chunks are cut to one subject, so repetition goes on counting (k1 1.2 with b 0.75 costs 0.005 NDCG@10), and
# they are of one size, so their length says little.
K1 = 6.0
B = 0.12

# A file's own name says more about each of its chunks than any single word in them: counted as often as this.
STEM_COUNT = 8
# What encloses a chunk is part of what it is about.
SCOPE_COUNT = 1

# Names that say nothing about the file; its folder stands in for it.
GENERIC_STEMS = frozenset("index main mod init __init__ lib package core base common impl types util utils".split())


def path_words(path: str) -> str:
    """Return the words by which a file is known: its stem, or its folder's name where the stem is generic."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name.lstrip(".")
    if stem.lower() in GENERIC_STEMS and len(pure.parts) > 1:
        return f"{pure.parts[-2]} {stem}"
    return stem


def name_words(path: str) -> list[str]:
    """Return the words of a file's name, as often as they count in each of its chunks."""
    return STEM_COUNT * words(re.sub(r"[-.]", " ", path_words(path)))


def chunk_words(text: str, name: list[str], scope: str, symbol: str) -> list[str]:
    """Return the words of a chunk as often as they count: its text, its file's `name_words`, and what encloses it."""
    return words(text) + name + SCOPE_COUNT * words(f"{scope} {symbol}")


class Bag(NamedTuple):
    """The terms of a chunk: how many, as stored, and as text."""

    terms: int
    packed: bytes
    text: str


def pack_bags(texts: Sequence[Sequence[str]]) -> list[Bag]:
    """Return the bag of each of some texts, given by their words; a file's chunks together, which costs a third."""
    known = _known_words()
    entries = [[known[word] for word in text] for text in texts]
    hashes = [b"".join([entry[0] for entry in text]) for text in entries]
    sizes = [len(packed) // 4 for packed in hashes]
    # One sort for all: the number of the text in the upper half, the term in the lower.
    keys = np.repeat(np.arange(len(texts), dtype=np.uint64) << np.uint64(32), sizes)
    keys |= np.frombuffer(b"".join(hashes), "<u4")
    keys.sort()
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, np.int64)
    bags = np.empty(len(starts), _ENTRY)
    bags["term"] = keys[starts] & np.uint64(0xFFFFFFFF)
    bags["count"] = np.minimum(np.diff(starts, append=len(keys)), 0xFFFF)
    ends = np.searchsorted(keys[starts] >> np.uint64(32), np.arange(len(texts)), side="right").tolist()
    packed = bags.tobytes()
    width = _ENTRY.itemsize
    return [
        Bag(size, packed[start * width : end * width], " ".join([entry[1] for entry in text]))
        for size, start, end, text in zip(sizes, [0, *ends], ends, entries, strict=False)
    ]


def _known_words() -> KnownWords:
    known: KnownWords | None = getattr(_local, "words", None)
    if known is None:
        known = _local.words = KnownWords()
    return known


def frequencies(bags: Sequence[bytes], hashes: Sequence[int]) -> npt.NDArray[np.float32]:
    """Return how often each term occurs in each bag, as an array of shape (bags, terms)."""
    entries = np.frombuffer(b"".join(bags), _ENTRY)
    owners = np.repeat(np.arange(len(bags)), [len(bag) // _ENTRY.itemsize for bag in bags])
    found = np.zeros((len(bags), len(hashes)), np.float32)
    terms = np.ascontiguousarray(entries["term"])
    for column, wanted in enumerate(hashes):
        where = np.nonzero(terms == np.uint32(wanted))[0]
        found[owners[where], column] = entries["count"][where]
    return found
