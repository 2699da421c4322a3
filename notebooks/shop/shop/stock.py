"""What lies on the shelves."""

from __future__ import annotations


class OutOfStock(Exception):
    """Fewer pieces are left than were asked for."""


class Shelf:
    """Counts pieces, and sets some aside for orders that are not paid yet."""

    def __init__(self) -> None:
        self._pieces: dict[str, int] = {}
        self._reserved: dict[str, int] = {}

    def put(self, article: str, pieces: int) -> None:
        """Take a delivery in."""
        self._pieces[article] = self._pieces.get(article, 0) + pieces

    def available(self, article: str) -> int:
        """Return how many pieces can still be sold."""
        return self._pieces.get(article, 0) - self._reserved.get(article, 0)

    def reserve(self, article: str, pieces: int) -> None:
        """Set pieces aside until the order is paid or given up."""
        if self.available(article) < pieces:
            raise OutOfStock(article)
        self._reserved[article] = self._reserved.get(article, 0) + pieces

    def release(self, article: str, pieces: int) -> None:
        """Give pieces that were set aside back to the shelf."""
        self._reserved[article] -= pieces
