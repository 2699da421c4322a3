"""A FAISS vector store for anyone's LlamaIndex code: it deletes, filters, upserts and persists as the interface says."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import faiss
import numpy as np
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import MetadataFilters, VectorStoreQuery, VectorStoreQueryResult
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQueryMode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from llama_index_codeindex.engine.errors import (
    EmbeddingMismatch,
    EmbeddingReplyInvalid,
    IndexDamaged,
    IndexNotWritable,
    InvalidArgument,
)
from llama_index_codeindex.engine.store.vectors import Vector, unit
from llama_index_codeindex.metadata_filters import MetadataColumns

_FORMAT = 1
# Keys of ours beside a node's own; no metadata of users starts so.
_ID, _DOCUMENT = "_codeindex_id", "_codeindex_document"
# Below one in so many, a list of numbers is smaller than a bit for each.
_SPARSE = 64
FILE_NAME = "code_faiss_vector_store.bin"


class CodeFaissVectorStore(BasePydanticVectorStore):
    """Keep nodes and their vectors in memory with FAISS, exactly.

    Vectors are scaled to length one and compared by inner product, so `similarities` are cosine similarities. Ids are
    never used twice. Filters, `doc_ids` and `node_ids` hold before the best are chosen. All methods may be called from
    several threads.

    Args:
        dimension: The number of components of every vector.
        model_id: The embedding model the vectors come from; checked when a store is loaded.
        threads: FAISS's threads while searching. One is fastest for one query on a busy machine.

    Raises:
        InvalidArgument: `dimension` is not positive.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False

    dimension: int = Field(gt=0, description="The number of components of every vector.")
    model_id: str = Field(default="", description="The embedding model the vectors come from.")
    threads: int = Field(default=1, ge=1, description="FAISS's threads while searching.")

    _index: Any = PrivateAttr()
    _nodes: dict[int, dict[str, Any]] = PrivateAttr(default_factory=dict)
    _columns: MetadataColumns = PrivateAttr()
    _numbers: dict[str, int] = PrivateAttr(default_factory=dict)
    _of_document: dict[str, set[int]] = PrivateAttr(default_factory=dict)
    _next: int = PrivateAttr(default=0)
    _lock: Any = PrivateAttr(default_factory=threading.RLock)

    def __init__(self, dimension: int, model_id: str = "", **kwargs: Any) -> None:
        if not isinstance(dimension, int) or dimension < 1:
            raise InvalidArgument("dimension must be a positive whole number.")
        super().__init__(dimension=dimension, model_id=model_id, **kwargs)
        self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
        self._columns = MetadataColumns(self._nodes)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the store is serialised."""
        return "CodeFaissVectorStore"

    @property
    def client(self) -> Any:
        """The FAISS index."""
        return self._index

    # No `__len__`: LlamaIndex asks `vector_store or default`, and an empty store would lose.
    @property
    def count(self) -> int:
        """How many nodes it holds."""
        return len(self._nodes)

    # -- changing ------------------------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Add nodes with their embeddings; a node whose id is known takes the old one's place. All or none is added.

        Raises:
            EmbeddingMismatch: A vector has another width than the store.
            EmbeddingReplyInvalid: A node has no vector, or one that cannot be compared.
        """
        if not nodes:
            return []
        latest = {node.node_id: node for node in nodes}
        vectors = self._vectors(list(latest.values()))
        with self._lock:
            self._remove([self._numbers[node_id] for node_id in latest if node_id in self._numbers])
            numbers = np.arange(self._next, self._next + len(latest), dtype=np.int64)
            self._next += len(latest)
            for number, (node_id, node) in zip(numbers.tolist(), latest.items(), strict=True):
                self._numbers[node_id] = number
                # A whole document may be added as one node; deleting the document then means that node.
                own = {_ID: node_id, _DOCUMENT: node.ref_doc_id or node_id}
                self._nodes[number] = node_to_metadata_dict(node, flat_metadata=False) | own
                self._of_document.setdefault(own[_DOCUMENT], set()).add(number)
                self._columns.added(number)
            self._index.add_with_ids(vectors, numbers)
        return [node.node_id for node in nodes]

    def _vectors(self, nodes: Sequence[BaseNode]) -> Vector:
        rows = []
        for node in nodes:
            if node.embedding is None:
                raise EmbeddingReplyInvalid(f"The node {node.node_id!r} has no embedding.")
            if len(node.embedding) != self.dimension:
                raise EmbeddingMismatch(
                    f"A vector of width {len(node.embedding)} does not fit a store of width {self.dimension}."
                )
            rows.append(node.embedding)
        matrix = np.asarray(rows, np.float32)
        lengths = np.linalg.norm(matrix, axis=1)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingReplyInvalid("A vector is zero or not finite and cannot be compared.")
        return unit(matrix)

    def _remove(self, numbers: Iterable[int]) -> None:
        removed = [number for number in numbers if number in self._nodes]
        if not removed:
            return
        self._index.remove_ids(np.asarray(removed, np.int64))
        for number in removed:
            node = self._nodes.pop(number)
            self._columns.removed(number, node)
            del self._numbers[node[_ID]]
            members = self._of_document[node[_DOCUMENT]]
            members.discard(number)
            if not members:
                del self._of_document[node[_DOCUMENT]]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Remove every node of a document."""
        with self._lock:
            self._remove(sorted(self._of_document.get(ref_doc_id, ())))

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any) -> None:
        """Remove the nodes of these ids that pass the filters; without ids, all that pass.

        Raises:
            InvalidArgument: Neither is given; `clear` removes everything.
        """
        if node_ids is None and filters is None:
            raise InvalidArgument("delete_nodes needs ids or filters.", suggestion="Use clear() to remove everything.")
        with self._lock:
            self._remove(self._selected(node_ids, None, filters))

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._remove(list(self._nodes))

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return the nodes of these ids that pass the filters, in the order in which they were added."""
        with self._lock:
            return [self._node(number) for number in self._selected(node_ids, None, filters)]

    def get(self, text_id: str) -> list[float]:
        """Return the unit vector of a node.

        Raises:
            InvalidArgument: There is no such node.
        """
        with self._lock:
            if text_id not in self._numbers:
                raise InvalidArgument(f"There is no node {text_id!r}.")
            vector: list[float] = self._index.reconstruct(self._numbers[text_id]).tolist()
            return vector

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return the nodes most similar to the query's embedding, best first.

        Raises:
            InvalidArgument: There is no embedding, or a mode that this store has not.
            EmbeddingMismatch: The embedding has another width than the store.
        """
        if query.mode != VectorStoreQueryMode.DEFAULT:
            raise InvalidArgument(f"The query mode {query.mode.value!r} is not supported.")
        if query.query_embedding is None:
            raise InvalidArgument("The query has no embedding.")
        if len(query.query_embedding) != self.dimension:
            raise EmbeddingMismatch(
                f"A vector of width {len(query.query_embedding)} does not fit a store of width {self.dimension}."
            )
        vector = unit(np.asarray([query.query_embedding], np.float32))
        with self._lock:
            found = self._search(vector, query)
            nodes = [self._node(number) for number, _ in found]
        return VectorStoreQueryResult(
            nodes=nodes, similarities=[score for _, score in found], ids=[node.node_id for node in nodes]
        )

    def _search(self, vector: Vector, query: VectorStoreQuery) -> list[tuple[int, float]]:
        parameters = None
        available = len(self._nodes)
        # An index over a store that keeps the text passes an empty list of ids when it means all.
        if query.node_ids or query.doc_ids or query.filters is not None:
            allowed = self._selected(query.node_ids or None, query.doc_ids or None, query.filters)
            available = len(allowed)
            selector = self._selector(allowed)
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]  # its stub lacks the fields
        count = min(query.similarity_top_k, available)
        if count < 1:
            return []
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(self.threads)
        try:
            scores, numbers = self._index.search(vector, count, params=parameters)
        finally:
            faiss.omp_set_num_threads(before)  # the setting is the whole process's
        return [(int(number), float(score)) for number, score in zip(numbers[0], scores[0], strict=True) if number >= 0]

    def _selected(
        self, node_ids: Sequence[str] | None, doc_ids: Sequence[str] | None, filters: MetadataFilters | None
    ) -> list[int]:
        """Return the numbers of the nodes that pass, ascending."""
        chosen: list[set[int]] = []
        if node_ids is not None:
            chosen.append({self._numbers[node_id] for node_id in node_ids if node_id in self._numbers})
        if doc_ids is not None:
            chosen.append(set().union(*(self._of_document.get(doc_id, set()) for doc_id in doc_ids)))
        if filters is not None and filters.filters:
            chosen.append(self._columns.passing(filters))
        return sorted(set.intersection(*chosen) if chosen else self._nodes)

    def _selector(self, numbers: Sequence[int]) -> Any:
        """Return what tells FAISS to look at some numbers alone: a list for few, else a bit for every number."""
        if len(numbers) * _SPARSE < self._next:
            return faiss.IDSelectorBatch(np.asarray(numbers, np.int64))
        bits = np.zeros(self._next, np.uint8)
        bits[np.asarray(numbers, np.int64)] = 1
        return faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))  # type: ignore[call-arg, arg-type]  # as above

    def _node(self, number: int) -> BaseNode:
        return metadata_dict_to_node(self._nodes[number])

    # -- async: FAISS computes outside the interpreter's lock, so a thread leaves the event loop free ---------------------

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Do what `add` does."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """Do what `delete` does."""
        await asyncio.to_thread(self.delete, ref_doc_id, **kwargs)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **kwargs: Any
    ) -> None:
        """Do what `delete_nodes` does."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **kwargs)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Do what `get_nodes` does."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aclear(self) -> None:
        """Do what `clear` does."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Do what `query` does."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    # -- persistence ---------------------------------------------------------------------------------------------------

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Write everything to one file, which is replaced at once or not at all.

        Args:
            persist_path: The file.
            fs: A file system of `fsspec`, if the file is not on this machine.

        Raises:
            IndexNotWritable: The file cannot be written.
        """
        parts = self._parts()
        if fs is not None:
            whole = io.BytesIO()  # not every file system's files can seek
            np.savez(whole, **parts)
            with fs.open(persist_path, "wb") as file:
                file.write(whole.getbuffer())
            return
        target = Path(persist_path)
        temporary = ""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except OSError as error:
            Path(temporary).unlink(missing_ok=True) if temporary else None
            raise IndexNotWritable(f"The vector store cannot be written: {error.strerror or 'no reason'}.") from None

    def _parts(self) -> dict[str, Any]:
        with self._lock:
            vectors = faiss.serialize_index(self._index)
            nodes = json.dumps(list(self._nodes.items())).encode("utf-8")
            manifest = {
                "format": _FORMAT,
                "dimension": self.dimension,
                "model_id": self.model_id,
                "next": self._next,
                "count": len(self._nodes),
                "sha256": _digest(vectors, nodes),
            }
        return {
            "manifest": np.frombuffer(json.dumps(manifest).encode(), np.uint8),
            "vectors": vectors,
            "nodes": np.frombuffer(nodes, np.uint8),
        }

    @classmethod
    def from_persist_path(cls, persist_path: str, model_id: str | None = None, fs: Any = None) -> CodeFaissVectorStore:
        """Load a store.

        Args:
            persist_path: The file that `persist` wrote.
            model_id: The model that will ask; if given, it must be the one that the vectors come from.
            fs: A file system of `fsspec`, if the file is not on this machine.

        Raises:
            IndexDamaged: The file is missing, truncated or of another kind.
            EmbeddingMismatch: The vectors come from another model.
        """
        try:
            if fs is not None:
                with fs.open(persist_path, "rb") as file:
                    data = file.read()
            else:
                data = Path(persist_path).read_bytes()
            with np.load(io.BytesIO(data), allow_pickle=False) as parts:
                manifest = json.loads(parts["manifest"].tobytes())
                vectors, nodes = parts["vectors"], parts["nodes"].tobytes()
            if manifest["sha256"] != _digest(vectors, nodes):
                raise ValueError("checksum")
            store = cls(int(manifest["dimension"]), str(manifest["model_id"]))
            store._index = faiss.deserialize_index(vectors)
            store._next = int(manifest["next"])
            stored = json.loads(nodes)
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, RuntimeError) as error:
            raise IndexDamaged(
                f"{Path(persist_path).name!r} is no whole vector store ({type(error).__name__}).",
                suggestion="Embed the nodes again and persist the store anew.",
            ) from None
        if model_id is not None and model_id != store.model_id:
            raise EmbeddingMismatch(f"The vectors come from {store.model_id!r}, not from {model_id!r}.")
        held, of_id, of_document = store._nodes, store._numbers, store._of_document
        for number, node in stored:
            held[number] = node
            of_id[node[_ID]] = number
            of_document.setdefault(node[_DOCUMENT], set()).add(number)
        return store

    @classmethod
    def from_persist_dir(cls, persist_dir: str, model_id: str | None = None, fs: Any = None) -> CodeFaissVectorStore:
        """Load the store that lies in a folder as `FILE_NAME`; see `from_persist_path`."""
        return cls.from_persist_path(os.path.join(persist_dir, FILE_NAME), model_id, fs)


def _digest(vectors: Any, nodes: bytes) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(vectors).data)
    digest.update(nodes)
    return digest.hexdigest()
