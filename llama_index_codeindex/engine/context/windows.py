"""Which lines of a hit are shown: the window around what matched, not the first lines."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llama_index_codeindex.engine.syntax.words import terms

# A definition's first line tells what the rest belongs to; it decides where matches are alike, never against a match.
_HEAD_BONUS = 0.5
# A line that the search points at outweighs this many words of the question.
_FOCUS_BONUS = 3.0
# Every further line that holds the same words adds a little, so that a dense place beats a lone mention.
_REPEAT = 0.1
# Questions shorten words (`auth`); from this length on a term also stands for the words that start with it.
_PREFIX = 3
# A longer line is not cut into terms but searched for them as they are, which is a hundred times faster.
_LONG_LINE = 1000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a file, 1-based and inclusive."""

    start: int
    end: int

    @property
    def height(self) -> int:
        """How many lines it holds."""
        return self.end - self.start + 1

    def touches(self, other: Window) -> bool:
        """Say whether the two share a line or follow each other without a gap."""
        return self.start <= other.end + 1 and other.start <= self.end + 1

    def joined(self, other: Window) -> Window:
        """Return the lines of both, and those between them."""
        return Window(min(self.start, other.start), max(self.end, other.end))


def best_window(
    lines: Sequence[str], first_line: int, wanted: Sequence[str], max_lines: int, focus_line: int = 0
) -> Window:
    """Return the window of at most `max_lines` lines that holds most of what is wanted.

    Args:
        lines: The lines of the hit.
        first_line: The number of the first of them.
        wanted: The terms of the question, as `terms` gives them.
        max_lines: The height of the window.
        focus_line: A line that the search already knows to match; 0 when it knows none.
    """
    if len(lines) <= max_lines:
        return Window(first_line, first_line + len(lines) - 1)
    found = [matches(line, wanted) for line in lines]
    # A word on every line says nothing about where to look.
    counts = Counter(term for line in found for term in line)
    weights = {term: math.log(1 + len(lines) / count) for term, count in counts.items()}
    heaviest = max(weights.values(), default=1.0)
    focus = focus_line - first_line
    values = []
    for start in range(len(lines) - max_lines + 1):
        inside = found[start : start + max_lines]
        value = sum(weights[term] for term in set().union(*inside))
        value += _REPEAT * sum(weights[term] for line in inside for term in line)
        value += _HEAD_BONUS * heaviest if start == 0 else 0.0
        value += _FOCUS_BONUS * heaviest if start <= focus < start + max_lines else 0.0
        values.append(round(value, 6))
    best = values.index(max(values))
    # Of equally good windows that follow each other, the middle one has the match in its middle.
    last = best
    while last + 1 < len(values) and values[last + 1] == values[best]:
        last += 1
    start = best if best == 0 else (best + last) // 2
    return Window(first_line + start, first_line + start + max_lines - 1)


def matches(line: str, wanted: Iterable[str]) -> set[str]:
    """Return which of the wanted terms a line holds, whole or as the start of a word."""
    if len(line) > _LONG_LINE:
        low = line.lower()
        return {term for term in wanted if term in low}
    held = set(terms(line))
    found = held.intersection(wanted)
    if len(found) < len(held):
        for term in wanted:
            if len(term) >= _PREFIX and term not in found and any(word.startswith(term) for word in held):
                found.add(term)
    return found


def narrow_line(line: str, width: int, wanted: Sequence[str]) -> str:
    """Return a line cut to `width` characters around the first word that is wanted; `…` stands for what is cut."""
    body = line.rstrip("\n")
    if len(body) <= width:
        return line
    ending = "\n" if line.endswith("\n") else ""
    at = _first_match(body, wanted)
    start = max(0, min(at - width // 4, len(body) - width))
    head = "…" if start else ""
    tail = "…" if start + width < len(body) else ""
    return head + body[start + len(head) : start + width - len(tail)] + tail + ending


def _first_match(body: str, wanted: Sequence[str]) -> int:
    """Return where the first wanted word of a line begins, 0 when there is none."""
    if len(body) <= _LONG_LINE:
        return next((match.start() for match in _WORD.finditer(body) if matches(match[0], wanted)), 0) if wanted else 0
    low = body.lower()
    return min((at for term in wanted if (at := low.find(term)) >= 0), default=0)


def apart(window: Window, taken: Sequence[Window], max_lines: int) -> tuple[Window | None, int | None]:
    """Fit a window beside those already taken in the same file, so that no line is shown twice.

    Returns:
        The window, cut where it overlaps, and the index of the taken window that it joins without growing it over
        `max_lines`. The window is None when all its lines are shown already.
    """
    start, end = window.start, window.end
    for other in sorted(taken, key=lambda other: other.start):
        if start > other.end or end < other.start:
            continue
        before, after = other.start - start, end - other.end
        if before > 0 and before >= after:
            end = other.start - 1
        else:
            start = other.end + 1
        if start > end:
            return None, None
    left = Window(start, end)
    for index, other in enumerate(taken):
        if left.touches(other) and left.joined(other).height <= max_lines:
            return left, index
    return left, None
