"""The graphs and maps of one index, made once per generation and kept for as long as it serves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from llama_index_codeindex.engine.context.tokens import estimate_tokens
from llama_index_codeindex.engine.graph import shelf
from llama_index_codeindex.engine.graph.edges import Graph, load_graph
from llama_index_codeindex.engine.graph.layout import Counter
from llama_index_codeindex.engine.graph.repomap import Focus, Order, RepoMap, check_arguments, draw_map, order_files
from llama_index_codeindex.engine.store.relations import Relations
from llama_index_codeindex.engine.store.store import View

# Answers that are kept: the orders of some questions and the pages of their maps. An order of 2,000 files is half a
# megabyte.
_KEPT = 16

_T = TypeVar("_T")


class Atlas:
    """Draws maps, and forgets everything as soon as the generation changes. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stamp = ""
        self._kept: OrderedDict[Hashable, object] = OrderedDict()

    def graph(self, view: View) -> Graph:
        """Return the graph of files of a generation."""
        return self._once(view, "graph", lambda: _graph(view))

    def order(self, view: View, focus: Focus) -> Order:
        """Return the files of a generation in the order of a focus."""
        key = ("order", _focus_key(focus))
        return self._once(view, key, lambda: order_files(self.graph(view), focus))

    def repo_map(self, view: View, focus: Focus, budget: int, page: int, counter: Counter | None = None) -> RepoMap:
        """Return a page of a map; see `draw_map`."""
        check_arguments(budget, page)
        count = counter or estimate_tokens

        def draw() -> RepoMap:
            order = self.order(view, focus)
            return draw_map(order, Relations(view.catalog), view.generation, budget, page, count)

        if counter is not None:
            with self._lock:
                return draw()
        return self._once(view, ("map", _focus_key(focus), budget, page), draw)

    def _once(self, view: View, key: Hashable, make: Callable[[], _T]) -> _T:
        stamp = f"{view.meta.get('stamp', '')}/{view.generation}"
        with self._lock:
            if stamp != self._stamp:
                self._stamp = stamp
                self._kept.clear()
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast(_T, self._kept[key])
            made = make()
            self._kept[key] = made
            while len(self._kept) > _KEPT:
                # The graph is what all others are made from.
                oldest = next(known for known in self._kept if known != "graph")
                del self._kept[oldest]
            return made


def _graph(view: View) -> Graph:
    relations, stamp, layout = Relations(view.catalog), view.meta.get("stamp", ""), view.store.layout
    if layout is None or not stamp:
        return load_graph(relations)
    graph = shelf.load(layout.folder, stamp, relations.nodes())
    if graph is None:
        graph = load_graph(relations)
        shelf.keep(layout.folder, stamp, graph)
    return graph


def _focus_key(focus: Focus) -> Hashable:
    files = tuple(sorted(focus.files.items()))
    return files, tuple(sorted((path, tuple(sorted(names))) for path, names in focus.symbols.items()))
