"""The only module that touches tree-sitter: grammars, parsers, queries, and the budget of one parse."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor, Tree
from tree_sitter_language_pack import get_language

# The slowest hand-written file seen takes 0.6 s; beyond this a grammar is lost in an ambiguity.
PARSE_SECONDS = 5.0
_READ_BYTES = 1 << 16

_local = threading.local()  # parsers and cursors must not cross threads


class ParseProblem(Exception):
    """A file could not be parsed; its lines are still indexed."""


@dataclass(frozen=True, slots=True)
class TagsQuery:
    """A language's query, once for its definitions and once for its references.

    Definitions need their captures match by match; references need one flat list, which is several times cheaper.
    """

    definitions: Query
    references: Query


@cache
def _grammar(name: str) -> Grammar:
    try:
        return get_language(name)  # type: ignore[arg-type]
    except Exception as error:  # whatever a pack raises: an unknown name, a missing file, another ABI
        raise ParseProblem(f"no grammar for {name}") from error


@cache
def tags_query(grammar: str) -> TagsQuery | None:
    """Return the compiled query of a grammar, or None where it has none."""
    source = files("llama_index_codeindex.engine.syntax") / "queries" / f"{grammar}.scm"
    if not source.is_file():
        return None
    text = source.read_text("utf-8")
    definitions, references = Query(_grammar(grammar), text), Query(_grammar(grammar), text)
    data = text.encode()
    for pattern in range(definitions.pattern_count):
        body = data[definitions.start_byte_for_pattern(pattern) : definitions.end_byte_for_pattern(pattern)]
        (definitions if b"@reference." in body else references).disable_pattern(pattern)
    return TagsQuery(definitions, references)


def parse(grammar: str, data: bytes, seconds: float = PARSE_SECONDS) -> Tree:
    """Parse UTF-8 bytes within a time budget.

    Raises:
        ParseProblem: There is no such grammar, or the budget ran out.
    """
    parsers: dict[str, Parser] = _local.__dict__.setdefault("parsers", {})
    parser = parsers.get(grammar)
    if parser is None:
        parser = parsers[grammar] = Parser(_grammar(grammar))
    deadline = time.monotonic() + seconds
    try:
        tree = parser.parse(
            lambda offset, _point: data[offset : offset + _READ_BYTES],
            progress_callback=lambda *_: time.monotonic() > deadline,
        )
    except ValueError:
        parsers.pop(grammar)  # a stopped parser would resume with the next file
        raise ParseProblem("the parse took too long") from None
    if tree is None:
        raise ParseProblem("the parser gave up")
    return tree


def definition_matches(query: TagsQuery, root: Node) -> list[dict[str, list[Node]]]:
    """Return the captures of every match of a definition pattern."""
    return [captures for _, captures in QueryCursor(query.definitions).matches(root)]


def reference_captures(query: TagsQuery, root: Node) -> dict[str, list[Node]]:
    """Return all captures of the reference patterns, by name."""
    return QueryCursor(query.references).captures(root)
