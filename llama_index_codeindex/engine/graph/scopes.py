"""Which definitions hold a line, and which are seen only inside another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from llama_index_codeindex.engine.graph.evidence import FUNCTIONS
from llama_index_codeindex.engine.store.relations import Definition, Relations, Span

# The definitions of a file by their lines and names, where each starts, and which one is around each.
_Nest = tuple[list[Span], list[int], list[int]]


class Scopes:
    """The scopes of one generation, as far as they were read.

    Args:
        relations: Where definitions come from.
    """

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._spans: dict[int, list[Definition]] = {}
        self._nests: dict[int, _Nest] = {}
        self._parents: dict[Definition, Definition | None] = {}

    def load(self, file_ids: Iterable[int]) -> None:
        """Read the definitions of some files together."""
        missing = sorted(set(file_ids) - self._spans.keys())
        for file_id in missing:
            self._spans[file_id] = []
        for definition in self._relations.definitions_in(missing):
            self._spans[definition.file_id].append(definition)

    def definitions_of(self, file_id: int) -> list[Definition]:
        """Return the definitions of a file, in order."""
        self.load([file_id])
        return self._spans[file_id]

    def enclosing(self, file_id: int, line: int) -> list[Definition]:
        """Return the definitions that hold a line, from the outermost to the innermost."""
        _, _, outer = self._nest(file_id)
        place, spans = self._innermost(file_id, line), self.definitions_of(file_id)
        found = []
        while place >= 0:
            found.append(spans[place])
            place = outer[place]
        return found[::-1]

    def _innermost(self, file_id: int, line: int) -> int:
        """Return the place of the innermost definition that holds a line among those of its file, or -1."""
        spans, starts, outer = self._nest(file_id)
        place = bisect_right(starts, line) - 1
        while place >= 0 and spans[place][1] < line:
            place = outer[place]
        return place

    def symbol_at(self, file_id: int, line: int) -> str:
        """Return the qualified name of the innermost definition that holds a line, or ""."""
        place = self._innermost(file_id, line)
        return self._nest(file_id)[0][place][2] if place >= 0 else ""

    def _nest(self, file_id: int) -> _Nest:
        if file_id not in self._nests:
            self.load_nests([file_id])
        return self._nests[file_id]

    def load_nests(self, file_ids: Iterable[int]) -> None:
        """Read the lines and names of the definitions of some files together, which is much less."""
        for file_id, spans in self._relations.spans_in(sorted(set(file_ids) - self._nests.keys())).items():
            outer: list[int] = []
            for place, (_, end, _) in enumerate(spans):
                around = place - 1
                while around >= 0 and spans[around][1] < end:
                    around = outer[around]
                outer.append(around)
            self._nests[file_id] = (spans, [start for start, _, _ in spans], outer)

    def _parent(self, definition: Definition) -> Definition | None:
        """Return the function inside which a definition is local, or None when it is not."""
        if not definition.scope:
            return None
        if definition not in self._parents:
            within = self.enclosing(definition.file_id, definition.name_line)
            around = [d for d in within if d.qualified == definition.scope]
            self._parents[definition] = around[-1] if around and around[-1].kind in FUNCTIONS else None
        return self._parents[definition]

    def is_local(self, definition: Definition) -> bool:
        """Say whether a definition is seen only inside the function around it; what hangs on an object gets out."""
        return definition.kind != "method" and self._parent(definition) is not None

    def is_visible(self, definition: Definition, line: int) -> bool:
        """Say whether a local definition is seen at a line of its file."""
        parent = self._parent(definition)
        return parent is not None and parent.start_line <= line <= parent.end_line
