"""The catalog: one SQLite file that holds everything an index knows, and publishes a generation in one transaction."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from llama_index_codeindex.engine.model import Gap, Reference, SourceFile, Symbol

# Raised when the tables change; an index of another version is built anew.
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    path_key TEXT NOT NULL,
    hash TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    language TEXT NOT NULL,
    category TEXT NOT NULL,
    encoding TEXT NOT NULL,
    redactions INTEGER NOT NULL,
    structural INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    prior REAL NOT NULL DEFAULT 0
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
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
    embed_hash TEXT NOT NULL,
    terms INTEGER NOT NULL,
    bag BLOB NOT NULL
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
CREATE INDEX symbols_name ON symbols(name_key);
CREATE INDEX symbols_file ON symbols(file_id);
CREATE TABLE refs (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    lines TEXT NOT NULL,
    PRIMARY KEY (name, kind, file_id)
) WITHOUT ROWID;
CREATE INDEX refs_file ON refs(file_id);
CREATE TABLE gaps (path TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE vectors (
    model TEXT NOT NULL,
    hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, hash)
) WITHOUT ROWID;
"""

# SQLite's oldest limit on parameters of one statement is 999.
_BATCH = 900


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as the catalog knows it."""

    id: int
    path: str
    hash: str
    size: int
    mtime_ns: int
    language: str
    category: str


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as the catalog knows it, with what ranking needs of its file."""

    row: int
    chunk_id: str
    file_id: int
    path: str
    language: str
    category: str
    prior: float
    start_line: int
    end_line: int
    offset: int  # where the text starts in its first line, and how many characters it has
    length: int
    symbol: str
    kind: str
    scope: str
    context: str
    hash: str
    embed_hash: str
    terms: int
    bag: bytes


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk to store."""

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
    terms: int
    bag: bytes


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


def symbol_key(name: str) -> str:
    """Return the form in which names are looked up: folded case, every separator a dot."""
    for separator in ("::", "->", "#", "/", "\\"):
        name = name.replace(separator, ".")
    return name.casefold().strip(".")


_CHUNK_COLUMNS = (
    "c.id, c.chunk_id, c.file_id, f.path, f.language, f.category, f.prior, c.start_line, c.end_line, c.offset, "
    "c.length, c.symbol, c.kind, c.scope, c.context, c.hash, c.embed_hash, c.terms, c.bag"
)
_SYMBOL_COLUMNS = (
    "s.name, s.qualified, s.kind, s.scope, s.start_line, s.end_line, s.name_line, s.signature, f.path, s.file_id, "
    "f.language, f.category, s.chunk, f.prior"
)


class Catalog:
    """One catalog. Threads get connections of their own; only the holder of the writer's lock writes.

    Args:
        path: The file, or None for one in memory, which all threads share.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._local = threading.local()
        self._shared = self._connect() if path is None else None
        self._shared_lock = threading.RLock()
        self._connections: list[sqlite3.Connection] = [self._shared] if self._shared else []

    def _connect(self) -> sqlite3.Connection:
        target = ":memory:" if self._path is None else str(self._path)
        connection = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=30)
        if self._path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's connection."""
        if self._shared is not None:
            return self._shared
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()

    # -- transactions ------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one snapshot: every statement inside sees the same generation."""
        if self._shared is not None:
            with self._shared_lock:
                yield
            return
        connection = self.connection
        if connection.in_transaction:
            yield
            return
        connection.execute("BEGIN")
        try:
            yield
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Publish everything inside at once, or nothing of it."""
        with self._shared_lock:
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    # -- the whole -----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Make the tables if there are none."""
        if not self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            self.connection.executescript("BEGIN;" + _SCHEMA + "COMMIT;")

    def is_sound(self) -> bool:
        """Say whether the file is a catalog of this version without visible damage."""
        try:
            if not self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                return True
            return bool(self.connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        except sqlite3.DatabaseError:
            return False

    def meta(self) -> dict[str, str]:
        """Return the key-value facts of the current generation."""
        return dict(self.connection.execute("SELECT key, value FROM meta"))

    def set_meta(self, values: dict[str, str]) -> None:
        """Set key-value facts."""
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def counts(self) -> tuple[int, int]:
        """Return how many files and chunks there are."""
        row = self.connection.execute("SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM chunks)").fetchone()
        return row[0], row[1]

    # -- files ---------------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, FileRow]:
        """Return all files by path."""
        rows = self.connection.execute("SELECT id, path, hash, size, mtime_ns, language, category FROM files")
        return {row[1]: FileRow(*row) for row in rows}

    def add_file(
        self, file: SourceFile, *, hash: str, language: str, category: str, encoding: str, redactions: int,  # noqa: A002
        structural: bool, lines: int, path_key: str,
    ) -> int:  # fmt: skip
        """Insert a file and return its id."""
        cursor = self.connection.execute(
            "INSERT INTO files (path, path_key, hash, size, mtime_ns, language, category, encoding, redactions, "
            "structural, lines) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file.path, path_key, hash, file.size, file.mtime_ns, language, category, encoding, redactions,
             int(structural), lines),
        )  # fmt: skip
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def touch_files(self, files: Iterable[SourceFile]) -> None:
        """Note new sizes and times of files whose content is unchanged."""
        self.connection.executemany(
            "UPDATE files SET size = ?, mtime_ns = ? WHERE path = ?", [(f.size, f.mtime_ns, f.path) for f in files]
        )

    def remove_files(self, ids: Sequence[int]) -> None:
        """Delete files with everything that hangs on them."""
        self.connection.executemany("DELETE FROM files WHERE id = ?", [(i,) for i in ids])

    def add_chunks(self, file_id: int, chunks: Sequence[NewChunk]) -> list[int]:
        """Insert a file's chunks and return their rows."""
        rows = []
        for c in chunks:
            cursor = self.connection.execute(
                "INSERT INTO chunks (file_id, chunk_id, ordinal, start_line, end_line, offset, length, symbol, kind, scope, "
                "context, part, hash, embed_hash, terms, bag) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (file_id, c.chunk_id, c.ordinal, c.start_line, c.end_line, c.offset, c.length, c.symbol, c.kind,
                 c.scope, c.context, c.part, c.hash, c.embed_hash, c.terms, c.bag),
            )  # fmt: skip
            rows.append(cursor.lastrowid or 0)
        return rows

    def add_symbols(self, file_id: int, symbols: Iterable[tuple[Symbol, int]]) -> None:
        """Insert a file's symbols, each with the row of the chunk that holds its name."""
        self.connection.executemany(
            "INSERT INTO symbols (file_id, chunk, name, name_key, qualified, qualified_key, kind, scope, start_line, "
            "end_line, name_line, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (file_id, row, s.name, s.name.casefold(), s.qualified, symbol_key(s.qualified), s.kind, s.scope,
                 s.start_line, s.end_line, s.name_line, s.signature)
                for s, row in symbols
            ],
        )  # fmt: skip

    def add_references(self, file_id: int, references: Iterable[Reference]) -> None:
        """Insert a file's references, one row per name and kind."""
        grouped: dict[tuple[str, str], list[int]] = {}
        for reference in references:
            grouped.setdefault((reference.name, reference.kind), []).append(reference.line)
        self.connection.executemany(
            "INSERT INTO refs VALUES (?, ?, ?, ?)",
            [(name, kind, file_id, json.dumps(lines)) for (name, kind), lines in grouped.items()],
        )

    def set_gaps(self, gaps: Iterable[Gap]) -> None:
        """Replace the list of gaps."""
        self.connection.execute("DELETE FROM gaps")
        self.connection.executemany("INSERT INTO gaps VALUES (?, ?, ?)", [(g.path, g.reason, g.detail) for g in gaps])

    def gaps(self) -> list[Gap]:
        """Return the gaps in the order of the walk."""
        return [Gap(*row) for row in self.connection.execute("SELECT path, reason, detail FROM gaps ORDER BY rowid")]

    def update_priors(self) -> None:
        """Count, for every file, the other files that use a name which this file alone defines."""
        self.connection.execute(
            """
            WITH sole AS (
                SELECT name, min(file_id) AS file_id FROM symbols
                WHERE length(name) > 3 GROUP BY name HAVING min(file_id) = max(file_id)
            ), used AS (
                SELECT sole.file_id AS file_id, count(DISTINCT refs.file_id) AS users
                FROM sole JOIN refs ON refs.name = sole.name AND refs.file_id <> sole.file_id GROUP BY sole.file_id
            )
            UPDATE files SET prior = coalesce((SELECT users FROM used WHERE used.file_id = files.id), 0)
            """
        )

    # -- what searching asks -------------------------------------------------------------------------------------------

    def chunk_rows(self, rows: Sequence[int]) -> list[ChunkRow]:
        """Return chunks by row; rows that are gone are left out."""
        return list(self._chunks("c.id", rows))

    def file_chunks(self, file_ids: Sequence[int]) -> list[ChunkRow]:
        """Return all chunks of some files, in the order of the files."""
        return sorted(self._chunks("c.file_id", file_ids), key=lambda c: (c.path, c.start_line, c.row))

    def _chunks(self, column: str, values: Sequence[int]) -> Iterator[ChunkRow]:
        for batch in _batches(values):
            marks = ",".join("?" * len(batch))
            query = (
                f"SELECT {_CHUNK_COLUMNS} FROM chunks c JOIN files f ON f.id = c.file_id WHERE {column} IN ({marks})"  # noqa: S608
            )
            for row in self.connection.execute(query, batch):
                yield ChunkRow(*row)

    def symbols_named(self, names: Sequence[str], limit: int = 400) -> list[SymbolRow]:
        """Return the definitions whose bare name is one of these, whatever the case."""
        found: list[SymbolRow] = []
        for batch in _batches([name.casefold() for name in names]):
            marks = ",".join("?" * len(batch))
            found.extend(self._symbols(f"s.name_key IN ({marks}) LIMIT {int(limit)}", batch))
        return found

    def symbols_with_prefix(self, prefix: str, limit: int = 50) -> list[SymbolRow]:
        """Return definitions whose bare name starts with this, shortest names first."""
        low = prefix.casefold()
        return self._symbols(
            f"s.name_key >= ? AND s.name_key < ? ORDER BY length(s.name), s.name, s.file_id LIMIT {int(limit)}",
            (low, low + "\U0010ffff"),
        )

    def symbols_of_file(self, file_id: int) -> list[SymbolRow]:
        """Return the definitions of a file, in order."""
        return self._symbols("s.file_id = ? ORDER BY s.start_line, s.id", (file_id,))

    def all_symbols(self) -> Iterator[SymbolRow]:
        """Yield every definition, file by file."""
        yield from self._symbols("1 ORDER BY f.path, s.start_line", ())

    def _symbols(self, condition: str, values: Sequence[object]) -> list[SymbolRow]:
        query = f"SELECT {_SYMBOL_COLUMNS} FROM symbols s JOIN files f ON f.id = s.file_id WHERE {condition}"  # noqa: S608
        return [SymbolRow(Symbol(*row[:8]), *row[8:]) for row in self.connection.execute(query, values)]

    def paths(self) -> list[tuple[int, str, str]]:
        """Return every file's id, path, and the path in the form it is looked up in."""
        return list(self.connection.execute("SELECT id, path, path_key FROM files ORDER BY path"))

    def references_named(self, name: str) -> list[tuple[str, str, list[int], str]]:
        """Return where a name is used: path, kind, lines and the file's category."""
        rows = self.connection.execute(
            "SELECT f.path, r.kind, r.lines, f.category FROM refs r JOIN files f ON f.id = r.file_id "
            "WHERE r.name = ? ORDER BY f.path, r.kind",
            (name,),
        )
        return [(path, kind, json.loads(lines), category) for path, kind, lines, category in rows]

    def mean_terms(self) -> float:
        """Return the mean length of a chunk in terms."""
        return float(self.connection.execute("SELECT coalesce(avg(terms), 0) FROM chunks").fetchone()[0])

    # -- vectors -------------------------------------------------------------------------------------------------------

    def missing_vectors(self, model: str) -> list[tuple[str, int]]:
        """Return the text hashes without a vector of this model, each with a chunk row that has the text."""
        return list(
            self.connection.execute(
                "SELECT c.embed_hash, min(c.id) FROM chunks c LEFT JOIN vectors v ON v.model = ? AND v.hash = c.embed_hash "
                "WHERE v.hash IS NULL GROUP BY c.embed_hash ORDER BY min(c.id)",
                (model,),
            )
        )

    def add_vectors(self, model: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Store vectors by text hash."""
        self.connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", [(model, key, vector) for key, vector in vectors]
        )

    def vectors(self, model: str) -> Iterator[tuple[int, bytes]]:
        """Yield every chunk's row and vector, for chunks that have one."""
        yield from self.connection.execute(
            "SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.model = ? AND v.hash = c.embed_hash ORDER BY c.id",
            (model,),
        )

    def prune_vectors(self) -> None:
        """Drop the vectors that no chunk refers to."""
        self.connection.execute("DELETE FROM vectors WHERE hash NOT IN (SELECT embed_hash FROM chunks)")


def _batches(values: Sequence[object]) -> Iterator[list[object]]:
    for start in range(0, len(values), _BATCH):
        yield list(values[start : start + _BATCH])
