"""One index: the catalog and what is derived from it, read as one generation."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from llama_index_codeindex.engine.errors import IndexNotWritable
from llama_index_codeindex.engine.files.jail import identity
from llama_index_codeindex.engine.store import segments, soundness
from llama_index_codeindex.engine.store.catalog import Catalog
from llama_index_codeindex.engine.store.connections import Damage, reason
from llama_index_codeindex.engine.store.lexical import Lexical, LexicalWriter
from llama_index_codeindex.engine.store.location import Layout, set_mark
from llama_index_codeindex.engine.store.locking import writer_lock
from llama_index_codeindex.engine.store.path_table import PathTable
from llama_index_codeindex.engine.store.pruning import remove_index
from llama_index_codeindex.engine.store.rows import Content, FileFacts
from llama_index_codeindex.engine.store.vectors import VectorMatrix

# A repair waits this long for a writer, who may just be making the catalog.
_REPAIR_SECONDS = 30.0


@dataclass(slots=True)
class Kept:
    """What is kept of a generation for the next questions."""

    stamp: str
    lexical: Lexical | None
    files: dict[int, FileFacts] = field(default_factory=dict)
    paths: PathTable | None = None


@dataclass(frozen=True, slots=True)
class View:
    """One generation, for as long as a query takes."""

    catalog: Catalog
    meta: dict[str, str]
    store: Store = field(repr=False)
    kept: Kept = field(repr=False)

    @property
    def lexical(self) -> Lexical | None:
        """The full text, or None when that of this generation is missing or damaged."""
        return self.kept.lexical

    @property
    def generation(self) -> int:
        """The number of the generation."""
        return int(self.meta.get("generation", "0"))

    @property
    def files(self) -> int:
        """How many files there are. As is the number of chunks, it was noted when they were written: counting takes longer."""
        return _number(self.meta, "files")

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return _number(self.meta, "documents")

    def file_facts(self, ids: Iterable[int]) -> dict[int, FileFacts]:
        """Return what ranking needs of some files, by id, read once per generation; those that are gone are left out."""
        wanted = list(ids)
        known = self.kept.files
        missing = [file_id for file_id in wanted if file_id not in known]
        if missing:
            known.update(self.catalog.file_facts(missing))
        return {file_id: known[file_id] for file_id in wanted if file_id in known}

    @property
    def path_table(self) -> PathTable:
        """The paths of all files, read once per generation."""
        if self.kept.paths is None:
            self.kept.paths = PathTable(self.catalog.path_keys())
        return self.kept.paths

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
        self._kept: Kept | None = None
        self._matrix: tuple[tuple[str, str], VectorMatrix] | None = None
        self._writer: LexicalWriter | None = None
        self.identity: tuple[int, int] | None = None  # of the catalog's file, which changes when that is replaced
        if layout is None:
            self.catalog = Catalog(None)
            self.catalog.create()
            return
        try:
            self.catalog = self._open_catalog(layout)
        except (OSError, sqlite3.OperationalError) as error:
            raise IndexNotWritable(f"The index folder cannot be used: {reason(error)}.") from None

    @property
    def root(self) -> str:
        """The root as the index notes it; empty where there is none, or its name is not text."""
        root = self.layout.root if self.layout is not None else ""
        return root if root == root.encode("utf-8", "replace").decode() else ""

    # -- the catalog ---------------------------------------------------------------------------------------------------

    def _open_catalog(self, layout: Layout, distrusted: tuple[int, int] | None = None) -> Catalog:
        was_marked = layout.mark.exists()
        if not layout.catalog.exists():
            layout.create()
        catalog = Catalog(layout.catalog)
        if catalog.is_sound() and (distrusted is None or identity(layout.catalog) != distrusted):
            if catalog.is_empty():
                if was_marked:
                    self._note_repair("catalog_rebuilt")  # what it held is gone
                catalog.create(self.root)
        else:
            catalog.close()
            catalog = self._replace_catalog(layout, distrusted)
        if not was_marked:
            with suppress(OSError):  # an index that can only be read
                set_mark(layout.folder)
        self.identity = identity(layout.catalog)
        return catalog

    def _replace_catalog(self, layout: Layout, distrusted: tuple[int, int] | None) -> Catalog:
        """Put a new catalog in the place of a damaged one; the next refresh fills it."""
        with writer_lock(layout, _REPAIR_SECONDS):
            catalog = Catalog(layout.catalog)
            if not catalog.is_sound() or (distrusted is not None and identity(layout.catalog) == distrusted):
                catalog.close()
                for suffix in ("", "-wal", "-shm"):
                    layout.catalog.with_name(layout.catalog.name + suffix).unlink(missing_ok=True)
                self._note_repair("catalog_rebuilt")
                catalog = Catalog(layout.catalog)
            catalog.create(self.root)
            return catalog

    def _note_repair(self, what: str) -> None:
        if what not in self.repairs:
            self.repairs.append(what)

    def check(self) -> None:
        """Open the catalog again if another process removed or replaced it, and repair it if it is damaged."""
        layout = self.layout
        if layout is None or self.identity == identity(layout.catalog):
            return
        with self._lock:
            if self.identity == identity(layout.catalog):
                return
            try:
                old, self.catalog = self.catalog, self._open_catalog(layout)
            except (OSError, sqlite3.OperationalError) as error:
                raise IndexNotWritable(f"The index folder cannot be used: {reason(error)}.") from None
            self._kept = self._matrix = None
            old.retire()

    def repair(self, seen: tuple[int, int] | None, *, is_certain: bool = True) -> None:
        """Replace a catalog that turned out to be damaged while it was used.

        Args:
            seen: Its identity when it was used; if another has taken its place since, that is left alone.
            is_certain: Replace it also where no check of the file sees the damage.
        """
        if self.layout is not None:
            with self._lock:
                if self.identity != seen:
                    return
                soundness.forget(self.layout.catalog)
                self.catalog.retire()
                self.catalog = self._open_catalog(self.layout, distrusted=seen if is_certain else None)
                self._kept = self._matrix = None

    # -- reading -------------------------------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[View]:
        """Hold one generation of everything. The view comes without full text only where that is missing or damaged."""
        self.check()
        catalog = self.catalog
        with catalog.reading():
            meta = catalog.meta()
            kept = self._kept_of(catalog, meta)
            yield View(catalog, meta, self, kept)

    def _kept_of(self, catalog: Catalog, meta: dict[str, str]) -> Kept:
        stamp = meta.get("stamp", "")
        kept = self._kept
        if kept is not None and kept.stamp == stamp:
            return kept
        with self._lock:
            if self._kept is None or self._kept.stamp != stamp:
                lexical: Lexical | None = None
                with suppress(Damage):
                    lexical = Lexical(lambda: catalog.connection, segments.load(catalog.connection))
                if lexical is not None and lexical.documents != _number(meta, "documents"):
                    lexical = None
                self._kept = Kept(stamp, lexical)
            return self._kept

    def load_vectors(self, view: View, model: str) -> VectorMatrix:
        """Return the matrix of a model's vectors in a view, from memory if it is of the same generation."""
        key = (f"{view.meta.get('stamp', '')}/{view.meta.get('vectors_stamp', '')}", model)
        with self._lock:
            if self._matrix is not None and self._matrix[0] == key:
                return self._matrix[1]
        matrix = VectorMatrix.load(view.catalog.vectors.all(model))
        with self._lock:
            self._matrix = (key, matrix)
        return matrix

    # -- writing ---------------------------------------------------------------------------------------------------------

    def begin(self, *, anew: bool, damaged: bool = False) -> None:
        """Start a generation, inside a transaction of the catalog.

        Args:
            anew: Start with an empty one.
            damaged: The full text of the last one is lost, which answers are to say.
        """
        if anew:
            self.catalog.start_over()
        self._writer = LexicalWriter(self.catalog.connection, anew=anew)
        if damaged:
            self._note_repair("lexical_rebuilt")

    def remove_files(self, ids: Sequence[int]) -> None:
        """Remove files with everything they brought."""
        self._writing.remove_files(ids)
        self.catalog.remove_files(ids)

    def add_content(self, file_id: int, content: Content) -> list[int]:
        """Add what one file brings to catalog and full text; return the chunks' rows."""
        rows = self.catalog.add_chunks(file_id, content.chunks)
        symbols = [(rows[number] if number >= 0 else 0, symbol) for number, symbol in content.symbols]
        self.catalog.add_symbols(file_id, symbols)
        self.catalog.add_references(file_id, content.references)
        self._writing.add(rows, content.bags)
        return rows

    def finish(self) -> dict[str, str]:
        """Write the full text, and return what the catalog is to say of the whole."""
        return {"documents": str(self._writing.finish()), "files": str(self.catalog.count_files())}

    def end(self) -> None:
        """Let go of what writing a generation needed, whether it was finished or not."""
        self._writer = None

    @property
    def _writing(self) -> LexicalWriter:
        assert self._writer is not None
        return self._writer

    def clear(self, timeout: float = 60.0) -> None:
        """Remove the index with everything in its folder, once no writer is at work any more.

        Raises:
            IndexBusy: Another writer was at work for that long.
            IndexNotWritable: The folder cannot be removed.
        """
        if self.layout is not None:
            remove_index(self.layout, timeout, self.close)

    def close(self) -> None:
        """Close the catalog's connections."""
        self.catalog.close()
        self._kept = self._matrix = None


def _number(meta: dict[str, str], key: str) -> int:
    """Return a number that was noted; 0 where the note is damaged, which then shows in the full text."""
    return int(found) if (found := meta.get(key, "0")).isdecimal() else 0
