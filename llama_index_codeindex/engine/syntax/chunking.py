"""Lines and spans to chunks: every non-blank line in exactly one chunk, cut where definitions start and end.

A definition that fits is never cut. Small neighbours share a chunk; a big one becomes its header and its members; a big
one without members is cut at its shallowest blank line or indentation.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from llama_index_codeindex.engine.model import Chunk

# About 300 tokens, or 25 lines: larger chunks blur what they are about, smaller ones lose their own context.
MAX_CHARS = 1200
# Text without any structure is cut at blank lines, at the latest after a screenful.
MAX_TEXT_LINES = 60
# Lines that only close something join what they close, for which a piece leaves this much room.
_CLOSER_ROOM = 48
_CLOSERS = re.compile(r"[\s)\]}>;,]*(?:end|fi|done|esac)?[\s)\]}>;,]*")
_MAX_CONTEXT = 200
# Definitions nested deeper belong to the one around them: nobody writes such code, generators and attackers do.
_MAX_DEPTH = 40
# Inside one long line, a cut after one of these does least harm; looked for in the last fifth of a piece.
_SOFT_BREAK = re.compile(r"[;,{}()\s]")


@dataclass(slots=True)
class Span:
    """A definition as chunking sees it: 1-based inclusive lines, a name, the line that holds it, and what is inside."""

    start: int
    end: int
    symbol: str
    kind: str
    scope: str
    header: int = 0
    children: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class _Unit:
    """Lines that stay together, with the definition they belong to."""

    start: int
    end: int
    size: int
    symbol: str = ""
    kind: str = ""
    scope: str = ""
    context: str = ""
    pieces: int = 0  # how many units the definition was cut into, if it was
    piece: int = 0
    weight: int = 0  # the size of the definition that names the unit


def split_lines(text: str) -> list[str]:
    r"""Split at `\n` alone, keeping line ends: form feeds and U+2028 end no line for `grep -n` and editors."""
    return list(io.StringIO(text, newline="\n"))


def count_lines(text: str) -> int:
    """Return how many lines `split_lines` finds."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def nest(spans: Sequence[Span]) -> list[Span]:
    """Arrange spans by containment. Where two share lines, the later one gives way."""
    roots: list[Span] = []
    open_spans: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        while open_spans and open_spans[-1].end < span.end:
            open_spans.pop()
        if len(open_spans) >= _MAX_DEPTH:
            continue
        siblings = open_spans[-1].children if open_spans else roots
        if open_spans:
            span.start = max(span.start, open_spans[-1].start)
        if siblings and siblings[-1].end >= span.start:
            span.start = siblings[-1].end + 1
        if span.start > span.end or (
            open_spans and (span.start, span.end) == (open_spans[-1].start, open_spans[-1].end)
        ):
            continue
        siblings.append(span)
        open_spans.append(span)
    return roots


def chunk_lines(lines: list[str], spans: Sequence[Span], max_chars: int, max_lines: int | None = None) -> list[Chunk]:
    """Return the chunks of a file, in order, without blank lines at either end.

    Args:
        lines: The file's lines with their ends.
        spans: Its definitions.
        max_chars: No chunk has more characters.
        max_lines: No chunk has more lines, if given.
    """
    cutter = _Cutter(lines, max_chars, max_lines or len(lines))
    units = cutter.cut(1, len(lines), nest(spans), Span(1, len(lines), "", "", ""), "")
    chunks: list[Chunk] = []
    for unit in cutter.pack(units):
        for text, part, first, last, offset in cutter.texts(unit):
            context = "" if unit.context in text else unit.context  # the chunk may hold that line itself
            chunks.append(
                Chunk(len(chunks), first, last, text, unit.symbol, unit.kind, unit.scope, context, part, offset)
            )
    return chunks


def best_break(lines: Sequence[str], start: int, last: int) -> int:
    """Return the line after which to cut lines `start..last` (1-based), of which none fits any more after `last`.

    Among the later two thirds it is the line before the one with the least indentation, after a blank line if there is
    one, and not before one that only closes something.
    """
    best, lowest = last, 1 << 30
    for line in range(last, start + (last - start) // 3, -1):
        following = lines[line]
        code = following.lstrip()
        if not code:
            continue
        cost = 2 * (len(following) - len(code))
        if cost < lowest and not lines[line - 1].isspace():
            cost += 3
        if cost < lowest and _CLOSERS.fullmatch(code):
            cost += 8
        if cost < lowest:
            best, lowest = line, cost
    return best


def soft_cut(line: str, size: int) -> int:
    """Return where to cut a line of which at most `size` characters fit: behind a separator, if one is near."""
    cut = size
    for match in _SOFT_BREAK.finditer(line, size - size // 5, size):
        cut = match.end()
    return cut


class _Cutter:
    """Cuts the lines of one file."""

    def __init__(self, lines: list[str], max_chars: int, max_lines: int) -> None:
        self.lines = lines
        self.max_chars = max_chars
        self.max_lines = max_lines
        self.room = max(max_chars - _CLOSER_ROOM, max_chars // 2)
        self.total = list(accumulate(map(len, lines), initial=0))  # characters before each line

    def size(self, start: int, end: int) -> int:
        return self.total[end] - self.total[start - 1]

    def fits(self, start: int, end: int) -> bool:
        return self.size(start, end) <= self.max_chars and end - start < self.max_lines

    def blank(self, line: int) -> bool:
        return self.lines[line - 1].isspace()

    def cut(self, start: int, end: int, children: list[Span], owner: Span, context: str) -> list[_Unit]:
        """Cut lines that hold `children` into units; what lies between them belongs to `owner`."""
        units: list[_Unit] = []
        position = start
        for child in children:
            units.extend(self._between(position, child.start - 1, owner, context))
            units.extend(self._definition(child, context))
            position = child.end + 1
        units.extend(self._between(position, end, owner, context))
        return units

    def _definition(self, span: Span, context: str) -> list[_Unit]:
        start, end = self._trim(span.start, span.end)
        if start > end:
            return []
        if self.fits(start, end):
            size = self.size(start, end)
            return [_Unit(start, end, size, span.symbol, span.kind, span.scope, context, weight=size)]
        if span.children:
            return self.cut(start, end, span.children, span, self._header(span))
        units = list(self._between(start, end, span, context))
        for number, unit in enumerate(units, 1):
            unit.piece, unit.pieces = number, len(units)
            if number > 1:
                unit.context = self._header(span)
        return units

    def _header(self, span: Span) -> str:
        """Return the line that names a definition."""
        return self.lines[(span.header or span.start) - 1][: 4 * _MAX_CONTEXT].strip()[:_MAX_CONTEXT]

    def _trim(self, start: int, end: int) -> tuple[int, int]:
        """Leave out blank lines at either end."""
        while start <= end and self.blank(start):
            start += 1
        while end >= start and self.blank(end):
            end -= 1
        return start, end

    def _between(self, start: int, end: int, owner: Span, context: str) -> Iterator[_Unit]:
        """Cut lines without definitions of their own into units that fit, at the best boundaries."""
        start, end = self._trim(start, end)
        while start <= end:
            last = self._boundary(start, end)
            _, trimmed = self._trim(start, last)
            yield _Unit(start, trimmed, self.size(start, trimmed), owner.symbol, owner.kind, owner.scope, context)
            start, _ = self._trim(last + 1, end)

    def _boundary(self, start: int, end: int) -> int:
        """Return the last line of the next unit."""
        if self.size(start, end) <= self.room and end - start < self.max_lines:
            return end
        last = start
        while last < end and self.size(start, last + 1) <= self.room and last + 1 - start < self.max_lines:
            last += 1
        if last >= end:
            return end
        return best_break(self.lines, start, last)

    def pack(self, units: list[_Unit]) -> Iterator[_Unit]:
        """Join small neighbours of one scope, and closing lines to what they close."""
        current: _Unit | None = None
        for unit in units:
            if current is not None and self._joins(current, unit):
                # Of two, the larger definition names what they become.
                start, end, context = current.start, unit.end, current.context
                size = self.size(start, end)
                if unit.weight > current.weight:
                    current = unit
                current.start, current.end, current.size, current.context = start, end, size, context
            else:
                if current is not None:
                    yield current
                current = unit
        if current is not None:
            yield current

    def _joins(self, left: _Unit, right: _Unit) -> bool:
        if not self.fits(left.start, right.end):
            return False
        if all(_CLOSERS.fullmatch(line) for line in self.lines[right.start - 1 : right.end]):
            return True
        if left.pieces or right.pieces:
            return False
        return left.context == right.context and self.size(left.start, right.end) <= self.room

    def texts(self, unit: _Unit) -> Iterator[tuple[str, str, int, int, int]]:
        """Yield text, part, lines and offset of a unit; a line over the limit is cut by characters."""
        part = f"{unit.piece}/{unit.pieces}" if unit.pieces > 1 else ""
        text = "".join(self.lines[unit.start - 1 : unit.end])
        if len(text) <= self.max_chars:
            yield text, part, unit.start, unit.end, 0
            return
        # Only a single line is ever over the limit: longer units were cut at their lines.
        pieces = [(offset, piece) for offset, piece in _cut_line(text, self.max_chars) if piece.strip()]
        for number, (offset, piece) in enumerate(pieces, 1):
            yield piece, f"{number}/{len(pieces)}" if len(pieces) > 1 else "", unit.start, unit.end, offset


def _cut_line(line: str, max_chars: int) -> Iterator[tuple[int, str]]:
    offset = 0
    while len(line) - offset > max_chars:
        size = soft_cut(line[offset : offset + max_chars], max_chars)
        yield offset, line[offset : offset + size]
        offset += size
    yield offset, line[offset:]
