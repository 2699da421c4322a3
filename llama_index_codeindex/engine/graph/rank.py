"""Personalised PageRank over the graph of files, and how the rank of a file flows into its names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from llama_index_codeindex.engine.graph.edges import Floats, Graph

# The usual damping. At 0.85 thirty rounds leave an error below a hundredth of the smallest rank that is shown.
_DAMPING = 0.85
_ROUNDS = 30
# A file whose uses are worth less than this in all says little about others: the rest of its rank goes anywhere.
_FULL_VOICE = 12.0
# Around what was asked for, callers matter as well as what is called, though less.
_BACKWARDS = 0.3
# What is asked for gets this share of the random jumps; the rest keeps the map connected to the whole.
_FOCUS = 0.85


def pagerank(graph: Graph, focus: Mapping[int, float] | None = None) -> Floats:
    """Return the rank of every file; they add up to 1.

    Args:
        graph: The graph.
        focus: Files that matter to the question, by their place in the graph, with a weight; none for the whole.
    """
    size = len(graph.nodes)
    if not size:
        return np.zeros(0)
    jump = graph.worth / graph.worth.sum()
    source, target, weight = graph.source, graph.target, graph.weight
    if focus:
        wanted = np.zeros(size)
        wanted[list(focus)] = list(focus.values())
        jump = _FOCUS * wanted / wanted.sum() + (1 - _FOCUS) * jump
        source, target = np.concatenate([source, graph.target]), np.concatenate([target, graph.source])
        weight = np.concatenate([weight, _BACKWARDS * weight])
    out = np.maximum(np.bincount(source, weight, size), _FULL_VOICE)
    share = weight / out[source]
    spoken = np.bincount(source, share, size)
    rank = jump
    for _ in range(_ROUNDS):
        flow = np.bincount(target, rank[source] * share, size)
        silent = float((rank * (1 - spoken)).sum())
        rank = _DAMPING * (flow + silent * jump) + (1 - _DAMPING) * jump
    return np.asarray(rank, np.float64)


def name_flows(graph: Graph, rank: Floats) -> dict[int, dict[str, float]]:
    """Return how much rank flows into each name of each file, by the file's place in the graph."""
    if not len(graph.source):
        return {}
    out = np.maximum(np.bincount(graph.source, graph.weight, len(graph.nodes)), _FULL_VOICE)
    flow = rank[graph.source] * graph.weight / out[graph.source]
    keys = graph.target * len(graph.names) + graph.label
    unique, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place.ravel(), flow)
    found: dict[int, dict[str, float]] = {}
    for key, total in zip(unique.tolist(), sums.tolist(), strict=True):
        home, label = divmod(key, len(graph.names))
        found.setdefault(home, {})[graph.names[label]] = total
    return found


def file_scores(graph: Graph, rank: Floats, focus: Mapping[int, float] | None = None) -> Floats:
    """Return what orders the files of a map: rank times what the file is for, whatever was asked for excepted."""
    worth = graph.worth.copy()
    if focus:
        worth[list(focus)] = np.maximum(worth[list(focus)], 0.5)  # what was asked for may be a test
    scores: Floats = rank * worth
    return scores
