"""One index: the catalog and what is derived from it, read as one generation."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import threading
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llama_index_codeindex.engine.errors import IndexNotWritable
from llama_index_codeindex.engine.store import soundness
from llama_index_codeindex.engine.store.catalog import Catalog
from llama_index_codeindex.engine.store.lexical import LexicalIndex, LexicalSnapshot, derive, sum_files
from llama_index_codeindex.engine.store.location import Layout
from llama_index_codeindex.engine.store.locking import writer_lock
from llama_index_codeindex.engine.store.rows import Content
from llama_index_codeindex.engine.store.vectors import VectorMatrix

# A reader whose full text was swept away by a writer meanwhile looks again; two generations are always kept.
_ATTEMPTS = 5
# A repair waits this long for a writer, who may just be making the catalog.
_REPAIR_SECONDS = 30.0


@dataclass(slots=True)
class View:
    """One generation, for as long as a query takes."""

    catalog: Catalog
    lexical: LexicalSnapshot | None  # None when the full text of this generation is missing or damaged
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
    """An index folder, or an index in memory when `layout` is None.

    Raises:
        IndexNotWritable: There is no index yet, and none can be made.
    """

    def __init__(self, layout: Layout | None) -> None:
        self.layout = layout
        self.repairs: list[str] = []
        self.failure = ""  # the code of the error that ended the last refresh of this process
        self.verified_at = ""  # when this process last found the index to be the tree's, or made it so
        self._lock = threading.Lock()
        self._snapshot: tuple[str, LexicalSnapshot | None] = ("", None)
        self._matrix: tuple[tuple[str, str], VectorMatrix] | None = None
        self._copies: list[weakref.finalize[..., Store]] = []
        self._work: tuple[Path, LexicalIndex] | None = None
        self._base: Path | None = None
        self._memory = LexicalIndex(None) if layout is None else None
        self._identity: tuple[int, int] | None = None
        if layout is None:
            self.catalog = Catalog(None)
            self.catalog.create()
            return
        try:
            self.catalog = self._open_catalog(layout)
        except (OSError, sqlite3.OperationalError) as error:
            raise IndexNotWritable(f"The index folder cannot be used: {_reason(error)}.") from None

    # -- the catalog ---------------------------------------------------------------------------------------------------

    def _open_catalog(self, layout: Layout) -> Catalog:
        if not layout.catalog.exists():
            layout.create()
        catalog = Catalog(layout.catalog)
        if catalog.is_sound() and not self._lost_content(catalog, layout):
            catalog.create()
        else:
            catalog.close()
            catalog = self._replace_catalog(layout)
        self._identity = _identity(layout.catalog)
        return catalog

    @staticmethod
    def _lost_content(catalog: Catalog, layout: Layout) -> bool:
        """Say whether a catalog without tables stands beside a full text that one must have named."""
        return catalog.is_empty() and layout.lexical.is_dir() and any(layout.lexical.iterdir())

    def _replace_catalog(self, layout: Layout) -> Catalog:
        """Put a new catalog in the place of a damaged one; the next refresh fills it."""
        with writer_lock(layout, _REPAIR_SECONDS):
            catalog = Catalog(layout.catalog)
            if not catalog.is_sound() or self._lost_content(catalog, layout):
                catalog.close()
                for suffix in ("", "-wal", "-shm"):
                    layout.catalog.with_name(layout.catalog.name + suffix).unlink(missing_ok=True)
                self._note_repair("catalog_rebuilt")
                shutil.rmtree(layout.lexical, ignore_errors=True)
                catalog = Catalog(layout.catalog)
            catalog.create()
            return catalog

    def _note_repair(self, what: str) -> None:
        if what not in self.repairs:
            self.repairs.append(what)

    def check(self) -> None:
        """Open the catalog again if another process removed or replaced it, and repair it if it is damaged."""
        layout = self.layout
        if layout is None or self._identity == _identity(layout.catalog):
            return
        with self._lock:
            if self._identity == _identity(layout.catalog):
                return
            try:
                old, self.catalog = self.catalog, self._open_catalog(layout)
            except (OSError, sqlite3.OperationalError) as error:
                raise IndexNotWritable(f"The index folder cannot be used: {_reason(error)}.") from None
            self._snapshot, self._matrix = ("", None), None
            old.retire()

    def repair(self) -> None:
        """Replace a catalog that turned out to be damaged while it was used."""
        if self.layout is not None:
            with self._lock:
                soundness.forget(self.layout.catalog)
                self.catalog.retire()
                self.catalog = self._open_catalog(self.layout)
                self._snapshot, self._matrix = ("", None), None

    # -- reading -------------------------------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[View]:
        """Hold one generation of everything. The view comes without full text only where that is missing or damaged."""
        self.check()
        for attempt in range(_ATTEMPTS):
            catalog = self.catalog
            with catalog.reading():
                meta = catalog.meta()
                snapshot = self._lexical_of(meta)
                if snapshot is not None or attempt == _ATTEMPTS - 1 or not meta.get("stamp"):
                    yield View(catalog, snapshot, meta, self)
                    return

    def _lexical_of(self, meta: dict[str, str]) -> LexicalSnapshot | None:
        mean_terms = float(meta.get("mean_terms", "0"))
        if self._memory is not None:
            return self._memory.snapshot(mean_terms)
        name, stamp = meta.get("lexical", ""), meta.get("stamp", "")
        if self.layout is None or not name:
            return None
        with self._lock:
            if self._snapshot[0] != stamp or self._snapshot[1] is None:
                folder = self.layout.lexical / name
                try:
                    if sum_files(folder) != json.loads(meta["lexical_files"]):
                        return None
                    index = LexicalIndex(folder) if os.access(folder, os.W_OK) else self._copied(folder)
                    self._snapshot = (stamp, index.snapshot(mean_terms))
                except (OSError, ValueError, KeyError):
                    return None
            return self._snapshot[1]

    def _copied(self, folder: Path) -> LexicalIndex:
        """Open a full text in a folder that cannot be written: its readers need to make a lock in it."""
        copy = Path(tempfile.mkdtemp(prefix="codeindex-"))
        self._copies.append(weakref.finalize(self, shutil.rmtree, copy, ignore_errors=True))
        for path in folder.iterdir():
            shutil.copyfile(path, copy / path.name)
        return LexicalIndex(copy)

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

    # -- writing the full text -----------------------------------------------------------------------------------------

    @property
    def lexical(self) -> LexicalIndex:
        """The full text that is being written: the next generation's, made when it is first needed."""
        if self._memory is not None:
            return self._memory
        if self._work is None:
            assert self.layout is not None
            folder = self.layout.lexical / uuid.uuid4().hex
            self._work = (folder, derive(self._base, folder))
        return self._work[1]

    def begin(self, meta: dict[str, str], *, anew: bool, damaged: bool = False) -> None:
        """Start a generation: on the full text of the last one, or with an empty one.

        Args:
            meta: What the catalog says of the last generation.
            anew: Start with an empty one.
            damaged: The last one is lost, which answers are to say.
        """
        name = meta.get("lexical", "")
        self._work = None
        self._base = None
        if self.layout is not None:
            self._sweep({name})
            if name and not anew:
                self._base = self.layout.lexical / name
        if damaged:
            self._note_repair("lexical_rebuilt")

    def add_content(self, file_id: int, content: Content) -> list[int]:
        """Add what one file brings to catalog and full text; return the chunks' rows."""
        rows = self.catalog.add_chunks(file_id, content.chunks)
        symbols = [(rows[number] if number >= 0 else 0, symbol) for number, symbol in content.symbols]
        self.catalog.add_symbols(file_id, symbols)
        self.catalog.add_references(file_id, content.references)
        documents = zip(rows, content.documents, strict=True)
        self.lexical.add((row, file_id, kinds, body) for row, (kinds, body) in documents)
        return rows

    def finish(self, meta: dict[str, str]) -> dict[str, str]:
        """Commit the full text, and return what the catalog is to say of it."""
        if self._memory is not None:
            self._memory.commit()
            return {}
        if self._work is None and self._base is not None:
            return {}  # nothing changed in it
        index = self.lexical
        index.commit()
        assert self._work is not None
        folder = self._work[0]
        known = json.loads(meta.get("lexical_files", "{}")) if self._base is not None else {}
        return {"lexical": folder.name, "lexical_files": json.dumps(sum_files(folder, known))}

    def end(self, *, published: bool) -> None:
        """Drop what was not published."""
        work, self._work = self._work, None
        if work is not None and not published:
            work[1].release()
            shutil.rmtree(work[0], ignore_errors=True)

    def _sweep(self, keep: set[str]) -> None:
        """Remove the full texts of all generations but the last; that of the last but one went on serving until now."""
        assert self.layout is not None
        if not self.layout.lexical.is_dir():
            return
        for path in [path for path in self.layout.lexical.iterdir() if path.name not in keep]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def clear(self, timeout: float = 60.0) -> None:
        """Remove the index with everything in its folder, once no writer is at work any more.

        Raises:
            IndexBusy: Another writer was at work for that long.
            IndexNotWritable: The folder cannot be removed.
        """
        layout = self.layout
        if layout is None:
            return
        try:
            with writer_lock(layout, timeout):
                self.close()
                layout.remove()
        except OSError as error:
            raise IndexNotWritable(f"The index folder cannot be removed: {_reason(error)}.") from None

    def close(self) -> None:
        """Close the catalog's connections."""
        self.catalog.close()
        self._snapshot, self._matrix = ("", None), None
        while self._copies:
            self._copies.pop()()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno).lower()
    return "the database cannot be opened"
