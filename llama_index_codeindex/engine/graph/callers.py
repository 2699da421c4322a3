"""Callers and impact: what a change of a definition may reach, following uses that are sure enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index_codeindex.engine.graph.evidence import FUNCTIONS
from llama_index_codeindex.engine.graph.model import Caller, Confidence
from llama_index_codeindex.engine.graph.resolve import Resolved, Resolver, weaker
from llama_index_codeindex.engine.store.relations import Definition

# Definitions that are followed for one question. What a thousand callers share is no news to a reader, and the search
# ends in a fraction of a second.
MAX_FOLLOWED = 1_000
# A chain of this many calls reaches whatever it reaches.
MAX_DEPTH = 50

_Key = tuple[int, str]


class Walk:
    """A walk from definitions to what uses them, breadth first; every definition is followed once.

    Args:
        resolver: Resolves the names.
        kinds: Which kinds of use are followed.
    """

    def __init__(self, resolver: Resolver, kinds: frozenset[str]) -> None:
        self._resolver = resolver
        self._kinds = kinds
        self.callers: list[Caller] = []
        self.files: set[int] = set()
        self.uncertain = 0
        self.truncated = False

    def run(self, targets: Sequence[Definition], depth: int, *, with_names: bool) -> None:
        """Walk.

        Args:
            targets: Where it starts.
            depth: How many calls deep it goes.
            with_names: List direct callers that match by name alone, too; they are never followed.
        """
        followed: set[_Key] = {_key(target) for target in targets}
        level: list[tuple[Definition, Confidence]] = [(target, "exact") for target in targets]
        for distance in range(1, min(depth, MAX_DEPTH) + 1):
            following: dict[_Key, tuple[Definition, Confidence]] = {}
            for target, so_far in level:
                for use, sure in self._resolver.uses_of([target]):
                    self._note(use, sure, so_far, distance, target, with_names=with_names)
                    if sure == "name" or use.kind not in self._kinds:
                        continue
                    for caller in _followed(self._resolver.around(use)):
                        if _key(caller) not in followed:
                            following.setdefault(_key(caller), (caller, weaker(sure, so_far)))
            room = MAX_FOLLOWED - len(followed)
            if len(following) > room:
                self.truncated = True
            level = [following[key] for key in sorted(following)][:room]
            followed.update(_key(definition) for definition, _ in level)
            if not level:
                return
        self.truncated = self.truncated or depth > MAX_DEPTH

    def _note(
        self,
        use: Resolved,
        sure: Confidence,
        so_far: Confidence,
        distance: int,
        target: Definition,
        *,
        with_names: bool,
    ) -> None:
        if sure == "name":
            self.uncertain += 1
            if not with_names or distance > 1:
                return
        else:
            self.files.add(use.file_id)
        if use.kind not in self._kinds:
            return
        node = self._resolver.nodes[use.file_id]
        around = self._resolver.around(use)
        symbol = around[-1].qualified if around else ""
        self.callers.append(
            Caller(node.path, use.line, symbol, node.category, weaker(sure, so_far), distance,
                   self._resolver.identity(target))
        )  # fmt: skip


def _followed(around: Sequence[Definition]) -> Iterable[Definition]:
    """Return what is affected with a use: the definition around it, and every function that one is local to."""
    if not around:
        return
    inner = around[-1]
    yield inner
    if inner.kind in FUNCTIONS:
        yield from (outer for outer in around[:-1] if outer.kind in FUNCTIONS)


def sort_callers(callers: Iterable[Caller]) -> list[Caller]:
    """Return callers in reading order: near ones first, then source before the rest; each line once."""
    best: dict[tuple[str, int, str], Caller] = {}
    for caller in sorted(callers, key=lambda c: (c.depth, c.category != "source", c.file_path, c.line, c.calls)):
        best.setdefault((caller.file_path, caller.line, caller.symbol), caller)
    return list(best.values())


def _key(definition: Definition) -> _Key:
    return (definition.file_id, definition.qualified)
