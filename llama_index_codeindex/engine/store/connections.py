"""SQLite connections for many threads: readers share a bounded pool, and nothing outlives the thread that used it."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Readers at once; each holds two file handles, and macOS grants a process 256. Further readers wait for their turn.
MAX_READERS = 32
# Pages that each connection keeps: with SQLite's 2 MB, a question reads most of its candidates from the file again.
CACHE_KB = 8_000
# SQLite's oldest limit on parameters of one statement is 999.
_BATCH = 900
# SQLite's own wait for another process that holds the database for a moment.
_BUSY_SECONDS = 30.0


class Damage(sqlite3.DatabaseError):
    """What a table holds is not what was written there."""


def is_damage(error: sqlite3.Error) -> bool:
    """Say whether an error means that a database is damaged: SQLite's own subclasses are for misuse and circumstances."""
    return type(error) in (sqlite3.DatabaseError, Damage)


def reason(error: Exception) -> str:
    """Return why the index cannot be used, as the system says it; neither it nor SQLite names a place."""
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno).lower()
    return str(error) if isinstance(error, sqlite3.OperationalError) else type(error).__name__


def batches(values: Sequence[int | str]) -> Iterator[list[int | str]]:
    """Yield values, as many at a time as one statement takes parameters."""
    for start in range(0, len(values), _BATCH):
        yield list(values[start : start + _BATCH])


def open_connection(path: Path | None) -> sqlite3.Connection:
    """Open a connection; a database whose folder cannot be written is opened read-only."""
    if path is None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection
    connection = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit may be lost when the power fails, but never torn; the next refresh makes it again.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return _open_read_only(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Open a database in a folder that cannot be written, where SQLite cannot make its shared memory file."""
    wal = path.with_name(path.name + "-wal")
    has_log = wal.exists() and wal.stat().st_size > 0
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


class _Lease:
    """A connection that is closed when its thread ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class Connections:
    """The connections of one catalog.

    Args:
        path: The file, or None for one in memory, which all threads share.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._free: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MAX_READERS)
        self._reading = threading.local()
        self._loose: weakref.WeakSet[_Lease] = weakref.WeakSet()
        self._own = threading.local()
        self.shared = open_connection(None) if path is None else None
        self._finalizer = weakref.finalize(self, _close_all, self._free, self.shared)

    @property
    def current(self) -> sqlite3.Connection:
        """The connection of the transaction the thread is in, or one of the thread's own."""
        if self.shared is not None:
            return self.shared
        held: sqlite3.Connection | None = getattr(self._reading, "connection", None)
        if held is not None:
            return held
        lease: _Lease | None = getattr(self._own, "lease", None)
        if lease is None:
            lease = self._own.lease = _Lease(open_connection(self._path))
            self._loose.add(lease)
        return lease.connection

    @contextmanager
    def reserve(self) -> Iterator[sqlite3.Connection]:
        """Hold a pooled connection for this thread; inside another reservation, the one already held."""
        if self.shared is not None:
            yield self.shared
            return
        held: sqlite3.Connection | None = getattr(self._reading, "connection", None)
        if held is not None:
            yield held
            return
        with self._room:
            with self._lock:
                connection = self._free.pop() if self._free else None
            if connection is None:
                connection = open_connection(self._path)
            self._reading.connection = connection
            try:
                yield connection
            finally:
                self._reading.connection = None
                if self._finalizer.alive:
                    with self._lock:
                        self._free.append(connection)
                else:
                    connection.close()

    def retire(self) -> None:
        """Close every connection that is not in use; those in use are closed when they are given back."""
        self._finalizer()

    def close(self) -> None:
        """Close every connection, the threads' own included."""
        self._finalizer()
        for lease in list(self._loose):
            lease.connection.close()
        self._own = threading.local()


def _close_all(free: list[sqlite3.Connection], shared: sqlite3.Connection | None) -> None:
    while free:
        free.pop().close()
    if shared is not None:
        shared.close()
