"""What the graph asks of a catalog: definitions, uses, imports and spans, as plain rows. It only reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from llama_index_codeindex.engine.store.catalog import Catalog
from llama_index_codeindex.engine.store.connections import batches


class Node(NamedTuple):
    """A file, as the graph needs it. A tuple, as are definitions: one answer makes ten thousands of them."""

    id: int
    path: str
    language: str
    category: str
    lines: int


class Definition(NamedTuple):
    """A definition. Lines are 1-based and inclusive."""

    file_id: int
    name: str
    qualified: str
    kind: str
    scope: str
    start_line: int
    end_line: int
    name_line: int
    signature: str


@dataclass(frozen=True, slots=True)
class NamedUse:
    """The lines of one file that use a name in one way."""

    file_id: int
    kind: str
    lines: tuple[int, ...]


Span = tuple[int, int, str]
Definer = tuple[str, int, str, bool]
UseCount = tuple[str, str, int, int]

_DEFINITION = "file_id, name, qualified, kind, scope, start_line, end_line, name_line, signature"
# What was inserted when must not show: an index that grew answers like one built at once.
_ORDER = "file_id, start_line, end_line DESC, name_line, qualified, kind"


class Relations:
    """Questions about names over one snapshot of a catalog.

    Args:
        catalog: The catalog, inside `reading()` where several answers must be of one generation.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def nodes(self) -> list[Node]:
        """Return every file, by path."""
        rows = self._catalog.connection.execute("SELECT id, path, language, category, lines FROM files ORDER BY path")
        return [Node._make(row) for row in rows]

    def nodes_of(self, file_ids: Sequence[int]) -> list[Node]:
        """Return some files."""
        found: list[Node] = []
        for batch in batches(file_ids):
            marks = ",".join("?" * len(batch))
            query = f"SELECT id, path, language, category, lines FROM files WHERE id IN ({marks})"  # noqa: S608
            found.extend(map(Node._make, self._catalog.connection.execute(query, batch)))
        return found

    def file_at(self, path: str) -> int | None:
        """Return the id of the file at a path, or None."""
        file = self._catalog.file(path)
        return file.id if file is not None else None

    def definitions_named(self, names: Sequence[str]) -> list[Definition]:
        """Return the definitions of exactly these names."""
        return list(self._definitions("name", names))

    def definitions_in(self, file_ids: Sequence[int]) -> list[Definition]:
        """Return the definitions of some files, outer ones before what is inside them."""
        return list(self._definitions("file_id", file_ids))

    def _definitions(self, column: str, values: Sequence[int | str]) -> Iterator[Definition]:
        for batch in batches(values):
            marks = ",".join("?" * len(batch))
            query = f"SELECT {_DEFINITION} FROM symbols WHERE {column} IN ({marks}) ORDER BY {_ORDER}"  # noqa: S608
            yield from map(Definition._make, self._catalog.connection.execute(query, batch))

    def spans_in(self, file_ids: Sequence[int]) -> dict[int, list[Span]]:
        """Return the first and last line and the qualified name of each definition of some files, ordered as they are."""
        found: dict[int, list[Span]] = {file_id: [] for file_id in file_ids}
        for batch in batches(file_ids):
            query = (
                "SELECT file_id, start_line, end_line, qualified FROM symbols "  # noqa: S608
                f"WHERE file_id IN ({','.join('?' * len(batch))}) ORDER BY {_ORDER}"
            )
            for file_id, start, end, qualified in self._catalog.connection.execute(query, batch):
                found[file_id].append((start, end, qualified))
        return found

    def uses_named(self, name: str) -> list[NamedUse]:
        """Return where exactly this name is used."""
        rows = self._catalog.connection.execute(
            "SELECT file_id, kind, lines FROM refs WHERE name = ? ORDER BY file_id, kind", (name,)
        )
        return [NamedUse(file_id, kind, tuple(json.loads(lines))) for file_id, kind, lines in rows]

    def imports_of(self, file_ids: Sequence[int]) -> dict[int, frozenset[str]]:
        """Return the names that each of some files imports."""
        found: dict[int, set[str]] = {file_id: set() for file_id in file_ids}
        for batch in batches(file_ids):
            query = (
                f"SELECT file_id, name FROM refs WHERE kind = 'import' AND file_id IN ({','.join('?' * len(batch))})"  # noqa: S608
            )
            for file_id, name in self._catalog.connection.execute(query, batch):
                found[file_id].add(name)
        return {file_id: frozenset(names) for file_id, names in found.items()}

    def definers(self) -> Iterator[Definer]:
        """Yield the name, file and kind of every definition, and whether it is at the top of its file, by name."""
        # Through the index on names, every row would be looked up on its own.
        yield from self._catalog.connection.execute(
            "SELECT name, file_id, kind, scope = '' FROM symbols NOT INDEXED ORDER BY name"
        )

    def uses(self) -> Iterator[UseCount]:
        """Yield every use, by name: the name, the kind, the file, and on how many lines.

        What is only read is left out: it says little of who needs whom, and is as much as a third of all.
        """
        yield from self._catalog.connection.execute(
            "SELECT name, kind, file_id, length(lines) - length(replace(lines, ',', '')) + 1 FROM refs "
            "WHERE kind <> 'value' ORDER BY name, kind, file_id"
        )

    def imports(self) -> Iterator[tuple[int, str]]:
        """Yield each file with a name that it imports."""
        yield from self._catalog.connection.execute("SELECT file_id, name FROM refs WHERE kind = 'import'")
