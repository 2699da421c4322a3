"""The catalog's vectors, by model and by the hash of the text that was embedded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index_codeindex.engine.store.connections import Connections, batches

# Vectors that no chunk refers to any more are kept until they are more than the others and this many: switching back to
# a branch, undoing an edit or trying another model then embeds nothing again.
_SPARE = 5_000


class VectorTable:
    """The table of vectors.

    Args:
        connections: The connections of the catalog.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def missing(self, model: str) -> list[tuple[str, int]]:
        """Return the text hashes without a vector of this model, each with a chunk row that has the text, file by file."""
        return list(
            self._connections.current.execute(
                "SELECT c.embed_hash, min(c.id) FROM chunks c LEFT JOIN vectors v ON v.hash = c.embed_hash AND v.model = ? "
                "WHERE v.hash IS NULL GROUP BY c.embed_hash ORDER BY min(c.id)",
                (model,),
            )
        )

    def add(self, model: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Store vectors by text hash."""
        self._connections.current.executemany(
            "INSERT OR REPLACE INTO vectors (model, hash, vector) VALUES (?, ?, ?)",
            [(model, key, vector) for key, vector in vectors],
        )

    def all(self, model: str) -> list[tuple[int, bytes]]:
        """Return every chunk's row and vector, for chunks that have one."""
        return self._connections.current.execute(
            "SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash AND v.model = ? ORDER BY c.id",
            (model,),
        ).fetchall()

    def of(self, model: str, rows: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return some chunks' rows and vectors, in no order; chunks without one are left out."""
        found: list[tuple[int, bytes]] = []
        for batch in batches(rows):
            marks = ",".join("?" * len(batch))
            query = f"SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash AND v.model = ? WHERE c.id IN ({marks})"  # noqa: E501, S608
            found.extend(self._connections.current.execute(query, (model, *batch)))
        return found

    def exist(self) -> bool:
        """Say whether there is a vector of any model."""
        return self._connections.current.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is not None

    def count(self, model: str) -> int:
        """Return how many chunks have a vector of this model."""
        row = self._connections.current.execute(
            "SELECT count(*) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash AND v.model = ?", (model,)
        ).fetchone()
        return int(row[0])

    def prune(self) -> None:
        """Drop the vectors that no chunk refers to, once they are many."""
        stored = self._connections.current.execute("SELECT count(*) FROM vectors").fetchone()[0]
        chunks = self._connections.current.execute("SELECT count(*) FROM chunks").fetchone()[0]
        if stored > 2 * chunks + _SPARE:
            self._connections.current.execute("DELETE FROM vectors WHERE hash NOT IN (SELECT embed_hash FROM chunks)")
