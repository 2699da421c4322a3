"""From chunks to hits: the text as it is now, checked against what was indexed."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Hit, Source
from llama_index_codeindex.engine.store.catalog import ChunkRow
from llama_index_codeindex.engine.store.contents import text_hash
from llama_index_codeindex.engine.syntax.chunking import split_lines

# The ids of equal chunks of one file end in which of them they are; the first one's has no such end.
_COPY = re.compile(r"@[0-9a-f]{16}\.(\d+)$")


@dataclass(frozen=True, slots=True)
class Located:
    """Where a chunk's text is now, and whether it is still the text that was indexed."""

    text: str
    start_line: int
    end_line: int
    stale: bool


class TextSource(Protocol):
    """Gives the text of chunks."""

    def locate(self, chunk: ChunkRow) -> Located | None:
        """Return the chunk's text, or None when its file is gone."""
        ...


# Characters of the files kept between questions: those of the last few dozen questions' files.
_KEPT_CHARACTERS = 8_000_000

Lines = list[str] | None


class TextCache:
    """The lines of the files that were read last, by path and by a stamp that changes with their content."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, Lines, int]] = OrderedDict()
        self._size = 0

    def get(self, path: str, stamp: str) -> tuple[bool, Lines]:
        """Return whether a file's lines are known, and the lines."""
        with self._lock:
            known = self._kept.get(path)
            if not stamp or known is None or known[0] != stamp:
                return False, None
            self._kept.move_to_end(path)
            return True, known[1]

    def put(self, path: str, stamp: str, lines: Lines) -> None:
        """Keep a file's lines, and drop those that were not asked for longest."""
        size = sum(map(len, lines or ()))
        if not stamp or size > _KEPT_CHARACTERS:
            return
        with self._lock:
            self._size += size - self._kept.pop(path, ("", None, 0))[2]
            self._kept[path] = (stamp, lines, size)
            while self._size > _KEPT_CHARACTERS:
                self._size -= self._kept.popitem(last=False)[1][2]


@dataclass(slots=True)
class DiskTexts:
    """Texts read through the gate, each file once for as long as this object lives: one query.

    Args:
        gate: Reads the files.
        cache: Keeps lines between queries, if given.
        stamp_of: Returns a file's stamp, or an empty string if it has none that can be relied on.
    """

    gate: Gate
    cache: TextCache | None = None
    stamp_of: Callable[[str], str] | None = None
    has_moved: bool = False  # whether some text is no longer where it was indexed
    _lines: dict[str, Lines] = field(default_factory=dict)

    def lines(self, path: str) -> Lines:
        """Return a file's lines, or None when it cannot be read."""
        if path not in self._lines:
            self._lines[path] = self._read(path)
        return self._lines[path]

    def _read(self, path: str) -> Lines:
        stamp = self.stamp_of(path) if self.stamp_of is not None else ""
        if self.cache is not None:
            is_known, lines = self.cache.get(path, stamp)
            if is_known:
                return lines
        source = self.gate.read(path)
        lines = split_lines(source.text) if isinstance(source, Source) else None
        if self.cache is not None:
            self.cache.put(path, stamp, lines)
        return lines

    def locate(self, chunk: ChunkRow) -> Located | None:
        """Return the chunk's text; follow it where it moved inside its file, mark it stale where it changed."""
        lines = self.lines(chunk.path)
        if lines is None:
            self.has_moved = True
            return None
        numbered = _COPY.search(chunk.chunk_id)
        copy = int(numbered[1]) if numbered else 0
        found = _find(lines, chunk.start_line, chunk.end_line, chunk.offset, chunk.length, chunk.hash, copy)
        self.has_moved |= found.stale or found.start_line != chunk.start_line
        return found


def _find(lines: list[str], start: int, end: int, offset: int, length: int, wanted: str, copy: int = 0) -> Located:
    """Find a text by its hash: where it was, else as that one of its copies in the file, else say that it changed."""
    height = end - start

    def text_at(first: int) -> str:
        return "".join(lines[first - 1 : first + height])[offset : offset + length]

    def is_at(first: int) -> bool:
        found = text_at(first)
        return len(found) == length and text_hash(found) == wanted

    if is_at(start):
        return Located(text_at(start), start, end, False)
    places = [first for first in range(1, len(lines) - height + 1) if is_at(first)]
    if places:
        first = places[copy] if copy < len(places) else min(places, key=lambda place: abs(place - start))
        return Located(text_at(first), first, first + height, False)
    last = min(end, len(lines))
    first = min(start, max(last, 1))
    return Located("".join(lines[first - 1 : last]), first, last, True)


@dataclass(frozen=True, slots=True)
class KeptTexts:
    """Texts that were given with their nodes and do not change."""

    texts: Mapping[int, str]

    def locate(self, chunk: ChunkRow) -> Located | None:
        """Return the text that was given."""
        return Located(self.texts[chunk.row], chunk.start_line, chunk.end_line, False)


def make_hit(chunk: ChunkRow, located: Located, score: float, lanes: dict[str, int], focus_line: int = 0) -> Hit:
    """Return the hit of a chunk."""
    return Hit(
        row=chunk.row, chunk_id=chunk.chunk_id, file_path=chunk.path, start_line=located.start_line, end_line=located.end_line,
        text=located.text, score=score, language=chunk.language, symbol=chunk.symbol, symbol_kind=chunk.kind,
        scope=chunk.scope, context=chunk.context, content_hash=chunk.hash, category=chunk.category, lanes=lanes,
        stale=located.stale, focus_line=focus_line,
    )  # fmt: skip
