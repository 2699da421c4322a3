"""The graph of files: who uses names that whom defines, weighted by how much that says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llama_index_codeindex.engine.graph.evidence import TYPES, family, is_plain, is_telling, module_names
from llama_index_codeindex.engine.store.relations import Node, Relations

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
    """Read the graph of a snapshot: one pass over the names, none over the files themselves."""
    nodes = relations.nodes()
    position = {node.id: index for index, node in enumerate(nodes)}
    homes = _homes(relations, nodes, position)
    users, imports = _users(relations, homes, position)
    edges: list[_Edge] = []
    names: list[str] = []
    for name, used in users.items():
        found = list(_edges_of(name, len(names), used, homes[name], nodes, imports))
        if found:
            names.append(name)
            edges.extend(found)
    source, target, label, weight = list(zip(*edges, strict=True)) or [(), (), (), ()]
    return Graph.of(
        nodes,
        np.array(source, np.int64),
        np.array(target, np.int64),
        np.array(label, np.int64),
        np.array(weight, np.float64),
        names,
    )


_Edge = tuple[int, int, int, float]
_Homes = dict[int, str]  # the files that define a name, each with the kind that it has there
_Users = dict[int, tuple[int, bool]]  # the files that use a name: on how many lines, and whether they import it


def _homes(relations: Relations, nodes: Sequence[Node], position: Mapping[int, int]) -> dict[str, _Homes]:
    """Return where each name is defined, for names few files define; in tests only where nothing else defines it."""
    shipped: dict[str, _Homes] = {}
    others: dict[str, _Homes] = {}
    closures = [family(node.language) in _CLOSURES for node in nodes]
    accompanying = [node.category in _ACCOMPANYING for node in nodes]
    for name, file_id, kind, at_top in relations.definers():
        home = position[file_id]
        if len(name) < _SHORTEST or (kind == "function" and not at_top and closures[home]):
            continue
        (others if accompanying[home] else shipped).setdefault(name, {})[home] = kind
    return {name: homes for name, homes in (others | shipped).items() if len(homes) <= _MAX_DEFINERS}


def _users(
    relations: Relations, homes: Mapping[str, _Homes], position: Mapping[int, int]
) -> tuple[dict[str, _Users], dict[int, set[str]]]:
    """Return who uses each name that somebody defines, and what each file imports."""
    users: dict[str, _Users] = {}
    imports: dict[int, set[str]] = defaultdict(set)
    for name, kind, file_id, count in relations.uses():
        user = position[file_id]
        if kind == "import":
            imports[user].add(name)
        if name in homes:
            used = users.setdefault(name, {})
            before, imported = used.get(user, (0, False))
            used[user] = (before + count, imported or kind == "import")
    return users, imports


def _edges_of(
    name: str, label: int, users: _Users, homes: _Homes, nodes: Sequence[Node], imports: Mapping[int, set[str]]
) -> Iterator[_Edge]:
    """Yield the edges of one name. The rarer it is, the more it says, and where nobody who uses it imports it, little."""
    rarity = math.log(1 + len(nodes) / len(users)) / len(homes)
    for home, kind in homes.items():
        modules = module_names(nodes[home].path)
        spoken = family(nodes[home].language)
        # What a file defines itself, it means itself.
        fitting = [user for user in users if user not in homes and family(nodes[user].language) == spoken]
        linked = [users[user][1] or not modules.isdisjoint(imports.get(user, ())) for user in fitting]
        known = (1 + sum(linked)) / (1 + len(linked))  # the share of its users that can see the definition at all
        for user, sees in zip(fitting, linked, strict=True):
            count, imported = users[user]
            worth = _evidence(name, kind, imported=imported, linked=sees) * (1.0 if sees else known)
            # The square root is taken once, so that repetition counts less and less.
            yield user, home, label, math.sqrt(count) * rarity * worth


def _evidence(name: str, kind: str, *, imported: bool, linked: bool) -> float:
    if is_plain(name) and kind not in TYPES:
        return _IMPORTED_WORD if imported and kind in ("function", "constant") else _WORD
    if linked:
        return _LINKED
    return _TELLING if is_telling(name) else _LOOSE
