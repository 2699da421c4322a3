"""Lines under a hard budget of tokens: as many as fit, the last one cut where that fills it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Counter = Callable[[str], int]

# Room below this share of the budget is left empty.
_SLACK = 0.02
_CUT = "..."


class Sheet:
    """A text that grows by lines and never costs more than its budget.

    Args:
        budget: The most tokens it may cost.
        counter: Counts the tokens of a text.
        head: What it starts with.
    """

    def __init__(self, budget: int, counter: Counter, head: Sequence[str]) -> None:
        self.budget = budget
        self.lines: list[str] = []
        self._counter = counter
        self._costs: list[int] = []
        self._spent = 0  # at most: the costs of lines are rounded up
        self._measured = 0
        for line in head:
            if not self.add(line):
                break

    @property
    def text(self) -> str:
        """The text."""
        return "\n".join(self.lines) + "\n" if self.lines else ""

    @property
    def tokens(self) -> int:
        """What the text costs."""
        return self._counter(self.text)

    @property
    def is_full(self) -> bool:
        """Whether what is left is too little to be worth filling."""
        return self.budget - self._spent <= self.budget * _SLACK

    def add(self, line: str, *, with_next: str | None = None) -> bool:
        """Add a line if it fits, together with the one that must follow it."""
        cost = self._counter(line + "\n")
        following = self._counter(with_next + "\n") if with_next is not None else 0
        if self._spent + cost + following > self.budget and not self._measure(cost + following):
            return False
        self.lines.append(line)
        self._spent += cost
        return True

    def _measure(self, needed: int) -> bool:
        """Replace the sum of rounded costs by the true cost, where that may make room."""
        if self._measured == len(self.lines):
            return False
        self._spent = self.tokens
        self._measured = len(self.lines)
        return self._spent + needed <= self.budget

    def fill(self, line: str) -> None:
        """Add as much of a line as fits, marked as cut, where much is free."""
        self._measure(0)
        if self.is_full:
            return
        low, high = len(line) - len(line.lstrip()) + 1, len(line) - 1
        best = ""
        while low <= high:
            middle = (low + high) // 2
            cut = line[:middle].rstrip() + _CUT
            if self._spent + self._counter(cut + "\n") - 1 <= self.budget:
                best, low = cut, middle + 1
            else:
                high = middle - 1
        if best:
            self.lines.append(best)
            while self.tokens > self.budget and len(best) > len(_CUT):
                best = best[: -len(_CUT) - 1] + _CUT
                self.lines[-1] = best
        self.trim()

    def trim(self) -> None:
        """Drop last lines until the text is within its budget, whatever the counter made of its parts."""
        while self.lines and self.tokens > self.budget:
            self.lines.pop()
