"""Which definition of a chunk a hit is about: small neighbours share a chunk, and the question seldom means the first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from llama_index_codeindex.engine.model import Hit, Symbol
from llama_index_codeindex.engine.store.catalog import SymbolRow
from llama_index_codeindex.engine.syntax.chunking import split_lines
from llama_index_codeindex.engine.syntax.words import terms, terms_of, words

# A word in a definition's own name says more than the same word in its body.
_NAME_BONUS = 2.0


def focus(hit: Hit, shift: int, symbols: Sequence[SymbolRow], wanted: Collection[str], named: Collection[str]) -> Hit:
    """Return a hit that names the definition it is about, with the line where that starts.

    Args:
        hit: The hit, named after its chunk's largest definition.
        shift: By how many lines the chunk has moved since it was indexed.
        symbols: The definitions whose names stand in the chunk.
        wanted: The terms of the question.
        named: Qualified names that the question means.
    """
    inside = [row.symbol for row in symbols if hit.start_line <= row.symbol.name_line + shift <= hit.end_line]
    if not inside:
        return hit
    if len(inside) == 1:
        return _named(hit, inside[0], shift)
    asked = frozenset(wanted)
    lines = split_lines(hit.text)
    # What each word has of the question; most have nothing, as have most lines.
    held_by = {word: held for word in set(words(hit.text)) if (held := asked.intersection(terms_of(word)))}
    found = [
        (number, held_by[word])
        for number, line in enumerate(lines)
        if any(map(line.__contains__, held_by))
        for word in held_by.keys() & words(line)
    ]
    best, best_value = None, 0.0
    for symbol in inside:
        first = max(symbol.start_line + shift - hit.start_line, 0)
        last = min(symbol.end_line + shift - hit.start_line, len(lines) - 1)
        held = frozenset[str]().union(*(some for number, some in found if first <= number <= last))
        own = asked.intersection(terms(symbol.name))
        # The smallest definition that holds as much: a method before its class.
        value = len(held) + _NAME_BONUS * len(own) + 10.0 * (symbol.qualified in named) - (last - first) / 1000
        if best is None or value > best_value:
            best, best_value = symbol, value
    assert best is not None
    return _named(hit, best, shift)


def _named(hit: Hit, symbol: Symbol, shift: int) -> Hit:
    line = min(max(symbol.start_line + shift, hit.start_line), hit.end_line)
    return replace(hit, symbol=symbol.qualified, symbol_kind=symbol.kind, scope=symbol.scope, focus_line=line)
