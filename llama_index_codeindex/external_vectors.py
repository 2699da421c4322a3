"""Vectors in an engine of the user's own: any LlamaIndex vector store as the dense lane of an index.

The catalog stays the one truth, vectors included. The store is given each chunk's vector under a name that follows from
the chunk's id, and no text: neither code nor comments leave the index. After a refresh only what changed is sent.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
from filelock import FileLock
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index_codeindex.engine.errors import EmbeddingMismatch, VectorStoreUnavailable
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.store.vectors import Vector

_T = TypeVar("_T")

# Nodes sent at once: a few hundred kilobytes of vectors.
_BATCH = 256
# What the store is asked for only approximates the rows that may be found, so it is asked for more, and for more again
# while too few of them pass. Deep queries cost some engines seconds, so it ends somewhere.
_MARGIN = 4
_ROUNDS = 4
_LOCK_SECONDS = 60.0
_SPACE = uuid.UUID("6f1d6b0e-3c55-4f0b-9f5e-0c9f0d8f6a51")  # ours alone, so that names never meet another program's
_LINE = re.compile(r"[+?-][0-9a-f-]{36}")


class ExternalVectors:
    """Keeps a vector store in step with an index, and searches it.

    Args:
        vector_store: The store; it should hold this index alone.
        known_file: Where it is noted which chunks the store has.
    """

    def __init__(self, vector_store: BasePydanticVectorStore, known_file: Path) -> None:
        self._store = vector_store
        self._journal = _Journal(known_file)
        self._lock = threading.Lock()
        self._rows: tuple[str, dict[str, int]] | None = None  # a generation's stamp, and its rows by node name
        self._is_seen = False  # whether the store is known to hold what the journal says
        # The stamp, and the journal, that were last found in step, and out of step.
        self._complete: tuple[str, str] | None = None
        self._lacking: tuple[str, str] | None = None

    def sync(self, view: View, model_id: str) -> int:
        """Send what is new and remove what is gone; return how many vectors were sent.

        Raises:
            VectorStoreUnavailable: The store failed; the next refresh goes on from there.
        """
        with self._lock:
            if self._is_seen and self._complete == (_stamp(view, model_id), self._journal.signature()):
                return 0
            try:
                with FileLock(self._journal.lock_file, timeout=_LOCK_SECONDS):
                    return self._sync(view, model_id)
            except Exception as error:
                raise _unavailable(error) from None

    def _sync(self, view: View, model_id: str) -> int:
        vectors = dict(view.catalog.vectors.all(model_id))
        chunks = {_name(model_id, c.chunk_id): c for c in view.catalog.chunk_rows(sorted(vectors))}
        journal = self._journal
        journal.load()
        self._check_that_it_holds(vectors)
        gone = sorted((journal.known | journal.doubtful) - set(chunks))
        new = sorted(set(chunks) - journal.known)
        for batch in _batches(gone):
            self._store.delete_nodes(batch)
            journal.note("-", batch)
        for batch in _batches(new):
            self._send(batch, [_node(name, chunks[name].path, vectors[chunks[name].row]) for name in batch])
        journal.compact()
        self._is_seen = True
        self._complete = (_stamp(view, model_id), journal.signature())
        return len(new)

    def is_complete(self, view: View, model_id: str) -> bool:
        """Say whether the store has been sent every vector of a generation; False while it is being sent them."""
        state = (_stamp(view, model_id), self._journal.signature())
        if self._complete == state:
            return True
        # Another process is at it, or the last refresh did not get through. No question waits for a thread that is sending.
        if self._lacking == state or not self._lock.acquire(blocking=False):
            return False
        try:
            self._journal.load()
            is_complete = self._rows_by_name(view, model_id).keys() <= self._journal.known
        finally:
            self._lock.release()
        if is_complete:
            self._complete = state
        else:
            self._lacking = state
        return is_complete

    def _send(self, names: list[str], nodes: list[TextNode]) -> None:
        """Add nodes; what may be there already is removed first, since some engines keep both."""
        if self._journal.is_new or not self._journal.doubtful.isdisjoint(names):
            with suppress(NotImplementedError):  # an engine that only grows
                self._store.delete_nodes(names)
        self._journal.note("?", names)
        self._store.add(nodes)
        self._journal.note("+", names)

    def _check_that_it_holds(self, vectors: dict[int, bytes]) -> None:
        """Start from nothing if the store has been emptied: it lives elsewhere and may have lost what it was sent."""
        if self._is_seen or not self._journal.known or not vectors:
            return
        probe = np.frombuffer(next(iter(vectors.values())), np.float32)
        if not self._ask(probe, 1, None):
            self._journal.forget()

    def search(
        self, view: View, model_id: str, vector: Vector, limit: int, rows: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """Return the rows most similar to a vector and their cosine similarities, best first; only of these rows, if given.

        Raises:
            VectorStoreUnavailable: The store failed, or holds nothing of this index.
            EmbeddingMismatch: The vector is of another width than those of the index.
        """
        by_name = self._rows_by_name(view, model_id)
        for _, own in view.catalog.vectors.of(model_id, list(by_name.values())[:1]):
            if len(own) != vector.astype(np.float32, copy=False).nbytes:
                raise EmbeddingMismatch("The vectors of the question and of the index differ in width.")
        allowed = None if rows is None else set(rows)
        filters = None
        if allowed is not None and 2 * len(allowed) < len(by_name):
            paths = {chunk.path for chunk in view.catalog.chunk_rows(sorted(allowed))}
            keys = sorted(_path_key(path) for path in paths)
            filters = MetadataFilters(filters=[MetadataFilter(key="path_key", value=keys, operator=FilterOperator.IN)])
        depth = limit if allowed is None else limit * _MARGIN
        found: list[int] = []
        for _ in range(_ROUNDS):
            try:
                names = self._ask(vector, depth, filters)
            except Exception as error:
                raise _unavailable(error) from None
            if not names and filters is None and by_name:
                self._is_seen = False  # the next refresh looks, and sends everything again
                raise VectorStoreUnavailable("The vector store is empty.", suggestion="Refresh the index.")
            found = [row for name in dict.fromkeys(names) if (row := by_name.get(name)) is not None]
            found = [row for row in found if allowed is None or row in allowed]
            if len(found) >= limit or len(names) < depth:
                break
            depth *= _MARGIN
        return _ranked(view, model_id, vector, found)[:limit]

    def _ask(self, vector: Vector, depth: int, filters: MetadataFilters | None) -> list[str]:
        result = self._store.query(
            VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=depth, filters=filters)
        )
        return result.ids or [node.node_id for node in result.nodes or ()]

    def _rows_by_name(self, view: View, model_id: str) -> dict[str, int]:
        stamp = _stamp(view, model_id)
        if self._rows is None or self._rows[0] != stamp:
            rows = [row for row, _ in view.catalog.vectors.all(model_id)]
            self._rows = (stamp, {_name(model_id, c.chunk_id): c.row for c in view.catalog.chunk_rows(rows)})
        return self._rows[1]


class _Journal:
    """Which nodes the store has, noted as it is told: a line per node, `+` sent, `-` removed, `?` perhaps sent."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = 0
        self.known: set[str] = set()
        self.doubtful: set[str] = set()
        self.is_new = True

    @property
    def lock_file(self) -> str:
        return f"{self._file}.lock"

    def signature(self) -> str:
        try:
            stat = self._file.stat()
        except OSError:
            return ""
        return f"{stat.st_mtime_ns}/{stat.st_size}/{stat.st_ino}"

    def load(self) -> None:
        self.known, self.doubtful, self._lines = set(), set(), 0
        try:
            text = self._file.read_text("ascii", errors="replace")
        except OSError:
            text = ""
        self.is_new = not text
        for line in text.splitlines():
            if _LINE.fullmatch(line):  # the last may be torn
                self._apply(line[0], [line[1:]])
                self._lines += 1

    def _apply(self, mark: str, names: Iterable[str]) -> None:
        for name in names:
            (self.known.add if mark == "+" else self.known.discard)(name)
            (self.doubtful.add if mark == "?" else self.doubtful.discard)(name)

    def note(self, mark: str, names: Sequence[str]) -> None:
        self._apply(mark, names)
        self._lines += len(names)
        with self._file.open("a", encoding="ascii") as file:
            file.write("\n" + "".join(f"{mark}{name}\n" for name in names))  # apart from a line that was torn

    def forget(self) -> None:
        self.known, self.doubtful, self._lines, self.is_new = set(), set(), 0, True
        self._file.unlink(missing_ok=True)

    def compact(self) -> None:
        """Write the file anew once most of its lines are history."""
        if self._lines <= 2 * len(self.known) + _BATCH:
            return
        handle, temporary = tempfile.mkstemp(dir=self._file.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(f"+{name}\n" for name in sorted(self.known))
        os.replace(temporary, self._file)


def _ranked(view: View, model_id: str, vector: Vector, rows: Sequence[int]) -> list[tuple[int, float]]:
    """Return rows with their cosine similarities, best first: what engines call a similarity differs, or is a distance."""
    stored = view.catalog.vectors.of(model_id, rows)
    scored = [(row, float(np.frombuffer(own, np.float32) @ vector)) for row, own in stored]
    return sorted(scored, key=lambda item: (-item[1], item[0]))


def _stamp(view: View, model_id: str) -> str:
    return f"{view.meta.get('stamp', '')}/{view.meta.get('vectors_stamp', '')}/{model_id}"


def _batches(items: Sequence[_T]) -> Iterable[list[_T]]:
    return (list(items[at : at + _BATCH]) for at in range(0, len(items), _BATCH))


def _unavailable(error: Exception) -> VectorStoreUnavailable:
    return VectorStoreUnavailable(f"The vector store failed: {type(error).__name__}.")


def _name(model_id: str, chunk_id: str) -> str:
    """Return the name of a chunk in the store: a UUID, which every engine takes."""
    return str(uuid.uuid5(_SPACE, f"{model_id}\0{chunk_id}"))


def _path_key(path: str) -> str:
    """Return what stands for a path in filters. Some engines paste their values into SQL, and anyone may name a file."""
    return uuid.uuid5(_SPACE, _printable(path)).hex


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _node(name: str, path: str, vector: bytes) -> TextNode:
    return TextNode(
        id_=name,
        text=name,
        metadata={"file_path": _printable(path), "path_key": _path_key(path)},
        embedding=np.frombuffer(vector, np.float32).tolist(),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=_printable(path))},
    )
