"""The only module that touches tree-sitter: grammars, parsers, queries, and the budget of one parse."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor, QueryError, Tree
from tree_sitter_language_pack import get_language

# The slowest hand-written file seen takes 0.6 s; beyond this a grammar is lost in an ambiguity.
PARSE_SECONDS = 5.0
# Bytes given at once after the first time. Predicates ask for single names and copy each answer thrice; and see `_Input`.
_STEP = 64
# How deep in a tree a match may start. Every level of a chain `a.b().b()…` keeps a match open, so that without this
# a chain of 6,000 calls takes 3 s, and ten times that 300 s. Hand-written code stays under 100.
_MAX_DEPTH = 500

_INHERITS = "; inherits:"
_NO_CAPTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|;[^\n]*')
_CAPTURE = re.compile(rb"@([\w.]+)")
_REPEATED = re.compile(rb"[)\]_][ \t\n]*[*+]")

_local = threading.local()  # parsers and cursors must not cross threads


class ParseProblem(Exception):
    """A file could not be parsed; its lines are still indexed."""


@dataclass(frozen=True, slots=True)
class TagsQuery:
    """A language's query: one pass over a tree finds everything, as the walk costs more than the captures.

    For each pattern, `defining` says whether it defines or contains something, so that its captures are needed match by
    match, and `alone` is the name of its capture where it has one node and no other.
    """

    query: Query
    defining: tuple[bool, ...]
    alone: tuple[str, ...]


class _Input:
    """Hands a text to the parser, and afterwards to the predicates of a query.

    A parser asks once, for everything, unless its scanner looks back from the end, as those for Perl and Scala do some
    thousand times a file. py-tree-sitter 0.26 never frees what a callback gives it, and only a callback has a time budget:
    the text itself is kept, once a parse, and each further piece is short and made once.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pieces: dict[int, bytes] = {0: data}

    def __call__(self, offset: int, _point: object) -> bytes:
        piece = self.pieces.get(offset)
        if piece is None:
            piece = self.pieces[offset] = self.data[offset : offset + _STEP]
        return piece


@cache
def _grammar(name: str) -> Grammar | None:
    try:
        return get_language(name)  # type: ignore[arg-type]
    except Exception:  # whatever a pack raises: an unknown name, a missing file, another ABI
        return None


@cache
def _compiled(grammar: str) -> TagsQuery | str:
    """Return the query of a grammar, or why there is none."""
    language = _grammar(grammar)
    if language is None:
        return f"no grammar for {grammar}"
    text = _query_text(grammar)
    if text is None:
        return f"no query for {grammar}"
    try:
        query = Query(language, text)
    except QueryError as error:
        return f"the grammar for {grammar} is not the one its query was written for: {error}"
    data = text.encode()
    defining, alone = [], []
    for pattern in range(query.pattern_count):
        body = _NO_CAPTURE.sub(b"", data[query.start_byte_for_pattern(pattern) : query.end_byte_for_pattern(pattern)])
        names = _CAPTURE.findall(body)
        defining.append(b"container" in names or any(name.startswith(b"definition.") for name in names))
        alone.append(names[0].decode() if len(names) == 1 and not _REPEATED.search(body) else "")
    return TagsQuery(query, tuple(defining), tuple(alone))


def _query_text(grammar: str) -> str | None:
    """Return the text of a grammar's query; a first line `; inherits: NAME` puts another grammar's before it."""
    source = files("llama_index_codeindex.engine.syntax") / "queries" / f"{grammar}.scm"
    if not source.is_file():
        return None
    text = source.read_text("utf-8")
    first = text.split("\n", 1)[0]
    inherited = _query_text(first.removeprefix(_INHERITS).strip()) if first.startswith(_INHERITS) else None
    return f"{inherited or ''}\n{text}"


def tags_query(grammar: str) -> TagsQuery:
    """Return the compiled query of a grammar.

    Raises:
        ParseProblem: There is no such grammar, no query for it, or its nodes are not those that the query names.
    """
    found = _compiled(grammar)
    if isinstance(found, str):
        raise ParseProblem(found)
    return found


def parse(grammar: str, data: bytes, seconds: float = PARSE_SECONDS) -> Tree:
    """Parse UTF-8 bytes within a time budget.

    Raises:
        ParseProblem: There is no such grammar, or the budget ran out.
    """
    parsers: dict[str, Parser] = _local.__dict__.setdefault("parsers", {})
    parser = parsers.get(grammar)
    if parser is None:
        language = _grammar(grammar)
        if language is None:
            raise ParseProblem(f"no grammar for {grammar}")
        parser = parsers[grammar] = Parser(language)
    try:
        tree = parser.parse(_Input(data), progress_callback=_deadline(seconds))
    except ValueError:
        parsers.pop(grammar)  # a stopped parser would resume with the next file
        raise ParseProblem("the parse took too long") from None
    if tree is None:
        raise ParseProblem("the parser gave up")
    return tree


def _deadline(seconds: float) -> Callable[..., bool]:
    """Return what tells the parser to stop."""
    end = time.monotonic() + seconds
    return lambda *_: time.monotonic() > end


def captures(query: TagsQuery, root: Node) -> tuple[list[dict[str, list[Node]]], dict[str, list[Node]]]:
    """Return the captures of every match of a pattern that defines or contains something, and all others by name.

    There is no time budget: tree-sitter 0.26.1 crashes when a query is given a progress callback.
    """
    cursor = QueryCursor(query.query)
    cursor.set_max_start_depth(_MAX_DEPTH)
    definitions: list[dict[str, list[Node]]] = []
    found = [definitions if defines else [] for defines in query.defining]
    for pattern, match in cursor.matches(root):
        found[pattern].append(match)
    others: dict[str, list[Node]] = {}
    for matches, defines, alone in zip(found, query.defining, query.alone, strict=True):
        if defines or not matches:
            continue
        if alone:
            others.setdefault(alone, []).extend([match[alone][0] for match in matches])
            continue
        for match in matches:
            for name, nodes in match.items():
                others.setdefault(name, []).extend(nodes)
    return definitions, others


def self_test() -> bool:
    """Say whether grammars, parsers and queries work here at all: whether `def f(): pass` has its function."""
    try:
        query = tags_query("python")
        tree = parse("python", b"def f(): pass\n")
    except ParseProblem:
        return False
    names = [node.start_byte for match in captures(query, tree.root_node)[0] for node in match["name"]]
    return names == [len("def ")]
