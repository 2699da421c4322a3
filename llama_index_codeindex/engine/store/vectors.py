"""Vectors of one generation in memory: chunk rows and a matrix of unit vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


def unit(vectors: npt.ArrayLike) -> Vector:
    """Return vectors scaled to length one, as contiguous float32; a zero vector stays zero."""
    matrix = np.ascontiguousarray(vectors, np.float32)
    norms = np.linalg.norm(matrix, axis=-1, keepdims=True)
    scaled: Vector = np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
    return scaled


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Chunk rows, ascending, and their unit vectors of shape (rows, width)."""

    rows: npt.NDArray[np.int64]
    matrix: Vector

    @classmethod
    def load(cls, stored: Iterable[tuple[int, bytes]]) -> VectorMatrix:
        """Build the matrix from rows and their stored vectors."""
        rows: list[int] = []
        parts: list[bytes] = []
        for row, vector in stored:
            rows.append(row)
            parts.append(vector)
        width = len(parts[0]) // 4 if parts else 0
        matrix = np.frombuffer(b"".join(parts), np.float32).reshape(len(rows), width)
        return cls(np.array(rows, np.int64), matrix)

    @property
    def width(self) -> int:
        """The number of components of a vector; 0 when there is none."""
        return int(self.matrix.shape[1])

    def vector_of(self, row: int) -> Vector | None:
        """Return the vector of a chunk, if it has one."""
        at = int(np.searchsorted(self.rows, row))
        return self.matrix[at] if at < len(self.rows) and self.rows[at] == row else None

    def search(self, query: Vector, limit: int, only: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """Return the rows most similar to a unit vector and their cosine similarities, best first.

        Args:
            query: A unit vector of the matrix's width.
            limit: How many rows at most.
            only: Only these rows, if given.
        """
        rows, matrix = self.rows, self.matrix
        if only is not None:
            kept = np.isin(rows, np.asarray(only, np.int64))
            rows, matrix = rows[kept], matrix[kept]
        if not len(rows):
            return []
        scores = matrix @ query
        count = min(limit, len(rows))
        best = np.argpartition(-scores, count - 1)[:count]
        best = best[np.lexsort((rows[best], -scores[best]))]
        return [(int(rows[i]), float(scores[i])) for i in best]
