"""The graph of a generation on disk, beside the catalog it is derived from: a new process then does not make it again.

It is a copy that may be missing, torn or of another generation; whoever reads it makes it anew then.
"""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from llama_index_codeindex.engine.graph.edges import Graph
from llama_index_codeindex.engine.store.relations import Node

# Raised when the same catalog gives another graph than before.
_VERSION = 2
_FILE = "graph.npz"
_ARRAYS = ("source", "target", "label", "weight")


def load(folder: Path, stamp: str, nodes: list[Node]) -> Graph | None:
    """Return the graph that was kept for a generation, or None.

    Args:
        folder: The folder of the index.
        stamp: What the generation is known by.
        nodes: Its files.
    """
    try:
        content = (folder / _FILE).read_bytes()  # a torn file leaves numpy's own handle open
        with np.load(io.BytesIO(content), allow_pickle=False) as kept:
            if bytes(kept["stamp"]) != _key(stamp):
                return None
            names = bytes(kept["names"]).decode("utf-8").split("\0")
            source, target, label, weight = (kept[key] for key in _ARRAYS)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    graph = Graph.of(nodes, source.astype(np.int64), target.astype(np.int64), label.astype(np.int64), weight, names)
    return graph if graph.is_whole() else None


def keep(folder: Path, stamp: str, graph: Graph) -> None:
    """Keep a graph, whole or not at all; where the folder cannot be written, it is not kept."""
    content = io.BytesIO()
    arrays = {key: getattr(graph, key).astype(np.float64 if key == "weight" else np.int32) for key in _ARRAYS}
    names = np.frombuffer("\0".join(graph.names).encode("utf-8"), np.uint8)
    np.savez(content, stamp=np.frombuffer(_key(stamp), np.uint8), names=names, **arrays)
    with suppress(OSError):
        handle, name = tempfile.mkstemp(prefix=".graph-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.getvalue())
            os.replace(name, folder / _FILE)
        except OSError:
            os.unlink(name)
            raise


def _key(stamp: str) -> bytes:
    return f"{_VERSION}:{stamp}".encode()
