"""A squarified treemap: areas in proportion, rectangles as square as the order allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inset(self, margin: float, top: float = 0.0) -> Box:
        """Return the rectangle inside a margin, with so much more room at the top; never of negative size."""
        width, height = max(0.0, self.width - 2 * margin), max(0.0, self.height - 2 * margin - top)
        return Box(self.x + min(margin, self.width / 2), self.y + min(margin + top, self.height), width, height)

    @property
    def centre(self) -> tuple[float, float]:
        """The middle."""
        return self.x + self.width / 2, self.y + self.height / 2


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Return a rectangle for each size; sizes are positive and come largest first."""
    total = sum(sizes)
    if not sizes or box.width <= 0 or box.height <= 0:
        return [Box(box.x, box.y, 0.0, 0.0) for _ in sizes]
    scale = box.width * box.height / total
    boxes: list[Box] = []
    areas = [size * scale for size in sizes]
    rest, start = box, 0
    while start < len(areas):
        side = min(rest.width, rest.height)
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(areas[start:end], side):
            end += 1
        row, rest = _lay_row(areas[start:end], rest, last=end == len(areas))
        boxes.extend(row)
        start = end
    return boxes


def _worst(areas: Sequence[float], side: float) -> float:
    """Return how far the least square of a row is from a square."""
    total = sum(areas)
    if side <= 0 or total <= 0:
        return float("inf")
    return max(side * side * areas[0] / (total * total), total * total / (side * side * areas[-1]))


def _lay_row(areas: Sequence[float], box: Box, *, last: bool) -> tuple[list[Box], Box]:
    total = sum(areas)
    upright = box.width >= box.height
    side = box.height if upright else box.width
    depth = (box.width if upright else box.height) if last else (total / side if side else 0.0)
    depth = min(depth, box.width if upright else box.height)
    boxes, at = [], 0.0
    for area in areas:
        length = side * area / total
        boxes.append(Box(box.x, box.y + at, depth, length) if upright else Box(box.x + at, box.y, length, depth))
        at += length
    rest = (
        Box(box.x + depth, box.y, box.width - depth, box.height)
        if upright
        else Box(box.x, box.y + depth, box.width, box.height - depth)
    )
    return boxes, rest
