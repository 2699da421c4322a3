"""How much other files use each file: the prior of its places in the ranking."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

# With more files changed than this, counting everything anew is quicker than finding out what may differ.
_FEW = 50
# Shorter names are the same everywhere by chance.
_MIN_NAME = 4

# A name that one file alone defines is used by the others; handed on as a value, it may as well be a variable of theirs.
_USERS = """
    WITH sole AS (
        SELECT name, min(file_id) AS file_id FROM symbols WHERE length(name) >= :shortest {among}
        GROUP BY name HAVING min(file_id) = max(file_id)
    )
    SELECT sole.file_id, count(DISTINCT refs.file_id) FROM sole
    JOIN refs ON refs.name = sole.name AND refs.kind <> 'value' AND refs.file_id <> sole.file_id GROUP BY sole.file_id
"""


class Priors:
    """Keeps the priors of one transaction right: tell it of every file before it goes and after it came, then update.

    Args:
        connection: The connection of the transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changed: set[int] = set()
        self._names: set[str] = set()  # that changed files define or use, before or after

    def note(self, file_ids: Collection[int]) -> None:
        """Note files that are about to be removed, or were just added."""
        if len(self._changed) > _FEW:
            return
        self._changed.update(file_ids)
        for file_id in file_ids if len(self._changed) <= _FEW else ():
            for table in ("symbols", "refs"):
                rows = self._connection.execute(f"SELECT name FROM {table} WHERE file_id = ?", (file_id,))  # noqa: S608
                self._names.update(name for (name,) in rows)

    def update(self) -> None:
        """Count, for every file, the other files that use a name which this file alone defines."""
        if not self._changed:
            return
        among, affected = "", ""
        if len(self._changed) <= _FEW:
            self._find_affected()
            among = "AND name IN (SELECT name FROM symbols WHERE file_id IN (SELECT id FROM affected))"
            affected = "WHERE id IN (SELECT id FROM affected)"
        users = dict(self._connection.execute(_USERS.format(among=among), {"shortest": _MIN_NAME}))
        known = self._connection.execute(f"SELECT id, prior FROM files {affected}").fetchall()  # noqa: S608
        counted = [(users.get(i, 0), i) for i, prior in known if prior != users.get(i, 0)]
        self._connection.executemany("UPDATE files SET prior = ? WHERE id = ?", counted)

    def _find_affected(self) -> None:
        """Collect the files whose prior may differ: those that alone defined a changed name, or do so now."""
        connection = self._connection
        connection.execute("CREATE TEMP TABLE IF NOT EXISTS affected (id INTEGER PRIMARY KEY)")
        connection.execute("DELETE FROM affected")
        connection.executemany("INSERT OR IGNORE INTO affected VALUES (?)", [(i,) for i in self._changed])
        for name in self._names:
            if len(name) >= _MIN_NAME:
                # Of several unchanged files that define it, none did so alone before, and none does now.
                rows = connection.execute(
                    "SELECT DISTINCT file_id FROM symbols WHERE name = ? LIMIT ?", (name, _FEW + 2)
                )
                unchanged = [file_id for (file_id,) in rows if file_id not in self._changed]
                if len(unchanged) == 1:
                    connection.execute("INSERT OR IGNORE INTO affected VALUES (?)", unchanged)
