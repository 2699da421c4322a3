"""The tables of the catalog, and their rows as the other rooms see them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.model import Symbol
from llama_index_codeindex.engine.store.bags import Bags

# Raised when the tables change; an index of another version is built anew.
SCHEMA_VERSION = 5

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    path_key TEXT NOT NULL,
    hash TEXT NOT NULL,
    size INTEGER NOT NULL,
    stamp TEXT NOT NULL,
    language TEXT NOT NULL,
    category TEXT NOT NULL,
    encoding TEXT NOT NULL,
    redactions INTEGER NOT NULL,
    structural INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    prior REAL NOT NULL DEFAULT 0
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    chunk_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    symbol TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    context TEXT NOT NULL,
    part TEXT NOT NULL,
    hash TEXT NOT NULL,
    embed_hash TEXT NOT NULL
);
CREATE INDEX chunks_file ON chunks(file_id);
CREATE INDEX chunks_embed ON chunks(embed_hash);
CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    chunk INTEGER NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    qualified TEXT NOT NULL,
    qualified_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    name_line INTEGER NOT NULL,
    signature TEXT NOT NULL
);
CREATE INDEX symbols_key ON symbols(name_key, file_id, start_line);
CREATE INDEX symbols_name ON symbols(name, file_id);
CREATE INDEX symbols_chunk ON symbols(chunk);
CREATE INDEX symbols_file ON symbols(file_id);
CREATE TABLE refs (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    lines TEXT NOT NULL,
    PRIMARY KEY (name, kind, file_id)
) WITHOUT ROWID;
CREATE INDEX refs_file ON refs(file_id, name);
CREATE TABLE segments (id INTEGER PRIMARY KEY, rows BLOB NOT NULL, lengths BLOB NOT NULL, gone BLOB NOT NULL);
CREATE TABLE postings (id INTEGER PRIMARY KEY, entries BLOB NOT NULL);
CREATE TABLE vocabulary (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE gaps (path TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, stamp TEXT NOT NULL);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, model TEXT NOT NULL, hash TEXT NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_key ON vectors(hash, model);
"""

# The indexes that follow from the content, by name.
INDEXES = {line.split()[2]: line.rstrip(";") for line in SCHEMA.splitlines() if line.startswith("CREATE INDEX")}

_Row = TypeVar("_Row", int, npt.NDArray[np.int64])

# Bits of a chunk's row, and of a key in `Bags`, that number it inside its file: a file of a megabyte has some thousand.
_ORDINAL_BITS = 16
MAX_CHUNKS = 1 << _ORDINAL_BITS


def symbol_key(name: str) -> str:
    """Return the form in which names are looked up: folded case, every separator a dot."""
    for separator in ("::", "->", "#", "/", "\\"):
        name = name.replace(separator, ".")
    return name.casefold().strip(".")


def file_key(path: str) -> int:
    """Return the id of a file: 47 bits of its path's hash.

    Ids are made from the path, not counted, so that an index that grew by refreshes and one built at once hold the same
    rows, and whatever is ordered by row where scores are equal comes in the same order.
    """
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") >> 1


def chunk_key(file_id: int, ordinal: int) -> int:
    """Return the row of a file's chunk; a file's rows follow one another."""
    return (file_id << _ORDINAL_BITS) + ordinal


def file_of_chunk(row: _Row) -> _Row:
    """Return the id of a chunk's file, or of each of many."""
    return row >> _ORDINAL_BITS


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as the catalog knows it."""

    id: int
    path: str
    hash: str
    size: int
    stamp: str  # while it is the same, so is the content; see `Entry`
    language: str
    category: str


class ChunkRow(NamedTuple):
    """A chunk as the catalog knows it."""

    row: int
    chunk_id: str
    file_id: int
    path: str
    language: str
    category: str
    start_line: int
    end_line: int
    offset: int  # where the text starts in its first line, and how many characters it has
    length: int
    symbol: str
    kind: str
    scope: str
    context: str
    hash: str


class FileFacts(NamedTuple):
    """A file as ranking sees it."""

    id: int
    path: str
    category: str
    prior: float


class NewChunk(NamedTuple):
    """A chunk to store, in the order of its table's columns."""

    chunk_id: str
    ordinal: int
    start_line: int
    end_line: int
    offset: int
    length: int
    symbol: str
    kind: str
    scope: str
    context: str
    part: str
    hash: str
    embed_hash: str


class NewSymbol(NamedTuple):
    """A definition to store, in the order of its table's columns."""

    name: str
    name_key: str
    qualified: str
    qualified_key: str
    kind: str
    scope: str
    start_line: int
    end_line: int
    name_line: int
    signature: str


class Content(NamedTuple):
    """What one file brings into the store. Plain tuples, which go from process to process at little cost."""

    language: str
    structural: bool
    problem: str  # why the file was not parsed
    lines: int
    chunks: list[NewChunk]
    bags: Bags
    symbols: list[tuple[int, NewSymbol]]  # each with the number of the chunk that holds its name, or -1
    references: list[tuple[str, str, str]]  # name, kind, and the lines as JSON


@dataclass(frozen=True, slots=True)
class SymbolRow:
    """A definition and where it is."""

    symbol: Symbol
    path: str
    file_id: int
    language: str
    category: str
    chunk_row: int
    prior: float = 0.0
