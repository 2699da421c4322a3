"""The repo map: the files that matter most and their symbols, under a hard budget, in pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from llama_index_codeindex.engine.context.fence import inert
from llama_index_codeindex.engine.context.tokens import estimate_tokens
from llama_index_codeindex.engine.errors import FileNotIndexed, InvalidArgument
from llama_index_codeindex.engine.graph.edges import Floats, Graph
from llama_index_codeindex.engine.graph.layout import Counter, Sheet
from llama_index_codeindex.engine.graph.outline import Entry, describe, entries_of
from llama_index_codeindex.engine.graph.rank import file_scores, name_flows, pagerank
from llama_index_codeindex.engine.graph.skeleton import Skeleton, draw_skeleton
from llama_index_codeindex.engine.model import Hit
from llama_index_codeindex.engine.store.relations import Definition, Relations

DEFAULT_BUDGET = 2_000
# Below this not even the skeleton says anything.
MIN_BUDGET = 50
MAX_BUDGET = 200_000
# The skeleton's share of a page.
_SKELETON_SHARE = 0.12
# Symbols of a file: the most important file gets this many more than the least.
_FEWEST, _MORE = 2, 5
# Files whose symbols are read at once: about a page of 2,000 tokens.
_BATCH = 32


@dataclass(frozen=True, slots=True)
class MapSymbol:
    """A symbol of a map."""

    symbol: str
    kind: str
    line: int
    signature: str


@dataclass(frozen=True, slots=True)
class MapFile:
    """A file of a map, with its most important symbols in the order of the file."""

    file_path: str
    category: str
    lines: int
    score: float
    symbols: tuple[MapSymbol, ...]


@dataclass(frozen=True, slots=True)
class RepoMap:
    """One page of a map. Its `str` is the text for a model.

    Args:
        text: The page, at most `budget` tokens.
        files: What is on it.
        folders: The skeleton: folders with the number of files below them.
        page: Its number, from 1.
        has_next: Whether there is another page.
        tokens: What the text costs.
        budget: What it may cost.
        total_files: Files of the index.
        generation: The generation that it shows.
    """

    text: str
    files: tuple[MapFile, ...]
    folders: tuple[tuple[str, int], ...]
    page: int
    has_next: bool
    tokens: int
    budget: int
    total_files: int
    generation: int

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        return {**asdict(self), "folders": [{"path": path, "files": count} for path, count in self.folders]}


@dataclass(frozen=True, slots=True)
class Focus:
    """What a map is about: files by path with a weight, and the qualified names that matter in them."""

    files: Mapping[str, float] = field(default_factory=dict)
    symbols: Mapping[str, frozenset[str]] = field(default_factory=dict)


def focus_on(graph: Graph, hits: Sequence[Hit], paths: Sequence[str]) -> Focus:
    """Return the focus of a map: on the hits of a question, on files and folders, on both, or on nothing.

    Raises:
        FileNotIndexed: Paths were given, and none is in the graph.
    """
    files: dict[str, float] = {}
    symbols: dict[str, set[str]] = {}
    for place, hit in enumerate(hits):
        files[hit.file_path] = files.get(hit.file_path, 0.0) + 1 / (1 + place)
        if hit.symbol:
            symbols.setdefault(hit.file_path, set()).add(hit.symbol)
    for path in paths:
        prefix = "" if path in ("", ".") else f"{path.rstrip('/')}/"
        inside = [node.path for node in graph.nodes if node.path == path or node.path.startswith(prefix)]
        for known in inside:  # a folder weighs as much as a file
            files[known] = files.get(known, 0.0) + 1 / len(inside)
    if paths and not files:
        raise FileNotIndexed(f"{paths[0]!r} is not in the index.")
    return Focus(files, {path: frozenset(names) for path, names in symbols.items()})


@dataclass(slots=True)
class Order:
    """The files of a graph in the order of a focus, with their symbols as far as they were read."""

    graph: Graph
    ranked: list[int]
    scores: Floats
    rank: Floats
    flows: dict[int, dict[str, float]]
    focus: Focus
    entries: dict[int, list[Entry]] = field(default_factory=dict)

    def entries_at(self, place: int, relations: Relations) -> list[Entry]:
        """Return the symbols of the file at a place of the order; some files are read at once."""
        index = self.ranked[place]
        if index not in self.entries:
            batch = [i for i in self.ranked[place : place + _BATCH] if i not in self.entries]
            found: dict[int, list[Definition]] = {self.graph.nodes[i].id: [] for i in batch}
            for definition in relations.definitions_in(list(found)):
                found[definition.file_id].append(definition)
            for i in batch:
                node = self.graph.nodes[i]
                wanted = self.focus.symbols.get(node.path, frozenset())
                self.entries[i] = entries_of(
                    found[node.id], node.language, self.flows.get(i, {}), float(self.rank[i]), wanted
                )
        return self.entries[index]

    def quota(self, place: int) -> int:
        """Return how many symbols of the file at a place are shown."""
        share = float(self.scores[self.ranked[place]]) / float(self.scores[self.ranked[0]])
        return _FEWEST + round(_MORE * math.sqrt(share))


def order_files(graph: Graph, focus: Focus) -> Order:
    """Rank the files of a graph: by a focus, or as a whole."""
    place = {node.path: index for index, node in enumerate(graph.nodes)}
    wanted = {place[path]: weight for path, weight in focus.files.items() if path in place}
    rank = pagerank(graph, wanted)
    scores = file_scores(graph, rank, wanted)
    ranked = np.lexsort((np.arange(len(scores)), -scores.round(12))).tolist()
    return Order(graph, ranked, scores, rank, name_flows(graph, rank), focus)


def check_arguments(budget: int, page: int) -> None:
    """Check the numbers of a map.

    Raises:
        InvalidArgument: One is out of range.
    """
    if not isinstance(budget, int) or isinstance(budget, bool) or not MIN_BUDGET <= budget <= MAX_BUDGET:
        raise InvalidArgument(
            f"budget must be a whole number from {MIN_BUDGET} to {MAX_BUDGET}.", suggestion="Use budget=2000."
        )
    if not isinstance(page, int) or isinstance(page, bool) or page < 1:
        raise InvalidArgument("page must be a whole number from 1.", suggestion="Use page=1.")


def draw_map(
    order: Order, relations: Relations, generation: int, budget: int, page: int, counter: Counter = estimate_tokens
) -> RepoMap:
    """Return a page of a map.

    Args:
        order: The files, ranked.
        relations: Where symbols come from: the snapshot that the order was made from.
        generation: Its number.
        budget: The most tokens that a page may cost.
        page: Which page, from 1.
        counter: Counts the tokens of a text.

    Raises:
        InvalidArgument: There is no such page, or a number is out of range.
    """
    check_arguments(budget, page)
    skeleton = draw_skeleton(order.graph.nodes, int(budget * _SKELETON_SHARE))
    start = 0
    for number in range(1, page + 1):
        drawn = _Page(order, relations, skeleton, budget, counter, number)
        following = drawn.run(start)
        if number < page and following >= len(order.ranked):
            raise InvalidArgument(f"The map has {number} pages.", suggestion=f"Use page={number}.")
        start = following
    drawn.sheet.trim()
    return RepoMap(
        drawn.sheet.text, tuple(drawn.files), skeleton.folders, page, start < len(order.ranked), drawn.sheet.tokens,
        budget, len(order.graph.nodes), generation,
    )  # fmt: skip


class _Page:
    """One page while it is filled."""

    def __init__(
        self, order: Order, relations: Relations, skeleton: Skeleton, budget: int, counter: Counter, number: int
    ) -> None:
        self.files: list[MapFile] = []
        self._order = order
        self._relations = relations
        head = [f"map, page {number}; the number before a symbol is its line", *skeleton.text.split("\n")]
        self.sheet = Sheet(budget, counter, head)
        if len(self.sheet.lines) < len(head):
            self.sheet.fill(head[len(self.sheet.lines)])

    def run(self, start: int) -> int:
        """Fill the page from a place of the order on; return the place where the next page starts."""
        place = start
        while place < len(self._order.ranked):
            entries = self._order.entries_at(place, self._relations)
            if not self._add_file(place, entries[: self._order.quota(place)]):
                # The next page shows this file whole, unless it is larger than any page.
                return max(place, start + 1)
            place += 1
        return place

    def _add_file(self, place: int, wanted: list[Entry]) -> bool:
        """Add a file with as many of its symbols as fit, and fill what is left; return whether all did."""
        node = self._order.graph.nodes[self._order.ranked[place]]
        title = inert(node.path)
        inside = sorted(wanted, key=lambda entry: (entry.definition.start_line, entry.definition.name_line))
        lines = _described(inside)
        if not self.sheet.add(title, with_next=lines[0] if lines else None):
            self.sheet.fill(lines[0] if lines and self.sheet.add(title) else title)
            return False
        shown: list[Entry] = []
        for entry, line in zip(inside, lines, strict=True):
            if not self.sheet.add(line):
                self.sheet.fill(line)
                break
            shown.append(entry)
        score = float(self._order.scores[self._order.ranked[place]])
        symbols = tuple(_symbol(entry.definition) for entry in shown)
        self.files.append(MapFile(node.path, node.category, node.lines, round(score, 6), symbols))
        return len(shown) == len(wanted)


def _described(entries: list[Entry]) -> list[str]:
    above: set[str] = set()
    lines = []
    for entry in entries:
        lines.append(describe(entry.definition, frozenset(above)))
        above.add(entry.definition.qualified)
    return lines


def _symbol(definition: Definition) -> MapSymbol:
    return MapSymbol(definition.qualified, definition.kind, definition.name_line, definition.signature)
