"""One code base: a folder whose index is asked questions. What the command line and LlamaIndex stand on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from llama_index_codeindex.engine.context.pack import MAX_HITS, MAX_LINES, MAX_TOKENS, Pack, make_pack
from llama_index_codeindex.engine.errors import EmptyQuery, FileNotIndexed, InvalidArgument
from llama_index_codeindex.engine.files.jail import refuse_git_folder, relative_path, resolve_root
from llama_index_codeindex.engine.graph import questions
from llama_index_codeindex.engine.graph.atlas import Atlas
from llama_index_codeindex.engine.graph.model import Callers, Impact, Place, References
from llama_index_codeindex.engine.graph.repomap import DEFAULT_BUDGET, RepoMap, focus_on
from llama_index_codeindex.engine.model import Mode, SearchResult
from llama_index_codeindex.engine.search.dense import check_dense
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.searcher import MAX_TOP_K, Answer, Searcher, check_arguments
from llama_index_codeindex.engine.search.texts import DiskTexts, TextCache
from llama_index_codeindex.engine.store.location import locate
from llama_index_codeindex.engine.store.options import BuildOptions, Embedder
from llama_index_codeindex.engine.store.revision import RevisionTree
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.store.tree import DiskTree
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.engine.syntax.outline import chunk_of_line
from llama_index_codeindex.engine.upkeep import Upkeep
from llama_index_codeindex.engine.watermark import watermark

if TYPE_CHECKING:
    from llama_index_codeindex.engine.facts.inventory import Inventory
    from llama_index_codeindex.engine.facts.model import Facts

Refresh = Literal["manual", "auto"]

# Hits of a question around which a map is drawn.
_MAP_HITS = 20


class Codebase(Upkeep):
    """A root with its index.

    Args:
        root: The folder, in any spelling.
        cache_dir: Where indexes are kept; the user's cache folder by default.
        embedder: The embedding model, or None for lexical lanes alone.
        options: What shapes the index.
        allow_broad_root: Admit a home directory or a file system's root.
        refresh: With "auto", every search first brings the index to the state of the tree.
        revision: A branch, tag or commit to index instead of the files on disk; nothing is checked out.
        require_dense: Insist on answers by meaning: where the embedding model or its vectors are missing, questions and
            refreshes raise the EmbeddingError instead of doing without.

    Raises:
        RootError: The root cannot be used.
        IndexNotWritable: The index folder cannot be used.
        InvalidArgument: There is no such revision, or `require_dense` comes without a model.
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
        require_dense: bool = False,
    ) -> None:
        check_dense(embedder, required=require_dense)
        if refresh not in ("manual", "auto"):
            raise InvalidArgument("`refresh` is 'manual' or 'auto'.", suggestion="Use refresh='auto'.")
        resolved = resolve_root(root, allow_broad=allow_broad_root)
        if not revision:  # which a bare repository has, too
            refuse_git_folder(resolved)
        layout = locate(resolved, cache_dir, revision)
        options = options or BuildOptions()
        walked = replace(options.walk, skip=(*options.walk.skip, *layout.inside(resolved)))
        tree = RevisionTree(resolved, walked, revision) if revision else DiskTree(resolved, walked)
        super().__init__(
            resolved, layout, tree, replace(options, walk=walked), embedder,
            require_dense=require_dense, auto=refresh == "auto",
        )  # fmt: skip
        self.revision = revision
        self._texts = TextCache()
        self._atlas = Atlas()
        self._inventory: Inventory | None = None

    # -- what is where -------------------------------------------------------------------------------------------------

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
            EmbeddingError: With `require_dense`: the lane of meaning cannot answer.
            IndexDamaged: The index turned out to be damaged; a refresh builds it anew.
        """
        check_arguments(top_k, mode)
        if not isinstance(query, str):
            raise InvalidArgument("The query is a string.")
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
            file = catalog.file(relative)
            if file is None:
                raise FileNotIndexed(f"{relative!r} is not in the index.")
            chunk = chunk_of_line(catalog.file_chunks([file.id]), line)
            if chunk is None:
                raise InvalidArgument(f"No code of {relative!r} is at line {line}.")
            return searcher.related(chunk, top_k)

        return self._answer(ask)

    def _answer(self, ask: Callable[[Searcher], Answer]) -> SearchResult:
        """Ask one generation, and say which it was and how far the answer can be trusted."""
        with self._searching() as view:
            texts = self._texts_at(view)
            answer = ask(Searcher(view, texts, self.embedder, external=self.external, require_dense=self.require_dense))
            mark = watermark(view, self.tree, self.embedder, changed=texts.has_moved)
            reasons = [*answer.degraded_reasons, *self.store.repairs]
            if self.revision and mark.state == "stale":
                reasons.append("revision_moved")
            return SearchResult(answer.hits, bool(reasons), reasons, mark, answer.empty_reason, answer.filtered_preview)

    def _texts_at(self, view: View) -> DiskTexts:
        """Return the texts that a generation was made from, as they are now."""
        commit = view.meta.get("commit", "")
        return DiskTexts(self.tree.gate_at(commit), self._texts, self.tree.stamps(commit))

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

        with self._reading() as view:
            paths, gaps = list(view.catalog.files()), view.catalog.gaps()
            gate = self.tree.gate_at(view.meta.get("commit", ""))
        self._inventory = self._inventory or Inventory()
        return self._inventory.facts(paths, gaps, gate)

    # -- who uses what -------------------------------------------------------------------------------------------------

    def definitions(self, name: str) -> tuple[Place, ...]:
        """Return the definitions that a name means, qualified or not, or an id of the form `path#qualified`."""
        with self._reading() as view:
            return questions.definitions(view, self._texts_at(view).lines, name)

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
        with self._reading() as view:
            return questions.references(view, self._texts_at(view).lines, name)

    def callers(self, name: str, depth: int = 1) -> Callers:
        """Return what calls a definition and what calls that; only calls that are `exact` or `likely` are followed.

        Args:
            name: A name, qualified or not, or an id of the form `path#qualified`.
            depth: How many calls deep, from 1 to 50.

        Raises:
            QueryError: The name is not defined in the index, or an argument is out of range.
        """
        with self._reading() as view:
            return questions.callers(view, self._texts_at(view).lines, name, depth)

    def impact(self, target: str) -> Impact:
        """Return what a change of a file or a symbol may reach: callers of callers, their files, the tests among them.

        Args:
            target: A path of the index, or a symbol.

        Raises:
            QueryError: It is neither.
        """
        with self._reading() as view:
            return questions.impact(view, self._texts_at(view).lines, target)

    def repo_map(
        self,
        budget: int = DEFAULT_BUDGET,
        query: str | None = None,
        paths: Sequence[str] | None = None,
        page: int = 1,
        counter: Callable[[str], int] | None = None,
    ) -> RepoMap:
        """Return a map of the code base, or of what a question or some paths are about; see `draw_map`.

        Raises:
            FileNotIndexed: None of the paths is in the index.
            InvalidArgument: An argument is out of range.
        """
        hits = self.search(query, _MAP_HITS).hits if query is not None else []
        with self._reading() as view:
            focus = focus_on(self._atlas.graph(view), hits, [relative_path(path, self.root) for path in paths or ()])
            return self._atlas.repo_map(view, focus, budget, page, counter)

    def picture(self) -> str:
        """Return the map as a self-contained SVG for a person: folders, files by their lines, arrows by references."""
        from llama_index_codeindex.engine.graph.drawing import draw_picture  # seldom wanted

        with self._reading() as view:
            return draw_picture(self._atlas.order(view, focus_on(self._atlas.graph(view), [], [])))
