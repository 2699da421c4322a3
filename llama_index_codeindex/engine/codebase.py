"""One code base: its index on disk, kept fresh, searched and packed. What the command line and LlamaIndex stand on."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from llama_index_codeindex.engine.context.pack import MAX_HITS, MAX_LINES, MAX_TOKENS, Pack, make_pack
from llama_index_codeindex.engine.errors import (
    EmbeddingError,
    EmptyQuery,
    FileNotIndexed,
    IndexDamaged,
    InvalidArgument,
    StoreError,
)
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.jail import relative_path, resolve_root
from llama_index_codeindex.engine.graph import questions
from llama_index_codeindex.engine.graph.atlas import Atlas
from llama_index_codeindex.engine.graph.drawing import draw_picture
from llama_index_codeindex.engine.graph.model import Callers, Impact, Place, References
from llama_index_codeindex.engine.graph.repomap import DEFAULT_BUDGET, RepoMap, focus_on
from llama_index_codeindex.engine.model import Gap, Mode, SearchResult, Watermark
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.searcher import MAX_TOP_K, Answer, ExternalSearch, Searcher, check_arguments
from llama_index_codeindex.engine.search.texts import DiskTexts, TextCache
from llama_index_codeindex.engine.store.builder import (
    Builder,
    BuildOptions,
    Embedder,
    ProgressCallback,
    RefreshReport,
)
from llama_index_codeindex.engine.store.embedding import is_embedded
from llama_index_codeindex.engine.store.location import locate
from llama_index_codeindex.engine.store.revision import RevisionTree
from llama_index_codeindex.engine.store.store import Store, View
from llama_index_codeindex.engine.store.tree import DiskTree
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.engine.watch import DEBOUNCE, RECONCILE, Watcher

if TYPE_CHECKING:
    from llama_index_codeindex.engine.facts.inventory import Inventory
    from llama_index_codeindex.engine.facts.model import Facts

Refresh = Literal["manual", "auto"]
_T = TypeVar("_T")

# A search with `refresh="auto"` waits this long for a writer, and answers from the last generation if it takes longer.
_AUTO_WAIT = 5.0
# Hits of a question around which a map is drawn.
_MAP_HITS = 20


class ExternalVectorStore(ExternalSearch, Protocol):
    """A vector store of the user's that is kept in step with the index."""

    def sync(self, view: View, model_id: str) -> int:
        """Send what is new and remove what is gone; EmbeddingError if the store fails."""
        ...


class Codebase:
    """A root with its index.

    Args:
        root: The folder, in any spelling.
        cache_dir: Where indexes are kept; the user's cache folder by default.
        embedder: The embedding model, or None for lexical lanes alone.
        options: What shapes the index.
        allow_broad_root: Admit a home directory or a file system's root.
        refresh: With "auto", every search first brings the index to the state of the tree.
        revision: A branch, tag or commit to index instead of the files on disk; nothing is checked out.

    Raises:
        RootError: The root cannot be used.
        IndexNotWritable: The index folder cannot be used.
        InvalidArgument: There is no such revision.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        cache_dir: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
        options: BuildOptions | None = None,
        *,
        allow_broad_root: bool = False,
        refresh: Refresh = "manual",
        revision: str = "",
    ) -> None:
        if refresh not in ("manual", "auto"):
            raise InvalidArgument("`refresh` is 'manual' or 'auto'.", suggestion="Use refresh='auto'.")
        self.root = resolve_root(root, allow_broad=allow_broad_root)
        self.embedder = embedder
        self.revision = revision
        self.auto = refresh == "auto"
        self._layout = locate(self.root, cache_dir, revision)
        options = options or BuildOptions()
        skip = (*options.walk.skip, *self._layout.inside(self.root))
        self.options = replace(options, walk=replace(options.walk, skip=skip))
        self.tree: DiskTree | RevisionTree = (
            RevisionTree(self.root, self.options.walk, revision) if revision else DiskTree(self.root, self.options.walk)
        )
        self.store = Store(self._layout)
        self.external: ExternalVectorStore | None = None
        self._texts = TextCache()
        self._atlas = Atlas()
        self._auto_lock = threading.Lock()
        self._inventory: Inventory | None = None
        self._watchers: list[Watcher] = []

    @property
    def folder(self) -> Path:
        """The index folder."""
        return self._layout.folder

    @property
    def gate(self) -> Gate:
        """The gate that the indexed texts are read through."""
        return self.tree.gate_at(self.store.catalog.meta().get("commit", ""))

    @property
    def generation(self) -> int:
        """The number of the generation that serves; 0 before the first."""
        return int(self.store.catalog.meta().get("generation", "0"))

    # -- keeping it fresh ----------------------------------------------------------------------------------------------

    def refresh(
        self, progress: ProgressCallback | None = None, *, timeout: float = 60.0, verify: bool = False
    ) -> RefreshReport:
        """Bring the index to the state of the tree; see `Builder.refresh`."""
        if self.store.layout is None:  # it was cleared
            self.store = Store(self._layout)
        report = self._builder().refresh(progress, timeout, verify=verify)
        if self.external is not None and self.embedder is not None:
            with self.store.read() as view, suppress(EmbeddingError):  # every answer then says that the store is away
                self.external.sync(view, self.embedder.model_id)
        return report

    def _builder(self) -> Builder:
        return Builder(self.store, self.root, self.options, self.embedder, self.tree)

    def _refresh_before_answer(self) -> None:
        with self._auto_lock, suppress(StoreError):  # the answer's watermark then says that it failed or is stale
            self.refresh(timeout=_AUTO_WAIT)

    def is_changed(self) -> bool:
        """Say whether the tree has moved on since the index was made; files that look changed are compared by content."""
        try:
            survey = self._builder().survey()
        except InvalidArgument:
            return True  # the revision is gone
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
        """
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

    # -- what it says --------------------------------------------------------------------------------------------------

    def status(self) -> Watermark:
        """Return which snapshot of the code the index describes, compared with the tree as it is now."""
        changed = self.store.layout is not None and self.is_changed()
        with self.store.read() as view:
            return self._watermark(view, changed=changed)

    def gaps(self) -> list[Gap]:
        """Return what the walk met that is not in the index."""
        return self.store.catalog.gaps()

    def search(
        self,
        query: str,
        top_k: int = 5,
        mode: Mode = "all",
        filters: Filters | dict[str, object] | None = None,
        vector: Vector | None = None,
    ) -> SearchResult:
        """Return the best places for a question, and how far they can be trusted.

        Args:
            query: A question, a symbol or a path; `path:` and `lang:` words in it filter.
            top_k: How many hits at most, from 1 to 200.
            mode: `all` lanes, or only `meaning` (dense), `path` or `symbol`.
            filters: What the search may look at.
            vector: The question's vector, if the caller has it already.

        Raises:
            QueryError: The question or an argument cannot be used.
            IndexDamaged: The index turned out to be damaged; a refresh builds it anew.
        """
        check_arguments(top_k, mode)
        if not query.strip():
            raise EmptyQuery("The query is empty.")
        chosen = filters if isinstance(filters, Filters) else Filters.parse(filters)
        return self._answer(lambda searcher: searcher.search(query, top_k, mode, chosen, vector))

    def related(self, path: str, line: int, top_k: int = 5) -> SearchResult:
        """Return the neighbours of the code at a line: places that share its rarest words, or its meaning.

        Args:
            path: A file of the index, in any spelling.
            line: A line of it, from 1.
            top_k: How many hits at most.

        Raises:
            PathError: The path leaves the root or is not in the index.
            InvalidArgument: No code is at that line, or `top_k` is out of range.
        """
        check_arguments(top_k, "all")
        relative = relative_path(path, self.root)

        def ask(searcher: Searcher) -> Answer:
            catalog = searcher.view.catalog
            file = catalog.files().get(relative)
            if file is None:
                raise FileNotIndexed(f"{relative!r} is not in the index.")
            chunk = next((c for c in catalog.file_chunks([file.id]) if c.start_line <= line <= c.end_line), None)
            if chunk is None:
                raise InvalidArgument(f"No code of {relative!r} is at line {line}.")
            return searcher.related(chunk, top_k)

        return self._answer(ask)

    def _answer(self, ask: Callable[[Searcher], Answer]) -> SearchResult:
        """Ask one generation, and say which it was and how far the answer can be trusted."""
        if self.auto:
            self._refresh_before_answer()
        try:
            with self.store.read() as view:
                commit = view.meta.get("commit", "")
                texts = DiskTexts(self.tree.gate_at(commit), self._texts, self.tree.stamps(commit))
                answer = ask(Searcher(view, texts, self.embedder, external=self.external))
                mark = self._watermark(view, changed=texts.has_moved)
                reasons = [*answer.degraded_reasons, *self.store.repairs]
                if self.revision and mark.state == "stale":
                    reasons.append("revision_moved")
                return SearchResult(answer.hits, bool(reasons), reasons, mark, answer.empty_reason)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self.store.repair()
            raise IndexDamaged("The index was damaged and has been emptied.", suggestion="Refresh it.") from None

    def pack(
        self,
        query: str,
        filters: Filters | dict[str, object] | None = None,
        max_hits: int = MAX_HITS,
        max_lines: int = MAX_LINES,
        max_tokens: int = MAX_TOKENS,
    ) -> Pack:
        """Return the context pack for a question: exactly what a model would be given.

        Args:
            query: The question.
            filters: What the search may look at.
            max_hits: How many excerpts at most.
            max_lines: How many lines each at most.
            max_tokens: How many tokens the whole has at most, by a cautious estimate.

        Raises:
            QueryError: The question or an argument cannot be used.
        """
        # Twice the hits, so that what overlaps or is stale can be replaced.
        found = self.search(query, top_k=min(2 * max_hits, MAX_TOP_K), filters=filters)
        mark = found.watermark
        return make_pack(
            found.hits,
            query,
            max_hits=max_hits,
            max_lines=max_lines,
            max_tokens=max_tokens,
            generation=mark.generation,
            commit=mark.commit,
        )

    def facts(self) -> Facts:
        """Return what the manifests and lock files of the index declare, as they are now."""
        from llama_index_codeindex.engine.facts.inventory import Inventory  # its parsers are slow to load

        if self.auto:
            self._refresh_before_answer()
        with self.store.read() as view:
            paths, gaps = list(view.catalog.files()), view.catalog.gaps()
            gate = self.tree.gate_at(view.meta.get("commit", ""))
        self._inventory = self._inventory or Inventory()
        return self._inventory.facts(paths, gaps, gate)

    # -- who uses what -------------------------------------------------------------------------------------------------

    def definitions(self, name: str) -> tuple[Place, ...]:
        """Return the definitions that a name means, qualified or not, or an id of the form `path#qualified`."""
        return self._ask(lambda view: questions.definitions(view, self._lines_at(view), name))

    def references(self, name: str) -> References:
        """Return where a name is used, with the definition around each use and how sure it is that this name is meant.

        A use is `exact` when one definition fits and the text names it: in its own file or package, imported, through its
        module or class, or as `self.name` of its class. It is `likely` when one definition fits but nothing links them,
        as in `x.name()`, or when of several one is in the same file, imported, or next to it. Otherwise the `name` alone
        matches, and the use carries candidates. There are no types and no data flow: what is called through a variable,
        a string or an alias is matched by its name or not at all.

        Args:
            name: A name, qualified or not, or an id of the form `path#qualified`.

        Raises:
            EmptyQuery: The name is empty.
            SymbolNotFound: It is neither defined nor used.
        """
        return self._ask(lambda view: questions.references(view, self._lines_at(view), name))

    def callers(self, name: str, depth: int = 1) -> Callers:
        """Return what calls a definition and what calls that; only calls that are `exact` or `likely` are followed.

        Args:
            name: A name, qualified or not, or an id of the form `path#qualified`.
            depth: How many calls deep, from 1 to 50.

        Raises:
            QueryError: The name is not defined in the index, or an argument is out of range.
        """
        return self._ask(lambda view: questions.callers(view, self._lines_at(view), name, depth))

    def impact(self, target: str) -> Impact:
        """Return what a change of a file or a symbol may reach: callers of callers, their files, the tests among them.

        Args:
            target: A path of the index, or a symbol.

        Raises:
            QueryError: It is neither.
        """
        return self._ask(lambda view: questions.impact(view, self._lines_at(view), target))

    def repo_map(
        self,
        budget: int = DEFAULT_BUDGET,
        query: str | None = None,
        paths: Sequence[str] | None = None,
        page: int = 1,
        counter: Callable[[str], int] | None = None,
    ) -> RepoMap:
        """Return a map of the code base: the most used files and their most used symbols with signatures.

        Args:
            budget: The most tokens that a page costs; it is used to within two per cent while there is more to show.
            query: A question that the map is to be about.
            paths: Files or folders that it is to be about.
            page: Which page, from 1; each has the skeleton of the whole.
            counter: Counts the tokens of a text; a cautious estimate by default.

        Raises:
            FileNotIndexed: None of the paths is in the index.
            InvalidArgument: An argument is out of range.
        """
        hits = self.search(query, _MAP_HITS).hits if query is not None else []

        def draw(view: View) -> RepoMap:
            focus = focus_on(self._atlas.graph(view), hits, [relative_path(path, self.root) for path in paths or ()])
            return self._atlas.repo_map(view, focus, budget, page, counter)

        return self._ask(draw)

    def picture(self) -> str:
        """Return the map as a self-contained SVG for a person: folders, files by their lines, arrows by references."""
        return self._ask(lambda view: draw_picture(self._atlas.order(view, focus_on(self._atlas.graph(view), [], []))))

    def _lines_at(self, view: View) -> Callable[[str], Sequence[str] | None]:
        commit = view.meta.get("commit", "")
        return DiskTexts(self.tree.gate_at(commit), self._texts, self.tree.stamps(commit)).lines

    def _ask(self, question: Callable[[View], _T]) -> _T:
        """Ask one generation something that no search answers."""
        if self.auto:
            self._refresh_before_answer()
        try:
            with self.store.read() as view:
                return question(view)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self.store.repair()
            raise IndexDamaged("The index was damaged and has been emptied.", suggestion="Refresh it.") from None

    def _watermark(self, view: View, *, changed: bool) -> Watermark:
        meta = view.meta
        files, chunks = view.catalog.counts()
        model = self.embedder.model_id if self.embedder else ""
        share = self._embedded_share(view, chunks)
        return Watermark(
            generation=view.generation, state=self._state(view, share, changed), commit=meta.get("commit", ""),
            branch=meta.get("branch", ""), dirty_digest=meta.get("tree_digest", ""),
            scanned_at=max(meta.get("scanned_at", ""), self.store.verified_at if meta.get("stamp") else ""), files=files,
            chunks=chunks, gaps=json.loads(meta.get("gaps", "{}")), parser_fingerprint=meta.get("fingerprint", ""),
            embedding_model=model, embedded_share=round(share, 4),
        )  # fmt: skip

    def _embedded_share(self, view: View, chunks: int) -> float:
        if self.embedder is None or not chunks:
            return 0.0
        if is_embedded(view.meta, self.embedder.model_id):
            return 1.0
        return view.catalog.embedded_chunks(self.embedder.model_id) / chunks

    def _state(self, view: View, share: float, changed: bool) -> str:
        """Return the state: what went wrong comes before what is old, and that before what is incomplete."""
        meta = view.meta
        if self.store.failure or meta.get("failed"):
            return "failed"
        if not meta.get("stamp"):
            return "indexing"
        head = self.tree.head()
        if changed or (head.commit, head.branch) != (meta.get("commit", ""), meta.get("branch", "")):
            return "stale"
        if view.lexical is None or (self.embedder is not None and share < 1.0 and view.catalog.counts()[1]):
            return "partial"
        return "current"

    def close(self) -> None:
        """Stop the watchers and close the index."""
        self._stop_watchers()
        if isinstance(self.tree, RevisionTree):
            self.tree.close()
        self.store.close()
