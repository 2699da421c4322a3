"""The managed index: one line from a folder to a retriever, a query engine or a tool."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from llama_index.core.schema import TextNode
from llama_index.core.tools import FunctionTool, QueryEngineTool
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent

from llama_index_codeindex.chat_engine import CodeContextChatEngine
from llama_index_codeindex.embeddings import adapt
from llama_index_codeindex.engine.codebase import Codebase, Refresh
from llama_index_codeindex.engine.facts.model import Facts
from llama_index_codeindex.engine.graph.model import Callers, Impact, References
from llama_index_codeindex.engine.graph.repomap import DEFAULT_BUDGET, RepoMap
from llama_index_codeindex.engine.model import Gap, Mode, SearchResult, Watermark
from llama_index_codeindex.engine.progress import ProgressBar
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.store.builder import BuildOptions, ProgressCallback, RefreshReport
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.engine.watch import DEBOUNCE, Watcher
from llama_index_codeindex.grounding import RETRIEVED
from llama_index_codeindex.query_engine import CodeQueryEngine
from llama_index_codeindex.retrievers import FilterValues, HybridCodeRetriever, hit_node, parse_filters
from llama_index_codeindex.tools import CodeIndexToolSpec

_dispatcher = get_dispatcher(__name__)


class CodeIndexRefreshStartEvent(BaseEvent):
    """A refresh, or the first build, begins."""

    root: str

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the event."""
        return "CodeIndexRefreshStartEvent"


class CodeIndexRefreshEndEvent(BaseEvent):
    """A refresh has ended; `report` says what it did."""

    root: str
    report: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the event."""
        return "CodeIndexRefreshEndEvent"


class CodeIndexSearchEvent(BaseEvent):
    """A search was answered from the snapshot that the watermark names."""

    query: str
    mode: str
    watermark: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the event."""
        return "CodeIndexSearchEvent"


class CodeIndex:
    """A persisted, incremental index of a code base. Make one with `from_path`."""

    def __init__(self, codebase: Codebase) -> None:
        self._codebase = codebase

    @classmethod
    def from_path(
        cls,
        root: str | os.PathLike[str],
        cache_dir: str | os.PathLike[str] | None = None,
        embed_model: BaseEmbedding | None = None,
        vector_store: BasePydanticVectorStore | None = None,
        *,
        show_progress: bool = False,
        options: BuildOptions | None = None,
        allow_broad_root: bool = False,
        refresh: Refresh = "manual",
        require_dense: bool = False,
    ) -> CodeIndex:
        """Open the index of a folder, or build it, and bring it to the state of the files.

        Args:
            root: The folder.
            cache_dir: Where indexes are kept; the user's cache folder by default, never the repository.
            embed_model: Adds the lane that finds by meaning, for example `LocalEmbedding()` or `CodeEmbedding(...)`. Without
                one the lexical lanes answer alone, and say so: nothing is sent anywhere that was not named.
            vector_store: Any LlamaIndex vector store to search the vectors in, for when one machine is not enough. It is
                given vectors and file paths, no code, and should hold this index alone.
            show_progress: Show a progress bar on standard error.
            options: What shapes the index.
            allow_broad_root: Admit a home directory or a file system's root.
            refresh: With "auto", every search first brings the index to the state of the files.
            require_dense: Insist on answers by meaning: what keeps that lane from answering is raised, instead of noted in
                `degraded_reasons`. Single texts that are too long for the model are no error.

        Raises:
            RootError: The folder cannot be used.
            StoreError: The index cannot be written, or another process keeps writing it.
            InvalidArgument: `require_dense` comes without a model.
            EmbeddingError: With `require_dense`: chunks were left without vectors. The generation is published all the same.
        """
        codebase = Codebase(
            root, cache_dir, adapt(embed_model), options, allow_broad_root=allow_broad_root, refresh=refresh,
            require_dense=require_dense,
        )  # fmt: skip
        if vector_store is not None:
            from llama_index_codeindex.external_vectors import ExternalVectors

            codebase.external = ExternalVectors(vector_store, codebase.folder / "vector_store.json")
        return cls(codebase)._first_refreshed(show_progress=show_progress)

    @classmethod
    def at_revision(
        cls,
        root: str | os.PathLike[str],
        revision: str,
        cache_dir: str | os.PathLike[str] | None = None,
        embed_model: BaseEmbedding | None = None,
        *,
        show_progress: bool = False,
        options: BuildOptions | None = None,
        require_dense: bool = False,
    ) -> CodeIndex:
        """Open or build the index of a git revision, without checking it out; texts come from git's objects.

        It is an index of its own. When its branch has moved on, its state is `stale`, and its answers are degraded by
        `revision_moved`, until it is refreshed.

        Args:
            root: A folder inside a repository.
            revision: A branch, tag or commit.
            cache_dir: Where indexes are kept; the user's cache folder by default.
            embed_model: Adds the lane that finds by meaning.
            show_progress: Show a progress bar on standard error.
            options: What shapes the index.
            require_dense: Insist on answers by meaning; see `from_path`.

        Raises:
            InvalidArgument: There is no such revision, or `require_dense` comes without a model.
            EmbeddingError: With `require_dense`: chunks were left without vectors.
        """
        embedder = adapt(embed_model)
        codebase = Codebase(root, cache_dir, embedder, options, revision=revision, require_dense=require_dense)
        return cls(codebase)._first_refreshed(show_progress=show_progress)

    def _first_refreshed(self, *, show_progress: bool) -> CodeIndex:
        try:
            self.refresh(show_progress=show_progress)
        except BaseException:
            self.close()  # the caller never gets it
            raise
        return self

    @property
    def root(self) -> str:
        """The folder, resolved."""
        return str(self._codebase.root)

    @property
    def codebase(self) -> Codebase:
        """The engine under the index, which the tools stand on."""
        return self._codebase

    def refresh(self, *, show_progress: bool = False, progress: ProgressCallback | None = None) -> RefreshReport:
        """Bring the index to the state of the files; unchanged files are neither parsed nor embedded.

        Args:
            show_progress: Show a progress bar on standard error.
            progress: Called with how far it is; an exception it raises cancels and keeps the old generation.

        Raises:
            StoreError: The index cannot be written, or another process keeps writing it.
            EmbeddingError: With `require_dense`: chunks were left without vectors. The generation is published all the same.
        """
        _dispatcher.event(CodeIndexRefreshStartEvent(root=self.root))
        if show_progress:
            with ProgressBar() as bar:
                report = self._codebase.refresh(bar)
        else:
            report = self._codebase.refresh(progress)
        _dispatcher.event(CodeIndexRefreshEndEvent(root=self.root, report=asdict(report)))
        return report

    def watch(self, debounce: float = DEBOUNCE, **kwargs: Any) -> Watcher:
        """Refresh whenever files change; `stop()` the watcher, or use it in a `with` statement.

        Args:
            debounce: Seconds without a change before a refresh.
            kwargs: `reconcile`, seconds between comparisons of every file's content, and `on_refresh`, a callback.
        """
        return self._codebase.watch(debounce, **kwargs)

    def clear(self) -> None:
        """Remove the index from disk; a refresh builds it anew.

        Raises:
            StoreError: Another writer is at work, or the folder cannot be removed.
        """
        self._codebase.clear()

    def status(self) -> Watermark:
        """Return which snapshot of the code the index describes."""
        return self._codebase.status()

    def gaps(self) -> list[Gap]:
        """Return what is not in the index, each with its reason."""
        return self._codebase.gaps()

    def references(self, name: str) -> References:
        """Return where a name is used, each with the definition around it and how sure it is; see `Codebase.references`."""
        return self._codebase.references(name)

    def callers(self, name: str, depth: int = 1) -> Callers:
        """Return what calls a definition, and what calls that, up to a depth."""
        return self._codebase.callers(name, depth)

    def impact(self, target: str) -> Impact:
        """Return what a change of a file or a symbol may reach: callers of callers, their files, the tests among them."""
        return self._codebase.impact(target)

    def repo_map(
        self,
        budget: int = DEFAULT_BUDGET,
        query: str | None = None,
        paths: Sequence[str] | None = None,
        page: int = 1,
        counter: Callable[[str], int] | None = None,
    ) -> RepoMap:
        """Return a map of the code base under a hard budget of tokens; its `str` is the text for a model.

        Args:
            budget: The most tokens that a page costs.
            query: A question that the map is to be about.
            paths: Files or folders that it is to be about.
            page: Which page, from 1.
            counter: Counts the tokens of a text; a cautious estimate by default.

        Raises:
            FileNotIndexed: None of the paths is in the index.
            InvalidArgument: An argument is out of range.
        """
        return self._codebase.repo_map(budget, query, paths, page, counter)

    def facts(self) -> Facts:
        """Return declared packages, locked versions and runtimes, each with file and line, as the files are now."""
        return self._codebase.facts()

    def search(self, query: str, top_k: int = 5, mode: Mode = "all", filters: FilterValues = None) -> SearchResult:
        """Return the best places for a question.

        Args:
            query: A question, a symbol or a path; `path:` and `lang:` words in it filter.
            top_k: How many hits at most, from 1 to 200.
            mode: `all` lanes, or only `meaning`, `path` or `symbol`.
            filters: What the search may look at: `under`, `language`, `category`, `symbol_kind`, `exclude`.

        Raises:
            QueryError: The question or an argument cannot be used.
            EmbeddingError: With `require_dense`: the lane of meaning cannot answer.
        """
        return self.find(query, top_k, mode, parse_filters(filters))[0]

    def related(self, path: str, line: int, top_k: int = 5) -> SearchResult:
        """Return the neighbours of the code at a line: places that share its rarest words, or its meaning.

        Args:
            path: A file of the index.
            line: A line of it, from 1.
            top_k: How many hits at most.

        Raises:
            PathError: The path leaves the root or is not in the index.
            InvalidArgument: No code is at that line, or `top_k` is out of range.
        """
        return self._codebase.related(path, line, top_k)

    @property
    def name(self) -> str:
        """What hits call this index when several are searched: the name of its folder."""
        return self._codebase.root.name

    def is_there(self) -> bool:
        """Say whether the index can be searched: its root exists and it is not cleared."""
        return self._codebase.root.is_dir() and self._codebase.generation > 0

    def find(
        self, query: str, top_k: int, mode: Mode, filters: Filters, vector: Vector | None = None
    ) -> tuple[SearchResult, list[TextNode]]:
        """Return the result and a fresh node for each hit: what a retriever needs."""
        result = self._codebase.search(query, top_k, mode, filters, vector)
        _dispatcher.event(CodeIndexSearchEvent(query=query, mode=mode, watermark=result.watermark.to_dict()))
        return result, [hit_node(hit) for hit in result.hits]

    def as_retriever(
        self, similarity_top_k: int = 5, mode: Mode = "all", filters: FilterValues = None, **kwargs: Any
    ) -> HybridCodeRetriever:
        """Return a retriever over this index; see `HybridCodeRetriever`."""
        return HybridCodeRetriever(self, similarity_top_k, mode, filters, **kwargs)

    def as_query_engine(
        self, llm: LLM | None = None, similarity_top_k: int = RETRIEVED, **kwargs: Any
    ) -> CodeQueryEngine:
        """Return a query engine that answers from a context pack, and says how far the answer can be trusted.

        Args:
            llm: The language model; LlamaIndex's `Settings.llm` by default.
            similarity_top_k: How many hits the pack is chosen from.
            kwargs: Further arguments of `CodeQueryEngine.from_args`.
        """
        return CodeQueryEngine.from_args(self.as_retriever(similarity_top_k), llm=llm, **kwargs)

    def as_chat_engine(self, llm: LLM | None = None, **kwargs: Any) -> CodeContextChatEngine:
        """Return a chat engine that grounds every turn in the code.

        Args:
            llm: The language model; LlamaIndex's `Settings.llm` by default.
            kwargs: Further arguments of `CodeContextChatEngine.from_defaults`.
        """
        return CodeContextChatEngine.from_defaults(index=self, llm=llm, **kwargs)

    def as_tools(self) -> list[FunctionTool]:
        """Return the tools for an agent: search, symbols, references, lines, status and refresh."""
        return CodeIndexToolSpec(index=self).to_tool_list()

    def as_query_engine_tool(
        self, llm: LLM | None = None, name: str = "ask_code", description: str | None = None, **kwargs: Any
    ) -> QueryEngineTool:
        """Return the query engine as one tool, for agents that compose query engines.

        Args:
            llm: The language model that answers.
            name: What the agent calls it.
            description: What the agent reads of it.
            kwargs: Further arguments of `as_query_engine`.
        """
        text = description or "Answer a question about the code base in words, from excerpts of it, with path:line."
        return QueryEngineTool.from_defaults(self.as_query_engine(llm, **kwargs), name=name, description=text)

    def close(self) -> None:
        """Close the index; a `with` statement does it at its end."""
        self._codebase.close()

    def __enter__(self) -> CodeIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
