"""The map as a picture for a person: folders as boxes, files by their lines, arrows by references. One SVG, no scripts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

import numpy as np

from llama_index_codeindex.engine.context.fence import inert
from llama_index_codeindex.engine.graph.repomap import Order
from llama_index_codeindex.engine.graph.skeleton import Folder, build_tree
from llama_index_codeindex.engine.graph.treemap import Box, squarify
from llama_index_codeindex.engine.store.relations import Node

_WIDTH, _HEIGHT, _HEAD = 1600.0, 1000.0, 44.0
# Files that get a name and arrows: more cross each other until nothing is seen.
_IMPORTANT = 24
_MAX_ARROWS = 60
# Folders inside folders that are drawn as boxes of their own.
_MAX_DEPTH = 4
_MARGIN, _TITLE = 3.0, 14.0
# A folder smaller than this is drawn without boxes inside it, and without a title.
_MIN_WIDTH, _MIN_HEIGHT = 60.0, 36.0
# The width of a letter of the fonts below, on the safe side, by size.
_LETTER = 0.62

_COLOURS = {
    "source": "#7fa7d9", "declaration": "#a9c3e6", "test": "#9ccf9c", "example": "#d9c37f", "docs": "#d0d0d0",
    "config": "#c9b8dd", "script": "#e0a98a", "generated": "#e2e2e2", "vendored": "#e2e2e2",
}  # fmt: skip
_STYLE = (
    "text{font-family:ui-sans-serif,system-ui,sans-serif;fill:#223}"
    ".folder{fill:#f4f4f7;stroke:#8a8a99;stroke-width:1}.file{stroke:#fff;stroke-width:.6}"
    ".key{fill:none;stroke:#b03030;stroke-width:1.6}.arrow{fill:none;stroke:#b03030;stroke-opacity:.55}"
)


def draw_picture(order: Order) -> str:
    """Return the picture of a graph in an order."""
    nodes = order.graph.nodes
    places: dict[str, Box] = {}
    body = list(_folder(build_tree(nodes), Box(0.0, _HEAD, _WIDTH, _HEIGHT - _HEAD), 0, places))
    body.extend(_arrows(order, places))
    body.extend(_names(order, places))
    present = [category for category in _COLOURS if any(node.category == category for node in nodes)]
    title = (
        f"{len(nodes)} files, {sum(node.lines for node in nodes)} lines; arrows: uses between the files of most weight"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" '
            f'height="{_HEIGHT:g}" role="img"><title>{title}</title><style>{_STYLE}</style>',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#b03030"/></marker></defs>',
            f'<rect width="{_WIDTH:g}" height="{_HEIGHT:g}" fill="#fff"/>',
            f'<text x="8" y="18" font-size="14">{title}</text>',
            *_legend(present),
            *body,
            "</svg>\n",
        ]
    )


def _legend(categories: list[str]) -> Iterator[str]:
    x = 8.0
    for category in categories:
        yield f'<rect x="{x:.1f}" y="27" width="10" height="10" fill="{_COLOURS[category]}"/>'
        yield f'<text x="{x + 14:.1f}" y="36" font-size="11">{category}</text>'
        x += 14 + 11 * _LETTER * len(category) + 16


def _folder(folder: Folder, box: Box, depth: int, places: dict[str, Box], above: str = "") -> Iterator[str]:
    """Yield a folder's box with what is in it, and note where its files are."""
    inside = box
    if depth:
        yield f'<rect class="folder" {_at(box)}><title>{_text(folder.path)}: {folder.count} files</title></rect>'
        fits = box.width >= _MIN_WIDTH and box.height >= _MIN_HEIGHT
        if fits:
            yield _label(f"{folder.path[len(above) :].lstrip('/')}/", box.x + 4, box.y + 11, box.width - 8, 10)
        inside = box.inset(_MARGIN, _TITLE if fits else 0.0)
        if not fits:
            depth = _MAX_DEPTH
    parts: list[tuple[float, str, Folder | Node]] = [
        (float(_size(node)), node.path, node) for node in (folder.files if depth < _MAX_DEPTH else _all_files(folder))
    ]
    if depth < _MAX_DEPTH:
        for child in folder.children.values():
            inner = child.inner()
            parts.append((float(sum(_size(node) for node in _all_files(inner))), inner.path, inner))
    parts.sort(key=lambda part: (-part[0], part[1]))
    for (_, _, part), place in zip(parts, squarify([part[0] for part in parts], inside), strict=True):
        if isinstance(part, Folder):
            yield from _folder(part, place.inset(1.0), depth + 1, places, folder.path)
        else:
            places[part.path] = place
            yield _file(part, place)


def _file(node: Node, place: Box) -> str:
    colour = _COLOURS.get(node.category, "#ddd")
    return (
        f'<rect class="file" {_at(place)} fill="{colour}"><title>{_text(node.path)}: {node.lines} lines</title></rect>'
    )


def _size(node: Node) -> int:
    return max(1, node.lines)


def _all_files(folder: Folder) -> list[Node]:
    return [*folder.files, *(node for child in folder.children.values() for node in _all_files(child))]


def _arrows(order: Order, places: dict[str, Box]) -> Iterator[str]:
    """Yield the strongest uses between the most important files, as curves: two that go to and fro are seen apart."""
    graph = order.graph
    chosen = set(order.ranked[:_IMPORTANT])
    sums: dict[tuple[int, int], float] = {}
    for source, target, weight in zip(
        graph.source.tolist(), graph.target.tolist(), np.asarray(graph.weight).tolist(), strict=True
    ):
        if source in chosen and target in chosen:
            sums[source, target] = sums.get((source, target), 0.0) + weight
    strongest = sorted(sums.items(), key=lambda entry: (-entry[1], entry[0]))[:_MAX_ARROWS]
    for (source, target), weight in strongest:
        user, used = graph.nodes[source].path, graph.nodes[target].path
        (x1, y1), (x2, y2) = places[user].centre, places[used].centre
        bend_x, bend_y = (x1 + x2) / 2 - (y2 - y1) * 0.12, (y1 + y2) / 2 + (x2 - x1) * 0.12
        bend_x, bend_y = min(max(bend_x, 0.0), _WIDTH), min(max(bend_y, _HEAD), _HEIGHT)
        width = 0.8 + min(2.4, math.log1p(weight) * 0.6)
        yield (
            f'<path class="arrow" d="M{x1:.1f} {y1:.1f}Q{bend_x:.1f} {bend_y:.1f} {x2:.1f} {y2:.1f}" '
            f'stroke-width="{width:.1f}" marker-end="url(#head)"><title>{_text(user)} uses {_text(used)}</title></path>'
        )


def _names(order: Order, places: dict[str, Box]) -> Iterator[str]:
    """Yield the frames of the important files, and their names where their boxes hold them, above what is around."""
    for index in order.ranked[:_IMPORTANT]:
        path = order.graph.nodes[index].path
        place = places[path]
        yield f'<rect class="key" {_at(place)}/>'
        if place.width >= 30 and place.height >= 13:
            yield _label(path.rpartition("/")[2], place.x + 3, place.y + 11, place.width - 6, 10)


def _label(text: str, x: float, y: float, width: float, size: int) -> str:
    shown = inert(text)
    room = int(width / (size * _LETTER))
    if len(shown) > room:
        shown = shown[: max(0, room - 1)] + "…" if room > 1 else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}">{escape(shown)}</text>'


def _at(box: Box) -> str:
    return f'x="{box.x:.2f}" y="{box.y:.2f}" width="{box.width:.2f}" height="{box.height:.2f}"'


def _text(path: str) -> str:
    return escape(inert(path))
