"""An index on disk, kept in step with the tree that it describes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from llama_index_codeindex.engine.errors import (
    EmbeddingError,
    IndexDamaged,
    InvalidArgument,
    RootNotFound,
    StoreError,
    embedding_error,
)
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Gap, Watermark
from llama_index_codeindex.engine.search.dense import ExternalSearch
from llama_index_codeindex.engine.search.turns import in_turn
from llama_index_codeindex.engine.store.builder import (
    Builder,
    BuildOptions,
    Embedder,
    ProgressCallback,
    RefreshReport,
)
from llama_index_codeindex.engine.store.connections import is_damage
from llama_index_codeindex.engine.store.location import Layout
from llama_index_codeindex.engine.store.revision import RevisionTree
from llama_index_codeindex.engine.store.store import Store, View
from llama_index_codeindex.engine.store.tree import DiskTree
from llama_index_codeindex.engine.watch import DEBOUNCE, RECONCILE, Watcher
from llama_index_codeindex.engine.watermark import watermark

# A search with `refresh="auto"` waits this long for a writer, and answers from the last generation if it takes longer.
_AUTO_WAIT = 5.0


class ExternalVectorStore(ExternalSearch, Protocol):
    """A vector store of the user's that is kept in step with the index."""

    def sync(self, view: View, model_id: str) -> int:
        """Send what is new and remove what is gone; EmbeddingError if the store fails."""
        ...


class Upkeep:
    """An index and what it is made from.

    Args:
        root: The resolved root.
        layout: Where the index lies.
        tree: Where the files come from.
        options: What shapes the index.
        embedder: The embedding model, or None.
        require_dense: Raise instead of doing without vectors.
        auto: Bring the index to the state of the tree before every answer.

    Raises:
        IndexNotWritable: The index folder cannot be used.
    """

    def __init__(
        self,
        root: Path,
        layout: Layout,
        tree: DiskTree | RevisionTree,
        options: BuildOptions,
        embedder: Embedder | None,
        *,
        require_dense: bool,
        auto: bool,
    ) -> None:
        self.root = root
        self.tree = tree
        self.options = options
        self.embedder = embedder
        self.require_dense = require_dense
        self.auto = auto
        self.store = Store(layout)
        self.external: ExternalVectorStore | None = None
        self._layout = layout
        self._auto_lock = threading.Lock()
        self._watchers: list[Watcher] = []

    @property
    def folder(self) -> Path:
        """The index folder."""
        return self._layout.folder

    @property
    def gate(self) -> Gate:
        """The gate that the indexed texts are read through."""
        with self.store.read() as view:
            return self.tree.gate_at(view.meta.get("commit", ""))

    @property
    def generation(self) -> int:
        """The number of the generation that serves; 0 before the first."""
        with self.store.read() as view:
            return view.generation

    # -- keeping it fresh ----------------------------------------------------------------------------------------------

    def refresh(
        self, progress: ProgressCallback | None = None, *, timeout: float = 60.0, verify: bool = False
    ) -> RefreshReport:
        """Bring the index to the state of the tree; see `Builder.refresh`.

        Raises:
            EmbeddingError: With `require_dense`: chunks were left without vectors. The generation is published all the same.
        """
        if self.store.layout is None:  # it was cleared
            self.store = Store(self._layout)
        report = self._builder().refresh(progress, timeout, verify=verify)
        problem, why = report.embedding_problem, f"{report.unembedded} texts got no vector"
        if self.external is not None and self.embedder is not None:
            try:
                with self.store.read() as view:
                    self.external.sync(view, self.embedder.model_id)
            except EmbeddingError as error:  # every answer then says that the store is away
                problem, why = problem or error.code, why if problem else error.message.rstrip(".")
        if self.require_dense and problem:
            told = f"Generation {report.generation} is published and answers by words, but not by meaning: {why}."
            raise embedding_error(problem, told)
        return report

    def _builder(self) -> Builder:
        return Builder(self.store, self.root, self.options, self.embedder, self.tree)

    def is_changed(self) -> bool:
        """Say whether the tree has moved on since the index was made; files that look changed are compared by content."""
        try:
            survey = self._builder().survey()
        except (InvalidArgument, RootNotFound):
            return True  # the revision, or the root, is gone
        head = {"commit", "branch"}
        return survey.is_tree_changed or any(survey.meta.get(key, "") != survey.facts[key] for key in head)

    def watch(
        self,
        debounce: float = DEBOUNCE,
        reconcile: float = RECONCILE,
        on_refresh: Callable[[RefreshReport], None] | None = None,
    ) -> Watcher:
        """Refresh whenever files change, until the watcher is stopped or the index closed.

        Args:
            debounce: Seconds without a change before a refresh.
            reconcile: Seconds between comparisons of every file's content, which find what no event told.
            on_refresh: Called in the watcher's thread after every refresh that it made.

        Raises:
            InvalidArgument: A time is not above zero.
        """
        if not (debounce > 0 and reconcile > 0):
            raise InvalidArgument("The seconds of a watcher are above zero.", suggestion="Use one second or more.")
        watcher = Watcher(self.root, self.refresh, self.options.walk.skip, debounce, reconcile, on_refresh)
        self._watchers.append(watcher)
        return watcher.start()

    def clear(self) -> None:
        """Stop the watchers and remove the index from disk, once no writer is at work any more.

        Raises:
            IndexBusy: Another writer is at work.
            IndexNotWritable: The folder cannot be removed.
        """
        self._stop_watchers()
        self.store.clear()
        self.store = Store(None)

    def _stop_watchers(self) -> None:
        while self._watchers:
            self._watchers.pop().stop()

    def close(self) -> None:
        """Stop the watchers and close the index."""
        self._stop_watchers()
        if isinstance(self.tree, RevisionTree):
            self.tree.close()
        self.store.close()

    # -- reading it ----------------------------------------------------------------------------------------------------

    def status(self) -> Watermark:
        """Return which snapshot of the code the index describes, compared with the tree as it is now."""
        with self._mending():
            changed = self.store.layout is not None and self.is_changed()
            with self.store.read() as view:
                return watermark(view, self.tree, self.embedder, changed=changed)

    def gaps(self) -> list[Gap]:
        """Return what the walk met that is not in the index."""
        with self._mending(), self.store.read() as view:
            return view.catalog.gaps()

    @contextmanager
    def _reading(self) -> Iterator[View]:
        """Hold the generation that an answer comes from."""
        if self.auto:
            self._refresh_before_answer()
        with self._mending(), self.store.read() as view:
            yield view

    @contextmanager
    def _searching(self) -> Iterator[View]:
        """Hold the generation that an answer comes from, and the turn."""
        if self.embedder is not None:
            with self._reading() as view, in_turn():
                yield view
            return
        if self.auto:
            self._refresh_before_answer()
        # Who waits for no server cannot hold a connection that another needs in its turn. With the turn first, all use
        # one connection after the other, and the pages it keeps.
        # But for the store itself, which may have to be opened anew, nothing is waited for in turn.
        with self._mending():
            self.store.check()
            with in_turn(), self.store.read() as view:
                yield view

    def _refresh_before_answer(self) -> None:
        # The answer's watermark then says that it failed or is stale; who insists on meaning is told by the search.
        with self._auto_lock, suppress(StoreError, EmbeddingError):
            self.refresh(timeout=_AUTO_WAIT)

    @contextmanager
    def _mending(self) -> Iterator[None]:
        """Empty an index that turns out to be damaged while it is read, and say so."""
        seen = self.store.identity
        try:
            yield
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self.store.repair(seen)
            raise IndexDamaged("The index was damaged and has been emptied.", suggestion="Refresh it.") from None
