"""The managed index: one line from a folder to a retriever, a query engine or a tool."""

from __future__ import annotations

import os
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode

from llama_index_codeindex.embeddings import adapt
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.model import Gap, Mode, SearchResult, Watermark
from llama_index_codeindex.engine.progress import ProgressBar
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.store.builder import BuildOptions, ProgressCallback, RefreshReport
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.postprocessor import ContextPackPostprocessor
from llama_index_codeindex.retrievers import FilterValues, HybridCodeRetriever, hit_node, parse_filters


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
        *,
        show_progress: bool = False,
        options: BuildOptions | None = None,
        allow_broad_root: bool = False,
    ) -> CodeIndex:
        """Open the index of a folder, or build it, and bring it to the state of the files.

        Args:
            root: The folder.
            cache_dir: Where indexes are kept; the user's cache folder by default, never the repository.
            embed_model: Adds the lane that finds by meaning; without one the lexical lanes answer alone, and say so.
            show_progress: Show a progress bar on standard error.
            options: What shapes the index.
            allow_broad_root: Admit a home directory or a file system's root.

        Raises:
            RootError: The folder cannot be used.
            StoreError: The index cannot be written, or another process keeps writing it.
        """
        index = cls(Codebase(root, cache_dir, adapt(embed_model), options, allow_broad_root=allow_broad_root))
        index.refresh(show_progress=show_progress)
        return index

    @property
    def root(self) -> str:
        """The folder, resolved."""
        return str(self._codebase.root)

    def refresh(self, *, show_progress: bool = False, progress: ProgressCallback | None = None) -> RefreshReport:
        """Bring the index to the state of the files; unchanged files are neither parsed nor embedded.

        Args:
            show_progress: Show a progress bar on standard error.
            progress: Called with how far it is; an exception it raises cancels and keeps the old generation.

        Raises:
            StoreError: The index cannot be written, or another process keeps writing it.
        """
        if not show_progress:
            return self._codebase.refresh(progress)
        with ProgressBar() as bar:
            return self._codebase.refresh(bar)

    def status(self) -> Watermark:
        """Return which snapshot of the code the index describes."""
        return self._codebase.status()

    def gaps(self) -> list[Gap]:
        """Return what is not in the index, each with its reason."""
        return self._codebase.gaps()

    def search(self, query: str, top_k: int = 5, mode: Mode = "all", filters: FilterValues = None) -> SearchResult:
        """Return the best places for a question.

        Args:
            query: A question, a symbol or a path; `path:` and `lang:` words in it filter.
            top_k: How many hits at most, from 1 to 200.
            mode: `all` lanes, or only `meaning`, `path` or `symbol`.
            filters: What the search may look at: `under`, `language`, `category`, `symbol_kind`, `exclude`.

        Raises:
            QueryError: The question or an argument cannot be used.
        """
        return self._codebase.search(query, top_k, mode, parse_filters(filters))

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
        return self._codebase.root.is_dir() and self._codebase.status().generation > 0

    def find(
        self, query: str, top_k: int, mode: Mode, filters: Filters, vector: Vector | None = None
    ) -> tuple[SearchResult, list[TextNode]]:
        """Return the result and a fresh node for each hit: what a retriever needs."""
        result = self._codebase.search(query, top_k, mode, filters, vector)
        return result, [hit_node(hit) for hit in result.hits]

    def as_retriever(
        self, similarity_top_k: int = 5, mode: Mode = "all", filters: FilterValues = None, **kwargs: Any
    ) -> HybridCodeRetriever:
        """Return a retriever over this index; see `HybridCodeRetriever`."""
        return HybridCodeRetriever(self, similarity_top_k, mode, filters, **kwargs)

    def as_query_engine(
        self, llm: LLM | None = None, similarity_top_k: int = 10, **kwargs: Any
    ) -> RetrieverQueryEngine:
        """Return a query engine that answers from a context pack.

        Args:
            llm: The language model; LlamaIndex's `Settings.llm` by default.
            similarity_top_k: How many hits the pack is chosen from.
            kwargs: Further arguments of `RetrieverQueryEngine.from_args`.
        """
        pack = ContextPackPostprocessor(root=self.root)
        processors = [*kwargs.pop("node_postprocessors", ()), pack]
        return RetrieverQueryEngine.from_args(
            self.as_retriever(similarity_top_k), llm=llm, node_postprocessors=processors, **kwargs
        )

    def close(self) -> None:
        """Close the index."""
        self._codebase.close()
