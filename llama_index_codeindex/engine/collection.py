"""Chunks that somebody else cut, searched in memory by the same lanes and ranking as a code base."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass

from llama_index_codeindex.engine.errors import EmbeddingError, InvalidArgument
from llama_index_codeindex.engine.files.categories import categorise
from llama_index_codeindex.engine.model import Chunk, Mode, Outline, SearchResult, SourceFile, Symbol, Watermark
from llama_index_codeindex.engine.search.dense import check_dense
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.searcher import Searcher
from llama_index_codeindex.engine.search.texts import KeptTexts
from llama_index_codeindex.engine.search.turns import in_turn
from llama_index_codeindex.engine.store.contents import content_of, embedded_text, path_key, text_hash
from llama_index_codeindex.engine.store.options import Embedder
from llama_index_codeindex.engine.store.rows import MAX_CHUNKS
from llama_index_codeindex.engine.store.store import Store
from llama_index_codeindex.engine.store.vectors import Vector, unit


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk with what its file is called; `vector` if it is embedded already."""

    path: str
    language: str
    chunk: Chunk
    vector: Vector | None = None
    symbols: tuple[Symbol, ...] = ()  # the definitions inside, where its parser told them


class Collection:
    """Searches pieces.

    Args:
        pieces: The chunks, in any order.
        embedder: The embedding model, or None for lexical lanes alone.
        require_dense: Raise what keeps the lane of meaning from answering, instead of doing without it.

    Raises:
        InvalidArgument: `require_dense` comes without a model.
        EmbeddingError: With `require_dense`: the model failed.
    """

    def __init__(
        self, pieces: Sequence[Piece], embedder: Embedder | None = None, *, require_dense: bool = False
    ) -> None:
        check_dense(embedder, required=require_dense)
        self.embedder = embedder
        self.require_dense = require_dense
        self.store = Store(None)
        self.positions: dict[int, int] = {}
        texts: dict[int, str] = {}
        files: dict[str, list[int]] = {}
        for position, piece in enumerate(pieces):
            files.setdefault(piece.path, []).append(position)
        catalog = self.store.catalog
        with catalog.writing():
            self.store.begin(anew=True)
            for path, members in files.items():
                if len(members) > MAX_CHUNKS:
                    raise InvalidArgument(f"More than {MAX_CHUNKS} nodes are of the file {path!r}.")
                members.sort(key=lambda position: (pieces[position].chunk.start_line, position))
                file_id = catalog.add_file(
                    SourceFile(path, 0, 0), hash="", language=pieces[members[0]].language, category=categorise(path),
                    encoding="", redactions=0, structural=True, lines=0, path_key=path_key(path),
                )  # fmt: skip
                chunks = tuple(pieces[position].chunk for position in members)
                found = Outline(
                    pieces[members[0]].language, chunks, tuple(_symbols([pieces[position] for position in members]))
                )
                for row, position in zip(
                    self.store.add_content(file_id, content_of(path, found)), members, strict=True
                ):
                    self.positions[row] = position
                    texts[row] = pieces[position].chunk.text
            if embedder is not None:
                self._embed(pieces, embedder)
            catalog.create_indexes()
            catalog.set_meta({"generation": "1", "stamp": "1", **self.store.finish()})
        self.store.end()
        self._texts = KeptTexts(texts)

    def _embed(self, pieces: Sequence[Piece], embedder: Embedder) -> None:
        wanted = {}
        for piece in pieces:
            text = embedded_text(piece.chunk.text, piece.chunk.context)
            wanted[text_hash(text)] = (text, piece.vector)
        stored = [(key, unit(vector).tobytes()) for key, (_, vector) in wanted.items() if vector is not None]
        missing = [(key, text) for key, (text, vector) in wanted.items() if vector is None]
        # What has no vector is told by every answer: `not_embedded` or `partly_embedded`.
        with nullcontext() if self.require_dense else suppress(EmbeddingError):
            vectors = embedder.embed_texts([text for _, text in missing]) if missing else []
            stored += [(key, unit(v).tobytes()) for (key, _), v in zip(missing, vectors, strict=True) if v is not None]
        self.store.catalog.vectors.add(embedder.model_id, stored)

    def search(
        self,
        query: str,
        top_k: int = 5,
        mode: Mode = "all",
        filters: Filters | None = None,
        vector: Vector | None = None,
    ) -> tuple[SearchResult, list[int]]:
        """Return the result and, for each hit, the position of its piece; see `Codebase.search`."""
        with self.store.read() as view, in_turn():
            searcher = Searcher(view, self._texts, self.embedder, require_dense=self.require_dense)
            answer = searcher.search(query, top_k, mode, filters, vector)
        reasons = answer.degraded_reasons
        mark = Watermark(generation=1, files=view.files, chunks=view.chunks)
        result = SearchResult(answer.hits, bool(reasons), reasons, mark, answer.empty_reason, answer.filtered_preview)
        return result, [self.positions[hit.row] for hit in answer.hits]


def _symbols(pieces: Sequence[Piece]) -> list[Symbol]:
    """Return the definitions inside pieces, or those they are named after; a definition cut into parts counts once."""
    found: dict[tuple[str, int], Symbol] = {}
    for piece in pieces:
        chunk = piece.chunk
        if not piece.symbols and chunk.symbol and chunk.kind != "section":
            name = chunk.symbol.removeprefix(chunk.scope).lstrip(".:#") or chunk.symbol
            line = chunk.start_line
            symbol = Symbol(name, chunk.symbol, chunk.kind, chunk.scope, line, chunk.end_line, line, "")
            found.setdefault((chunk.symbol, 0), symbol)
        for symbol in piece.symbols:
            found.setdefault((symbol.qualified, symbol.start_line), symbol)
    return list(found.values())
