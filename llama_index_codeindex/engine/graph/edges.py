"""The graph of files: who uses names that whom defines, weighted by how much that says."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.graph.evidence import TYPES, family, is_plain, is_telling, module_names
from llama_index_codeindex.engine.store.relations import Definer, Node, Relations, UseCount

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A name that more files than this define says nothing about any of them.
_MAX_DEFINERS = 6
_SHORTEST = 2  # a letter is a variable, not a name
# What an edge is worth: the user imports the name or the module; or the name is telling; or neither; or it is one small
# word that any library has, imported or not. Without the last, `logger.info` would make every `info` important.
_LINKED, _TELLING, _LOOSE, _IMPORTED_WORD, _WORD = 1.0, 0.4, 0.1, 0.3, 0.01
# Tests and examples are leaned on by their like alone: such a name is theirs only where nothing else defines it.
_ACCOMPANYING = frozenset(("test", "example"))
# Where a function inside another has a scope, and what stands at the top or in a class has none or is a method.
_CLOSURES = frozenset(("python", "web"))

# What a file counts for in a map, by what it is for. Nothing is left out: a repository of documents has a map, too.
CATEGORY_WEIGHTS = {
    "source": 1.0, "declaration": 0.5, "script": 0.25, "example": 0.12, "test": 0.08, "config": 0.02, "docs": 0.01,
    "generated": 0.01, "vendored": 0.01,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Graph:
    """Files and the uses between them. Edge `i` says that file `source[i]` uses name `label[i]` of file `target[i]`.

    Args:
        nodes: The files, by path; edges count in them.
        source: The file of each edge that uses.
        target: The file that defines.
        label: The name, as a number into `names`.
        weight: What the edge is worth.
        names: The names.
        worth: What each file counts for by its category.
    """

    nodes: tuple[Node, ...]
    source: Ints
    target: Ints
    label: Ints
    weight: Floats
    names: tuple[str, ...]
    worth: Floats

    @classmethod
    def of(
        cls, nodes: Sequence[Node], source: Ints, target: Ints, label: Ints, weight: Floats, names: Sequence[str]
    ) -> Graph:
        """Return a graph of its parts."""
        worth = np.array([CATEGORY_WEIGHTS.get(node.category, 0.01) for node in nodes], np.float64)
        return cls(tuple(nodes), source, target, label, weight, tuple(names), worth)

    def is_whole(self) -> bool:
        """Say whether the edges fit the files and names."""
        columns = ((self.source, len(self.nodes)), (self.target, len(self.nodes)), (self.label, len(self.names)))
        return all(
            len(column) == len(self.weight) and (not len(column) or (column.min() >= 0 and column.max() < limit))
            for column, limit in columns
        )


def load_graph(relations: Relations) -> Graph:
    """Read the graph of a snapshot: one pass over the names, which holds one of them at a time."""
    nodes = relations.nodes()
    files = _Files(relations, nodes)
    source, target, label, weight = array("q"), array("q"), array("q"), array("d")
    names: list[str] = []
    for name, definers, uses in _joined(relations.definers(), relations.uses()):
        homes, before = files.homes(definers), len(weight)
        for user, home, worth in files.edges(name, homes, files.users(uses)) if homes else ():
            source.append(user)
            target.append(home)
            label.append(len(names))
            weight.append(worth)
        if len(weight) > before:
            names.append(name)
    return Graph.of(
        nodes,
        np.array(source, np.int64),
        np.array(target, np.int64),
        np.array(label, np.int64),
        np.array(weight, np.float64),
        names,
    )


_Homes = dict[int, str]  # the files that define a name, each with the kind that it has there
_Users = dict[int, tuple[int, bool]]  # the files that use a name: on how many lines, and whether they import it


def _joined(
    definers: Iterable[Definer], uses: Iterable[UseCount]
) -> Iterator[tuple[str, list[Definer], list[UseCount]]]:
    """Yield each name that is both defined and used, with the rows of both; they come ordered by name."""
    used = groupby(uses, itemgetter(0))
    current = next(used, None)
    for name, defined in groupby(definers, itemgetter(0)):
        while current is not None and current[0] < name:
            current = next(used, None)
        if current is None:
            return
        if current[0] == name:
            yield name, list(defined), list(current[1])


class _Files:
    """The files of a graph by their position, and what the weight of an edge needs to know of them."""

    def __init__(self, relations: Relations, nodes: Sequence[Node]) -> None:
        self._position = {node.id: index for index, node in enumerate(nodes)}
        self._families = [family(node.language) for node in nodes]
        self._accompanying = [node.category in _ACCOMPANYING for node in nodes]
        self._paths = [node.path for node in nodes]
        self._imports: dict[int, set[str]] = defaultdict(set)
        for file_id, name in relations.imports():
            self._imports[self._position[file_id]].add(name)

    def homes(self, definers: Iterable[Definer]) -> _Homes:
        """Return where a name is defined, in tests only where nothing else defines it; nothing if many files define it."""
        shipped: _Homes = {}
        others: _Homes = {}
        for name, file_id, kind, at_top in definers:
            home = self._position[file_id]
            if len(name) < _SHORTEST or (kind == "function" and not at_top and self._families[home] in _CLOSURES):
                continue
            (others if self._accompanying[home] else shipped)[home] = kind
        homes = shipped or others
        return homes if len(homes) <= _MAX_DEFINERS else {}

    def users(self, uses: Iterable[UseCount]) -> _Users:
        """Return who uses a name."""
        users: _Users = {}
        for _, kind, file_id, count in uses:
            user = self._position[file_id]
            before, imported = users.get(user, (0, False))
            users[user] = (before + count, imported or kind == "import")
        return users

    def edges(self, name: str, homes: _Homes, users: _Users) -> Iterator[tuple[int, int, float]]:
        """Yield user, home and weight of the edges of one name.

        The rarer it is, the more it says, and where nobody who uses it imports it, little.
        """
        rarity = math.log(1 + len(self._families) / len(users)) / len(homes)
        for home, kind in homes.items():
            modules, spoken = module_names(self._paths[home]), self._families[home]
            # What a file defines itself, it means itself.
            fitting = [user for user in users if user not in homes and self._families[user] == spoken]
            linked = [users[user][1] or not modules.isdisjoint(self._imports.get(user, ())) for user in fitting]
            known = (1 + sum(linked)) / (1 + len(linked))  # the share of its users that can see the definition at all
            worths = {
                (imported, sees): _evidence(name, kind, imported=imported, linked=sees) * (1.0 if sees else known)
                for imported, sees in ((True, True), (False, True), (False, False))
            }
            for user, sees in zip(fitting, linked, strict=True):
                count, imported = users[user]
                # The square root is taken once, so that repetition counts less and less.
                yield user, home, math.sqrt(count) * rarity * worths[imported, sees]


def _evidence(name: str, kind: str, *, imported: bool, linked: bool) -> float:
    if is_plain(name) and kind not in TYPES:
        return _IMPORTED_WORD if imported and kind in ("function", "constant") else _WORD
    if linked:
        return _LINKED
    return _TELLING if is_telling(name) else _LOOSE
