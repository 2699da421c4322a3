"""Orders and their lines."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Line:
    """So many pieces of one article."""

    article: str
    pieces: int
    cents: int


@dataclass
class Order:
    """What a customer wants to buy."""

    number: str
    customer: str
    lines: list[Line] = field(default_factory=list)
    state: str = "open"

    def add(self, article: str, pieces: int, cents: int) -> None:
        """Put an article into the order, or more of it."""
        for line in self.lines:
            if line.article == article:
                line.pieces += pieces
                return
        self.lines.append(Line(article, pieces, cents))

    def total(self) -> int:
        """Return what the order costs before taxes and discounts, in cents."""
        return sum(line.pieces * line.cents for line in self.lines)

    def cancel(self) -> None:
        """Close an order that was not paid yet."""
        if self.state == "paid":
            raise ValueError("a paid order is refunded, not cancelled")
        self.state = "cancelled"
