"""What holds for every outline of every text, as a list of what does not."""

from __future__ import annotations

from collections import Counter

from llama_index_codeindex.engine.model import Outline
from llama_index_codeindex.engine.store.contents import chunk_ids, text_hash
from llama_index_codeindex.engine.syntax.chunking import split_lines
from llama_index_codeindex.engine.syntax.outline import outline


def check(path: str, text: str, max_chars: int = 1200) -> Outline:
    """Return the outline of a text, after asserting what must hold for it."""
    found = outline(path, text, max_chars)
    assert faults(path, text, found, max_chars) == []
    assert outline(path, text, max_chars) == found
    return found


def faults(path: str, text: str, found: Outline, max_chars: int) -> list[str]:
    """Return what is wrong with an outline: coverage, exact text, limits, ids, and the lines of symbols."""
    lines = split_lines(text)
    covered: Counter[int] = Counter()
    read: dict[int, int] = {}  # how far each long line was read
    wrong = []
    for ordinal, chunk in enumerate(found.chunks):
        where = f"chunk {chunk.start_line}-{chunk.end_line}"
        if not 1 <= chunk.start_line <= chunk.end_line <= len(lines):
            wrong.append(f"{where}: no such lines")
            continue
        whole = "".join(lines[chunk.start_line - 1 : chunk.end_line])
        if chunk.ordinal != ordinal or len(chunk.text) > max_chars or not chunk.text.strip():
            wrong.append(f"{where}: ordinal, size or blank")
        if "\n" in chunk.symbol + chunk.context + chunk.scope:
            wrong.append(f"{where}: a label of several lines")
        if chunk.text == whole:
            covered.update(range(chunk.start_line, chunk.end_line + 1))
            if not lines[chunk.start_line - 1].strip() or not lines[chunk.end_line - 1].strip():
                wrong.append(f"{where}: a blank line at an end")
        elif chunk.start_line != chunk.end_line or not whole.startswith(chunk.text, chunk.offset):
            wrong.append(f"{where}: not the file's text")
        else:
            if whole[read.get(chunk.start_line, 0) : chunk.offset].strip() or chunk.offset < read.get(
                chunk.start_line, 0
            ):
                wrong.append(f"{where}: a gap in the line")
            read[chunk.start_line] = chunk.offset + len(chunk.text)
    for number, end in read.items():
        covered[number] += 1
        if lines[number - 1][end:].strip():
            wrong.append(f"line {number}: its end is missing")
    wrong.extend(
        f"line {n} is in {covered[n]} chunks"
        for n, line in enumerate(lines, 1)
        if (covered[n] != 1 if line.strip() else covered[n] > 1)
    )
    ids = chunk_ids(path, found.chunks, [text_hash(chunk.text) for chunk in found.chunks])
    if len(set(ids)) != len(ids):
        wrong.append("two chunks have one id")
    for symbol in found.symbols:
        if not 1 <= symbol.start_line <= symbol.name_line <= symbol.end_line <= len(lines):
            wrong.append(f"symbol {symbol.qualified}: lines {symbol.start_line}-{symbol.end_line}")
        elif not lines[symbol.start_line - 1].strip() or not lines[symbol.end_line - 1].strip():
            wrong.append(f"symbol {symbol.qualified}: a blank line at an end")
        if not symbol.name or "\n" in symbol.qualified + symbol.signature or len(symbol.qualified) > 254:
            wrong.append(f"symbol {symbol.qualified!r}: its name")
    return wrong
