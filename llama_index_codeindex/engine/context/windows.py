"""Which lines of a hit are shown: the window around what matched, not the first lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_codeindex.engine.syntax.words import terms

# A definition's first line tells more than any line of its body; worth this many ordinary words.
_HEAD_BONUS = 1.5


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a file, 1-based and inclusive."""

    start: int
    end: int

    @property
    def height(self) -> int:
        """How many lines it holds."""
        return self.end - self.start + 1


def best_window(lines: Sequence[str], first_line: int, wanted: Sequence[str], max_lines: int) -> Window:
    """Return the window of at most `max_lines` lines that holds most of the wanted terms.

    Args:
        lines: The lines of the hit.
        first_line: The number of the first of them.
        wanted: The terms of the question.
        max_lines: The height of the window.
    """
    if len(lines) <= max_lines:
        return Window(first_line, first_line + len(lines) - 1)
    asked = set(wanted)
    found = [asked.intersection(terms(line)) for line in lines]
    best, best_value = 0, -1.0
    for start in range(len(lines) - max_lines + 1):
        inside = found[start : start + max_lines]
        distinct = len(set().union(*inside))
        # Distinct terms count in full, their repetitions a little; ties go to the earlier window.
        value = distinct + 0.1 * sum(map(len, inside)) + (_HEAD_BONUS if start == 0 else 0.0)
        if value > best_value:
            best, best_value = start, value
    return Window(first_line + best, first_line + best + max_lines - 1)


def apart(window: Window, taken: Sequence[Window], max_lines: int) -> tuple[Window | None, int | None]:
    """Fit a window beside those already taken in the same file.

    Returns:
        The window, cut where it overlaps, and the index of the taken window that it should be joined to: at most one of
        the two is set; neither if all its lines are shown already.
    """
    start, end = window.start, window.end
    for index, other in enumerate(taken):
        if start > other.end + 1 or end < other.start - 1:
            continue
        union = Window(min(start, other.start), max(end, other.end))
        if union.height <= max_lines:
            return None, index
        if start >= other.start:
            start = max(start, other.end + 1)
        else:
            end = min(end, other.start - 1)
        if start > end:
            return None, None
    return Window(start, end), None
