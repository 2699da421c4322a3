"""What one file brings into the store: its chunks, symbols and references, under names that stay the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from llama_index_codeindex.engine.model import Chunk, Gap, Outline, Reference, Source, Symbol
from llama_index_codeindex.engine.store.bags import pack_bags
from llama_index_codeindex.engine.store.rows import MAX_CHUNKS, Content, NewChunk, NewSymbol, symbol_key
from llama_index_codeindex.engine.syntax.chunking import count_lines
from llama_index_codeindex.engine.syntax.languages import BY_NAME
from llama_index_codeindex.engine.syntax.outline import outline


class Parsed(NamedTuple):
    """A file that was read and cut: what the gate said of it, and what it brings."""

    hash: str
    encoding: str
    redactions: int
    content: Content


def parse_file(read: Callable[[str], Source | Gap], path: str, max_chars: int, problem: str = "") -> Parsed | Gap:
    """Read and cut one file.

    Args:
        read: Reads it through the gate.
        path: The relative path.
        max_chars: No chunk has more characters.
        problem: Why the file is not to be parsed, if so; it is cut by lines then.
    """
    source = read(path)
    if isinstance(source, Gap):
        return source
    found = outline(path, source.text, max_chars, BY_NAME["text"] if problem else None)
    if problem:
        found = replace(found, problem=problem)
    if len(found.chunks) > MAX_CHUNKS:
        return Gap(path, "too_large", f"more than {MAX_CHUNKS} chunks")
    return Parsed(
        source.content_hash, source.encoding, source.redactions, content_of(path, found, count_lines(source.text))
    )


def content_of(path: str, found: Outline, lines: int = 0) -> Content:
    """Return what a file brings into the store.

    Args:
        path: The relative path.
        found: The file's outline.
        lines: How many lines the file has.
    """
    chunks: list[NewChunk] = []
    hashes = [text_hash(chunk.text) for chunk in found.chunks]
    for chunk, own_hash, identity in zip(found.chunks, hashes, chunk_ids(path, found.chunks, hashes), strict=True):
        chunks.append(
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
                hash=own_hash,
                embed_hash=text_hash(embedded_text(chunk.text, chunk.context)) if chunk.context else own_hash,
            )
        )
    symbols = [(number, _new_symbol(symbol)) for symbol, number in _place(found.symbols, found.chunks)]
    references, bags = _grouped(found.references), pack_bags(path, found.chunks)
    return Content(found.language, found.structural, found.problem, lines, chunks, bags, symbols, references)


# A constant's declaration line holds its value, which is content and stays in the file.
_VALUE = re.compile(r"\s*:?=(?![=>]).*", re.DOTALL)
_VALUED = frozenset(("constant", "field", "property", "variable"))


def _new_symbol(symbol: Symbol) -> NewSymbol:
    valued = symbol.kind in _VALUED
    return NewSymbol(
        name=symbol.name,
        name_key=symbol.name.casefold(),
        qualified=symbol.qualified,
        qualified_key=symbol_key(symbol.qualified),
        kind=symbol.kind,
        scope=symbol.scope,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        name_line=symbol.name_line,
        signature=_VALUE.sub("", symbol.signature, count=1) if valued else symbol.signature,
    )


def _place(symbols: Iterable[Symbol], chunks: Sequence[Chunk]) -> Iterator[tuple[Symbol, int]]:
    """Pair each symbol with the number of the chunk that holds its name, or -1."""
    ends = [chunk.end_line for chunk in chunks]

    def number_at(line: int) -> int:
        number = bisect_left(ends, line)
        return number if number < len(chunks) and chunks[number].start_line <= line else -1

    for symbol in symbols:
        number = number_at(symbol.name_line)
        yield symbol, number if number >= 0 else number_at(symbol.start_line)


def _grouped(references: Iterable[Reference]) -> list[tuple[str, str, str]]:
    """Return references with one row per name and kind, the lines as JSON."""
    lines: dict[tuple[str, str], list[int]] = {}
    for reference in references:
        lines.setdefault((reference.name, reference.kind), []).append(reference.line)
    # A list of numbers reads the same in Python and JSON.
    return [(name, kind, str(found)) for (name, kind), found in lines.items()]


def chunk_ids(path: str, chunks: Iterable[Chunk], hashes: Iterable[str]) -> list[str]:
    """Return deterministic ids: path, symbol, content, and a number where those are the same. No line is in them."""
    seen: dict[str, int] = {}
    ids = []
    for chunk, own_hash in zip(chunks, hashes, strict=True):
        base = f"{path}#{chunk.symbol}@{own_hash[:16]}"
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
