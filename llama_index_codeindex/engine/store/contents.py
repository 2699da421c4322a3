"""What one file brings into the store: its chunks, symbols and references, under names that stay the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace

from llama_index_codeindex.engine.model import Chunk, Outline, Symbol
from llama_index_codeindex.engine.store.bags import chunk_terms, pack_bag
from llama_index_codeindex.engine.store.lexical import Document
from llama_index_codeindex.engine.store.rows import NewChunk
from llama_index_codeindex.engine.store.store import Store


def add_outline(store: Store, file_id: int, path: str, found: Outline) -> list[int]:
    """Store the chunks, symbols and references of one file in catalog and full text; return the chunks' rows."""
    new_chunks: list[NewChunk] = []
    bodies: list[str] = []
    identities = chunk_ids(path, found.chunks)
    for chunk, identity in zip(found.chunks, identities, strict=True):
        counted = chunk_terms(chunk.text, path, chunk.scope, chunk.symbol)
        new_chunks.append(
            NewChunk(
                chunk_id=identity,
                ordinal=chunk.ordinal,
                start_line=chunk.start_line,
                end_line=chunk.end_line,
                offset=chunk.offset,
                length=len(chunk.text),
                symbol=chunk.symbol,
                kind=chunk.kind,
                scope=chunk.scope,
                context=chunk.context,
                part=chunk.part,
                hash=text_hash(chunk.text),
                embed_hash=text_hash(embedded_text(chunk.text, chunk.context)),
                terms=sum(counted.values()),
                bag=pack_bag(counted),
            )
        )
        bodies.append(" ".join(counted.elements()))
    rows = store.catalog.add_chunks(file_id, new_chunks)
    placed = list(_place(found.symbols, found.chunks, rows))
    store.catalog.add_symbols(file_id, [(_without_value(symbol), row) for symbol, row in placed])
    store.catalog.add_references(file_id, found.references)
    kinds: dict[int, set[str]] = {row: {chunk.kind} for row, chunk in zip(rows, found.chunks, strict=True)}
    for symbol, row in placed:
        if row in kinds:
            kinds[row].add(symbol.kind)
    documents: list[Document] = [(row, file_id, kinds[row], body) for row, body in zip(rows, bodies, strict=True)]
    store.lexical.add(documents)
    return rows


# A constant's declaration line holds its value, which is content and stays in the file.
_VALUE = re.compile(r"\s*:?=(?![=>]).*", re.DOTALL)
_VALUED = frozenset(("constant", "field", "property", "variable"))


def _without_value(symbol: Symbol) -> Symbol:
    if symbol.kind not in _VALUED:
        return symbol
    return replace(symbol, signature=_VALUE.sub("", symbol.signature, count=1))


def _place(symbols: Iterable[Symbol], chunks: tuple[Chunk, ...], rows: list[int]) -> Iterator[tuple[Symbol, int]]:
    """Pair each symbol with the row of the chunk that holds its name."""
    by_line: dict[int, int] = {}
    for chunk, row in zip(chunks, rows, strict=True):
        for line in range(chunk.start_line, chunk.end_line + 1):
            by_line.setdefault(line, row)
    for symbol in symbols:
        yield symbol, by_line.get(symbol.name_line, by_line.get(symbol.start_line, 0))


def chunk_ids(path: str, chunks: Iterable[Chunk]) -> list[str]:
    """Return deterministic ids: path, symbol, content, and a number where those are the same. No line is in them."""
    seen: dict[str, int] = {}
    ids = []
    for chunk in chunks:
        base = f"{path}#{chunk.symbol}@{text_hash(chunk.text)[:16]}"
        seen[base] = seen.get(base, -1) + 1
        ids.append(f"{base}.{seen[base]}" if seen[base] else base)
    return ids


def text_hash(text: str) -> str:
    """Return the hash by which a text is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def embedded_text(text: str, context: str) -> str:
    """Return what the embedder is given: the text below the header of what encloses it; no path, no line number."""
    return f"{context}\n{text}" if context else text


def path_key(path: str) -> str:
    """Return the form in which paths are looked up: composed characters, folded case."""
    return unicodedata.normalize("NFC", path).casefold()
