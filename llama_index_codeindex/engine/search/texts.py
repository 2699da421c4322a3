"""From chunks to hits: the text as it is now, checked against what was indexed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Hit, Source
from llama_index_codeindex.engine.store.builder import text_hash
from llama_index_codeindex.engine.store.catalog import ChunkRow
from llama_index_codeindex.engine.syntax.chunking import split_lines


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


@dataclass(slots=True)
class DiskTexts:
    """Texts read through the gate, each file once for as long as this object lives: one query."""

    gate: Gate
    _lines: dict[str, list[str] | None] = field(default_factory=dict)

    def locate(self, chunk: ChunkRow) -> Located | None:
        """Return the chunk's text; follow it where it moved inside its file, mark it stale where it changed."""
        if chunk.path not in self._lines:
            source = self.gate.read(chunk.path)
            self._lines[chunk.path] = split_lines(source.text) if isinstance(source, Source) else None
        lines = self._lines[chunk.path]
        if lines is None:
            return None
        found = _slice(lines, chunk.start_line, chunk)
        if text_hash(found) == chunk.hash:
            return Located(found, chunk.start_line, chunk.end_line, False)
        height = chunk.end_line - chunk.start_line + 1
        for start in range(1, len(lines) - height + 2):
            moved = _slice(lines, start, chunk)
            if len(moved) == chunk.length and text_hash(moved) == chunk.hash:
                return Located(moved, start, start + height - 1, False)
        end = min(chunk.end_line, len(lines))
        start = min(chunk.start_line, max(end, 1))
        return Located("".join(lines[start - 1 : end]), start, end, True)


def _slice(lines: list[str], start: int, chunk: ChunkRow) -> str:
    """Return what a chunk that starts at this line would hold."""
    text = "".join(lines[start - 1 : start + chunk.end_line - chunk.start_line])
    return text[chunk.offset : chunk.offset + chunk.length]


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
        chunk_id=chunk.chunk_id, file_path=chunk.path, start_line=located.start_line, end_line=located.end_line,
        text=located.text, score=score, language=chunk.language, symbol=chunk.symbol, symbol_kind=chunk.kind,
        scope=chunk.scope, context=chunk.context, content_hash=chunk.hash, category=chunk.category, lanes=lanes,
        stale=located.stale, focus_line=focus_line,
    )  # fmt: skip
