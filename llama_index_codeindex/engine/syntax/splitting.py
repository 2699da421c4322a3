"""Splitting any text that is over a limit, whoever cut it: pieces that joined give the original."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llama_index_codeindex.engine.syntax.chunking import best_break, soft_cut, split_lines


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
    low = start - 1
    high, size = low, 0
    while high < len(lines) and size + len(lines[high]) <= limits.max_chars:
        size += len(lines[high])
        high += 1
    if limits.max_lines is not None:
        high = min(high, low + limits.max_lines)
    # What is left to find is where the tokens end; a search by halves counts a text of n lines log n times.
    step = 1
    while low < high:
        middle = min(low + step, high)
        if limits.admit("".join(lines[start - 1 : middle])):
            low = middle
            step *= 2
        elif step == 1:
            break
        else:
            high = middle - 1
            step = max(1, (high - low) // 2)
    return low


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
        cut = soft_cut(line, low)
        pieces.append(line[:cut])
        line = line[cut:]
    return pieces
