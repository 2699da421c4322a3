"""One code base: its index on disk, kept fresh, searched and packed. What the command line and LlamaIndex stand on."""

from __future__ import annotations

import os
from pathlib import Path

from llama_index_codeindex.engine.context.pack import MAX_HITS, MAX_LINES, MAX_TOKENS, Pack, make_pack
from llama_index_codeindex.engine.errors import EmptyQuery, FileNotIndexed, InvalidArgument
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.jail import relative_path, resolve_root
from llama_index_codeindex.engine.model import Gap, Mode, SearchResult, Watermark, count_gaps
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.searcher import Searcher, check_arguments
from llama_index_codeindex.engine.search.texts import DiskTexts
from llama_index_codeindex.engine.store.builder import (
    Builder,
    BuildOptions,
    Embedder,
    ProgressCallback,
    RefreshReport,
)
from llama_index_codeindex.engine.store.location import locate
from llama_index_codeindex.engine.store.store import Store, View
from llama_index_codeindex.engine.store.vectors import Vector


class Codebase:
    """A root with its index.

    Args:
        root: The folder, in any spelling.
        cache_dir: Where indexes are kept; the user's cache folder by default.
        embedder: The embedding model, or None for lexical lanes alone.
        options: What shapes the index.
        allow_broad_root: Admit a home directory or a file system's root.

    Raises:
        RootError: The root cannot be used.
        IndexNotWritable: The index folder cannot be used.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        cache_dir: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
        options: BuildOptions | None = None,
        *,
        allow_broad_root: bool = False,
    ) -> None:
        self.root = resolve_root(root, allow_broad=allow_broad_root)
        self.embedder = embedder
        self.options = options or BuildOptions()
        self.store = Store(locate(self.root, cache_dir))
        self.gate = Gate(self.root, self.options.walk.max_file_bytes)

    def refresh(self, progress: ProgressCallback | None = None) -> RefreshReport:
        """Bring the index to the state of the tree; see `Builder.refresh`."""
        return Builder(self.store, self.root, self.options, self.embedder).refresh(progress)

    def status(self) -> Watermark:
        """Return which snapshot of the code the index describes."""
        with self.store.read() as view:
            return self._watermark(view)

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
        """
        check_arguments(top_k, mode)
        if not query.strip():
            raise EmptyQuery("The query is empty.")
        chosen = filters if isinstance(filters, Filters) else Filters.parse(filters)
        with self.store.read() as view:
            answer = Searcher(view, DiskTexts(self.gate), self.embedder).search(query, top_k, mode, chosen, vector)
            reasons = [*answer.degraded_reasons, *self.store.repairs]
            return SearchResult(answer.hits, bool(reasons), reasons, self._watermark(view), answer.empty_reason)

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
        with self.store.read() as view:
            file = view.catalog.files().get(relative)
            if file is None:
                raise FileNotIndexed(f"{relative!r} is not in the index.")
            chunks = view.catalog.file_chunks([file.id])
            chunk = next((c for c in chunks if c.start_line <= line <= c.end_line), None)
            if chunk is None:
                raise InvalidArgument(f"No code of {relative!r} is at line {line}.")
            answer = Searcher(view, DiskTexts(self.gate), self.embedder).related(chunk, top_k)
            reasons = [*answer.degraded_reasons, *self.store.repairs]
            return SearchResult(answer.hits, bool(reasons), reasons, self._watermark(view), answer.empty_reason)

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
        found = self.search(query, top_k=2 * max_hits, filters=filters)
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

    def _watermark(self, view: View) -> Watermark:
        meta = view.meta
        files, chunks = view.catalog.counts()
        model = self.embedder.model_id if self.embedder else ""
        share = len(view.vectors(model).rows) / chunks if model and chunks else 0.0
        state = "current" if meta.get("stamp") else "indexing"
        if view.lexical is None or (model and share < 1.0 and chunks):
            state = "partial"
        return Watermark(
            generation=view.generation, state=state, commit=meta.get("commit", ""), branch=meta.get("branch", ""),
            dirty_digest=meta.get("tree_digest", ""), scanned_at=meta.get("scanned_at", ""), files=files, chunks=chunks,
            gaps=count_gaps(view.catalog.gaps()), parser_fingerprint=meta.get("fingerprint", ""),
            embedding_model=model, embedded_share=round(share, 4),
        )  # fmt: skip

    def close(self) -> None:
        """Close the index."""
        self.store.close()


def skip_folder(root: Path, cache_dir: str | os.PathLike[str] | None) -> tuple[Path, ...]:
    """Return the cache folder if it lies inside the root, so that an index never reads itself."""
    if cache_dir is None:
        return ()
    folder = Path(cache_dir).expanduser().resolve()
    return (folder,) if folder.is_relative_to(root) and folder != root else ()
