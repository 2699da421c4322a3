"""Vectors in an engine of the user's own: any LlamaIndex vector store as the dense lane of an index.

The catalog stays the one truth, vectors included. The store is given each chunk's vector under a name that follows from
the chunk's id, and no text: neither code nor comments leave the index. After a refresh only what changed is sent.
"""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index_codeindex.engine.errors import VectorStoreUnavailable
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.store.vectors import Vector

# Nodes sent at once: a few hundred kilobytes of vectors.
_BATCH = 256
# A filter on symbol kinds is only approximated by its files, so more is asked for than is needed.
_MARGIN = 4
_SPACE = uuid.UUID("6f1d6b0e-3c55-4f0b-9f5e-0c9f0d8f6a51")  # ours alone, so that names never meet another program's


class ExternalVectors:
    """Keeps a vector store in step with an index, and searches it.

    Args:
        vector_store: The store; it should hold this index alone.
        known_file: Where it is noted which chunks the store has.
    """

    def __init__(self, vector_store: BasePydanticVectorStore, known_file: Path) -> None:
        self._store = vector_store
        self._known_file = known_file
        self._rows: tuple[str, dict[str, int]] | None = None  # a generation's stamp, and its rows by node name

    def sync(self, view: View, model_id: str) -> int:
        """Send what is new and remove what is gone; return how many vectors were sent.

        Raises:
            VectorStoreUnavailable: The store failed; the next refresh goes on from there.
        """
        vectors = dict(view.catalog.vectors(model_id))
        chunks = {_name(model_id, c.chunk_id): c for c in view.catalog.chunk_rows(sorted(vectors))}
        known = self._known()
        gone = sorted(known - set(chunks))
        new = sorted(set(chunks) - known)
        try:
            for start in range(0, len(gone), _BATCH):
                batch = gone[start : start + _BATCH]
                self._store.delete_nodes(batch)
                known.difference_update(batch)
                self._note(known)
            for start in range(0, len(new), _BATCH):
                batch = new[start : start + _BATCH]
                self._store.add([_node(name, chunks[name].path, vectors[chunks[name].row]) for name in batch])
                known.update(batch)
                self._note(known)
        except Exception as error:
            raise VectorStoreUnavailable(f"The vector store failed: {type(error).__name__}.") from None
        return len(new)

    def search(
        self, view: View, model_id: str, vector: Vector, limit: int, rows: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """Return the rows most similar to a vector, best first; only of these rows, if given.

        Raises:
            VectorStoreUnavailable: The store failed.
        """
        by_name = self._rows_by_name(view, model_id)
        allowed = None if rows is None else set(rows)
        filters = None
        if allowed is not None:
            paths = sorted({chunk.path for chunk in view.catalog.chunk_rows(sorted(allowed))})
            wanted = MetadataFilter(key="file_path", value=list(paths), operator=FilterOperator.IN)
            filters = MetadataFilters(filters=[wanted])
        query = VectorStoreQuery(
            query_embedding=vector.tolist(),
            similarity_top_k=limit if allowed is None else limit * _MARGIN,
            filters=filters,
        )
        try:
            result = self._store.query(query)
        except Exception as error:
            raise VectorStoreUnavailable(f"The vector store failed: {type(error).__name__}.") from None
        names = result.ids or [node.node_id for node in result.nodes or ()]
        scores = result.similarities or [0.0] * len(names)
        found = [(by_name[name], float(score)) for name, score in zip(names, scores, strict=False) if name in by_name]
        return [(row, score) for row, score in found if allowed is None or row in allowed][:limit]

    def _rows_by_name(self, view: View, model_id: str) -> dict[str, int]:
        stamp = f"{view.meta.get('stamp', '')}/{view.meta.get('vectors_stamp', '')}/{model_id}"
        if self._rows is None or self._rows[0] != stamp:
            rows = [row for row, _ in view.catalog.vectors(model_id)]
            self._rows = (stamp, {_name(model_id, c.chunk_id): c.row for c in view.catalog.chunk_rows(rows)})
        return self._rows[1]

    def _known(self) -> set[str]:
        try:
            return set(json.loads(self._known_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return set()

    def _note(self, known: set[str]) -> None:
        handle, temporary = tempfile.mkstemp(dir=self._known_file.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(sorted(known), file)
        os.replace(temporary, self._known_file)


def _name(model_id: str, chunk_id: str) -> str:
    """Return the name of a chunk in the store: a UUID, which every engine takes."""
    return str(uuid.uuid5(_SPACE, f"{model_id}\0{chunk_id}"))


def _node(name: str, path: str, vector: bytes) -> TextNode:
    return TextNode(
        id_=name,
        text=name,
        metadata={"file_path": path},
        embedding=np.frombuffer(vector, np.float32).tolist(),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=path)},
    )
