"""The catalog: one SQLite file that holds everything an index knows, and publishes a generation in one transaction."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llama_index_codeindex.engine.model import Gap, SourceFile, Symbol
from llama_index_codeindex.engine.store import soundness
from llama_index_codeindex.engine.store.connections import CACHE_KB, Connections, batches
from llama_index_codeindex.engine.store.rows import (
    INDEXES,
    SCHEMA,
    SCHEMA_VERSION,
    ChunkRow,
    FileFacts,
    FileRow,
    NewChunk,
    NewSymbol,
    SymbolRow,
    chunk_key,
    file_key,
    symbol_key,
)
from llama_index_codeindex.engine.store.vector_table import VectorTable

__all__ = [
    "SCHEMA_VERSION",
    "Catalog",
    "ChunkRow",
    "FileRow",
    "NewChunk",
    "SymbolRow",
    "file_key",
    "symbol_key",
]

# With a reader's cache, building an index of 50 MB writes and reads most pages several times.
_WRITER_CACHE_KB = 32_768

_FILE_COLUMNS = "id, path, hash, size, stamp, language, category"
_CHUNK_COLUMNS = (
    "c.id, c.chunk_id, c.file_id, f.path, f.language, f.category, c.start_line, c.end_line, c.offset, c.length, "
    "c.symbol, c.kind, c.scope, c.context, c.hash"
)
_SYMBOL_COLUMNS = (
    "s.name, s.qualified, s.kind, s.scope, s.start_line, s.end_line, s.name_line, s.signature, f.path, s.file_id, "
    "f.language, f.category, s.chunk, f.prior"
)


# What was inserted when must not show: an index that grew answers like one built at once.
_SYMBOL_ORDER = "s.file_id, s.start_line, s.name_line, s.end_line, s.qualified, s.kind"


class Catalog:
    """One catalog. Threads get connections of their own; only the holder of the writer's lock writes.

    Args:
        path: The file, or None for one in memory, which all threads share.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connections = Connections(path)
        self.vectors = VectorTable(self._connections)
        self._lock = threading.RLock()  # one transaction at a time where all threads share the connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's connection."""
        return self._connections.current

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def retire(self) -> None:
        """Close the connections as soon as their readers are done; another catalog has taken this one's place."""
        self._connections.retire()

    # -- transactions ------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one snapshot: every statement inside sees the same generation."""
        if self._connections.shared is not None:
            with self._lock:
                yield
            return
        with self._connections.reserve() as connection:
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
        with self._lock, self._connections.reserve() as connection:
            connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KB}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")

    # -- the whole -----------------------------------------------------------------------------------------------------

    def create(self, root: str = "") -> None:
        """Make the tables if there are none, and note what root they are of."""
        if self.is_empty():
            with self.writing():
                if self.is_empty():  # not made by another process meanwhile
                    for statement in SCHEMA.split(";"):
                        self.connection.execute(statement)
                    self.set_meta({"schema": str(SCHEMA_VERSION), "root": root})

    def is_empty(self) -> bool:
        """Say whether there are no tables."""
        return not self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()

    def is_sound(self) -> bool:
        """Say whether the file is a catalog of this version without visible damage.

        What was checked and is unchanged is not checked again; what a check would miss shows when it is read.
        """
        state = soundness.state_of(self._path) if self._path is not None else ""  # before opening it may change it
        try:
            with self.reading():
                if self.is_empty():
                    return not self.connection.execute("SELECT 1 FROM sqlite_master").fetchone()
                if self.meta().get("schema") != str(SCHEMA_VERSION):
                    return False
                if self._path is None or soundness.is_noted(self._path, state):
                    return True
                if self.connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                    return False
                soundness.note(self._path, state)
                return True
        except sqlite3.OperationalError:
            raise  # it cannot be opened, which says nothing about what is in it
        except sqlite3.DatabaseError:
            return False

    def meta(self) -> dict[str, str]:
        """Return the key-value facts of the current generation."""
        return dict(self.connection.execute("SELECT key, value FROM meta"))

    def set_meta(self, values: dict[str, str]) -> None:
        """Set key-value facts."""
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def count_files(self) -> int:
        """Return how many files there are."""
        return int(self.connection.execute("SELECT count(*) FROM files").fetchone()[0])

    def start_over(self) -> None:
        """Drop all content, and the indexes until `create_indexes`: made at the end, they cost a third."""
        for table in ("refs", "symbols", "chunks", "files"):  # what hangs on files before the files
            self.connection.execute(f"DELETE FROM {table}")  # noqa: S608
        for name in INDEXES:
            self.connection.execute(f"DROP INDEX IF EXISTS {name}")

    def create_indexes(self) -> None:
        """Make the indexes that `start_over` dropped."""
        for statement in INDEXES.values():
            self.connection.execute(statement)

    # -- files ---------------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, FileRow]:
        """Return all files by path."""
        rows = self.connection.execute(f"SELECT {_FILE_COLUMNS} FROM files")  # noqa: S608
        return {row[1]: FileRow(*row) for row in rows}

    def file(self, path: str) -> FileRow | None:
        """Return one file, or None if it is not in the index."""
        row = self.connection.execute(f"SELECT {_FILE_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()  # noqa: S608
        return FileRow(*row) if row else None

    def add_file(
        self, file: SourceFile, *, hash: str, language: str, category: str, encoding: str, redactions: int,  # noqa: A002
        structural: bool, lines: int, path_key: str, stamp: str = "",
    ) -> int:  # fmt: skip
        """Insert a file and return its id."""
        file_id = file_key(file.path)
        while self.connection.execute("SELECT 1 FROM files WHERE id = ?", (file_id,)).fetchone():
            file_id += 1  # another path of the same 47 bits
        self.connection.execute(
            "INSERT INTO files (id, path, path_key, hash, size, stamp, language, category, encoding, redactions, "
            "structural, lines) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file_id, file.path, path_key, hash, file.size, stamp, language, category, encoding, redactions,
             int(structural), lines),
        )  # fmt: skip
        return file_id

    def touch_files(self, files: Iterable[tuple[str, int, str]]) -> None:
        """Note new sizes and stamps, by path, of files whose content is unchanged."""
        self.connection.executemany(
            "UPDATE files SET size = ?, stamp = ? WHERE path = ?", [(size, stamp, path) for path, size, stamp in files]
        )

    def remove_files(self, ids: Sequence[int]) -> None:
        """Delete files with everything that hangs on them."""
        self.connection.executemany("DELETE FROM files WHERE id = ?", [(i,) for i in ids])

    def add_chunks(self, file_id: int, chunks: Sequence[NewChunk]) -> list[int]:
        """Insert a file's chunks and return their rows."""
        rows = [chunk_key(file_id, number) for number in range(len(chunks))]
        self.connection.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(row, file_id, *chunk) for row, chunk in zip(rows, chunks, strict=True)],
        )
        return rows

    def add_symbols(self, file_id: int, symbols: Iterable[tuple[int, NewSymbol]]) -> None:
        """Insert a file's symbols, each with the row of the chunk that holds its name."""
        self.connection.executemany(
            "INSERT INTO symbols (file_id, chunk, name, name_key, qualified, qualified_key, kind, scope, start_line, "
            "end_line, name_line, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(file_id, row, *symbol) for row, symbol in symbols],
        )

    def add_references(self, file_id: int, references: Iterable[tuple[str, str, str]]) -> None:
        """Insert a file's references: name, kind, and lines as JSON."""
        self.connection.executemany(
            "INSERT INTO refs VALUES (?, ?, ?, ?)", [(name, kind, file_id, lines) for name, kind, lines in references]
        )

    def set_gaps(self, gaps: Iterable[tuple[Gap, str]]) -> None:
        """Replace the list of gaps, each with the stamp of the content that was looked at, or an empty one."""
        self.connection.execute("DELETE FROM gaps")
        self.connection.executemany(
            "INSERT INTO gaps VALUES (?, ?, ?, ?)", [(g.path, g.reason, g.detail, stamp) for g, stamp in gaps]
        )

    def gaps(self) -> list[Gap]:
        """Return the gaps by path."""
        return [gap for gap, _ in self.stamped_gaps()]

    def stamped_gaps(self) -> list[tuple[Gap, str]]:
        """Return the gaps by path, each with its stamp."""
        rows = self.connection.execute("SELECT path, reason, detail, stamp FROM gaps ORDER BY path, reason, detail")
        return [(Gap(*row[:3]), row[3]) for row in rows]

    # -- what searching asks -------------------------------------------------------------------------------------------

    def file_facts(self, ids: Sequence[int]) -> dict[int, FileFacts]:
        """Return what ranking needs of some files, by id; those that are gone are left out."""
        found: dict[int, FileFacts] = {}
        for batch in batches(ids):
            marks = ",".join("?" * len(batch))
            query = f"SELECT id, path, category, prior FROM files WHERE id IN ({marks})"  # noqa: S608
            found.update((row[0], FileFacts._make(row)) for row in self.connection.execute(query, batch))
        return found

    def chunk_rows(self, rows: Sequence[int]) -> list[ChunkRow]:
        """Return chunks by row; rows that are gone are left out."""
        return [ChunkRow._make(row) for row in self._of_chunks(_CHUNK_COLUMNS, "c.id", rows)]

    def kinds_of_chunks(self, rows: Sequence[int]) -> dict[int, set[str]]:
        """Return what kinds of definitions are in chunks."""
        kinds: dict[int, set[str]] = {}
        for batch in batches(rows):
            marks = ",".join("?" * len(batch))
            for table, column in (("chunks", "id"), ("symbols", "chunk")):
                query = f"SELECT {column}, kind FROM {table} WHERE {column} IN ({marks})"  # noqa: S608
                for row, kind in self.connection.execute(query, batch):
                    kinds.setdefault(row, set()).add(kind)
        return kinds

    def file_chunks(self, file_ids: Sequence[int]) -> list[ChunkRow]:
        """Return all chunks of some files, in the order of the files."""
        chunks = [ChunkRow._make(row) for row in self._of_chunks(_CHUNK_COLUMNS, "c.file_id", file_ids)]
        return sorted(chunks, key=lambda c: (c.path, c.start_line, c.row))

    def _of_chunks(self, columns: str, column: str, values: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        for batch in batches(values):
            marks = ",".join("?" * len(batch))
            query = f"SELECT {columns} FROM chunks c JOIN files f ON f.id = c.file_id WHERE {column} IN ({marks})"  # noqa: S608
            yield from self.connection.execute(query, batch)

    def symbols_named(self, names: Sequence[str], limit: int = 400) -> list[SymbolRow]:
        """Return the definitions whose bare name is one of these, whatever the case."""
        found: list[SymbolRow] = []
        for batch in batches([name.casefold() for name in names]):
            marks = ",".join("?" * len(batch))
            found.extend(self._symbols(f"s.name_key IN ({marks}) ORDER BY {_SYMBOL_ORDER} LIMIT {int(limit)}", batch))
        return found

    def symbols_with_prefix(self, prefix: str, limit: int = 50) -> list[SymbolRow]:
        """Return definitions whose bare name starts with this, shortest names first."""
        low = prefix.casefold()
        return self._symbols(
            f"s.name_key >= ? AND s.name_key < ? ORDER BY length(s.name), s.name, {_SYMBOL_ORDER} LIMIT {int(limit)}",
            (low, low + "\U0010ffff"),
        )

    def symbols_of_chunks(self, rows: Sequence[int]) -> list[SymbolRow]:
        """Return the definitions whose names stand in some chunks, in order."""
        found: list[SymbolRow] = []
        for batch in batches(rows):
            marks = ",".join("?" * len(batch))
            found.extend(self._symbols(f"s.chunk IN ({marks}) ORDER BY s.file_id, s.start_line, s.id", batch))
        return found

    def symbols_of_file(self, file_id: int) -> list[SymbolRow]:
        """Return the definitions of a file, in order."""
        return self._symbols(f"s.file_id = ? ORDER BY {_SYMBOL_ORDER}", (file_id,))

    def _symbols(self, condition: str, values: Sequence[object]) -> list[SymbolRow]:
        query = f"SELECT {_SYMBOL_COLUMNS} FROM symbols s JOIN files f ON f.id = s.file_id WHERE {condition}"  # noqa: S608
        return [SymbolRow(Symbol(*row[:8]), *row[8:]) for row in self.connection.execute(query, values)]

    def paths(self) -> list[tuple[int, str]]:
        """Return the id and the path of every file, by path."""
        return list(self.connection.execute("SELECT id, path FROM files ORDER BY path"))

    def path_keys(self) -> list[tuple[int, str]]:
        """Return the id of every file, and its path in the form in which paths are looked up."""
        return list(self.connection.execute("SELECT id, path_key FROM files"))

    def references_named(self, name: str) -> list[tuple[str, str, list[int], str]]:
        """Return where a name is used: path, kind, lines and the file's category."""
        rows = self.connection.execute(
            "SELECT f.path, r.kind, r.lines, f.category FROM refs r JOIN files f ON f.id = r.file_id "
            "WHERE r.name = ? ORDER BY f.path, r.kind",
            (name,),
        )
        return [(path, kind, json.loads(lines), category) for path, kind, lines, category in rows]
