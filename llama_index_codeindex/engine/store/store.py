"""One index: the catalog and what is derived from it, read as one generation."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from llama_index_codeindex.engine.errors import IndexNotWritable
from llama_index_codeindex.engine.store.catalog import Catalog
from llama_index_codeindex.engine.store.lexical import LexicalIndex, LexicalSnapshot
from llama_index_codeindex.engine.store.location import Layout
from llama_index_codeindex.engine.store.vectors import VectorMatrix

# Between a writer's two commits a reader may see one without the other; they are milliseconds apart.
_RETRIES = 40
_RETRY_SECONDS = 0.025


@dataclass(slots=True)
class View:
    """One generation, for as long as a query takes."""

    catalog: Catalog
    lexical: LexicalSnapshot | None  # None when the full text is of another generation than the catalog
    meta: dict[str, str]
    store: Store = field(repr=False)

    @property
    def generation(self) -> int:
        """The number of the generation."""
        return int(self.meta.get("generation", "0"))

    def vectors(self, model: str) -> VectorMatrix:
        """Return the vectors of a model, loaded once per generation."""
        return self.store.load_vectors(self, model)


class Store:
    """An index folder, or an index in memory when `layout` is None."""

    def __init__(self, layout: Layout | None) -> None:
        self.layout = layout
        self.repairs: list[str] = []
        self._lock = threading.Lock()
        self._snapshot: tuple[str, LexicalSnapshot] | None = None
        self._matrix: tuple[tuple[str, str], VectorMatrix] | None = None
        if layout is None:
            self.catalog = Catalog(None)
            self.catalog.create()
            self.lexical = LexicalIndex(None)
            return
        try:
            layout.create()
            self.catalog = self._open_catalog(layout)
            self.lexical = LexicalIndex(layout.lexical)
        except (OSError, sqlite3.OperationalError) as error:
            raise IndexNotWritable(f"The index folder cannot be used: {_reason(error)}.") from None

    def _open_catalog(self, layout: Layout) -> Catalog:
        catalog = Catalog(layout.catalog)
        if not catalog.is_sound():
            catalog.close()
            for suffix in ("", "-wal", "-shm"):
                layout.catalog.with_name(layout.catalog.name + suffix).unlink(missing_ok=True)
            self.repairs.append("catalog_rebuilt")
            catalog = Catalog(layout.catalog)
        catalog.create()
        return catalog

    @contextmanager
    def read(self) -> Iterator[View]:
        """Hold one generation of everything.

        A commit of the full text and one of the catalog cannot be one, so a reader that meets only the first waits a
        moment. If the two never agree, a writer was killed in between: the view then comes without full text.
        """
        for attempt in range(_RETRIES):
            with self.catalog.reading():
                meta = self.catalog.meta()
                snapshot = self._lexical_of(meta.get("stamp", ""))
                if snapshot is not None or attempt == _RETRIES - 1 or not meta.get("stamp"):
                    yield View(self.catalog, snapshot, meta, self)
                    return
            time.sleep(_RETRY_SECONDS)

    def _lexical_of(self, stamp: str) -> LexicalSnapshot | None:
        with self._lock:
            if self._snapshot is not None and self._snapshot[0] == stamp:
                return self._snapshot[1]
            snapshot = self.lexical.snapshot(reload=True)
            if snapshot.stamp != stamp:
                return None
            self._snapshot = (stamp, snapshot)
            return snapshot

    def load_vectors(self, view: View, model: str) -> VectorMatrix:
        """Return the matrix of a model's vectors in a view, from memory if it is of the same generation."""
        key = (f"{view.meta.get('stamp', '')}/{view.meta.get('vectors_stamp', '')}", model)
        with self._lock:
            if self._matrix is not None and self._matrix[0] == key:
                return self._matrix[1]
        matrix = VectorMatrix.load(view.catalog.vectors(model))
        with self._lock:
            self._matrix = (key, matrix)
        return matrix

    def close(self) -> None:
        """Close the catalog's connections."""
        self.catalog.close()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno).lower()
    return "the database cannot be opened"
