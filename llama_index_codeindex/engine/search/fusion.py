"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): lanes with scores of their own, joined by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# The paper's 60 flattens lists of 50 too much: with 20, first places count about twice a tenth place.
RRF_K = 20


def reciprocal_rank_fusion(
    lanes: Mapping[str, Sequence[int]], weights: Mapping[str, float] | None = None
) -> dict[int, float]:
    """Return a score per row: the sum over lanes of `weight / (RRF_K + rank)`, ranks from 1.

    Args:
        lanes: Rows of each lane, best first.
        weights: Weight of each lane; 1 where none is given.
    """
    scores: dict[int, float] = {}
    for lane, rows in lanes.items():
        weight = (weights or {}).get(lane, 1.0)
        for rank, row in enumerate(dict.fromkeys(rows), 1):
            scores[row] = scores.get(row, 0.0) + weight / (RRF_K + rank)
    return scores
