"""Splitting any text that is over a limit, whoever cut it: pieces that joined give the original."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from llama_index_codeindex.engine.syntax.chunking import best_break, split_lines

# Inside one long line, a cut after one of these does least harm; looked for in the last fifth of a piece.
_SOFT_BREAK = re.compile(r"[;,{}()\s]")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a piece may be at most; `count_tokens` is needed for `max_tokens`."""

    max_chars: int
    max_lines: int | None = None
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def admit(self, text: str) -> bool:
        """Say whether a text is inside every limit."""
        if len(text) > self.max_chars:
            return False
        if self.max_lines is not None and text.count("\n") + (not text.endswith("\n")) > self.max_lines:
            return False
        if self.max_tokens is None or self.count_tokens is None:
            return True
        return self.count_tokens(text) <= self.max_tokens


def split_oversized(text: str, limits: Limits) -> list[str]:
    """Return pieces inside the limits that joined give `text`: cut at statements, else at lines, else at characters."""
    if limits.admit(text):
        return [text]
    lines = split_lines(text)
    pieces: list[str] = []
    start = 1
    while start <= len(lines):
        last = _longest(lines, start, limits)
        if last < start:
            pieces.extend(_split_line(lines[start - 1], limits))
            start += 1
            continue
        end = last if last == len(lines) else best_break(lines, start, last)
        pieces.append("".join(lines[start - 1 : end]))
        start = end + 1
    return pieces


def _longest(lines: list[str], start: int, limits: Limits) -> int:
    """Return the last line up to which the lines from `start` on fit; `start - 1` if not even one does."""
    last, piece = start - 1, ""
    while last < len(lines) and limits.admit(piece + lines[last]):
        piece += lines[last]
        last += 1
    return last


def _split_line(line: str, limits: Limits) -> list[str]:
    pieces = []
    while line:
        if limits.admit(line):
            pieces.append(line)
            break
        low, high = 1, min(len(line), limits.max_chars)  # one character is always taken, or nothing would end
        while low < high:
            middle = (low + high + 1) // 2
            if limits.admit(line[:middle]):
                low = middle
            else:
                high = middle - 1
        soft = [match.end() for match in _SOFT_BREAK.finditer(line, low - low // 5, low)]
        cut = soft[-1] if soft and soft[-1] else low
        pieces.append(line[:cut])
        line = line[cut:]
    return pieces
