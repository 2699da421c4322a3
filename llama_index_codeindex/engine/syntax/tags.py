"""Definitions and references of a parsed file, from the captures of its tags query."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tree_sitter import Node

from llama_index_codeindex.engine.model import Reference, Symbol
from llama_index_codeindex.engine.syntax.languages import Language
from llama_index_codeindex.engine.syntax.parsing import (
    TagsQuery,
    definition_matches,
    reference_captures,
)

# Where two patterns name the same thing, the stronger kind holds: `const f = () => {}` is a function.
_WEAK_KINDS = {"constant": 1, "variable": 1, "field": 1, "property": 1, "prototype": 2, "type": 3}
_TYPE_KINDS = frozenset("class struct interface trait enum object type container".split())

MAX_NAME = 200  # what C++ templates and string-named modules can grow to is no name any more
MAX_SIGNATURE = 160

_GENERIC_ARGUMENTS = re.compile(r"<[^<>]*>")
_SPACE = re.compile(r"\s+")
_QUOTES = "\"'`:"


@dataclass(slots=True)
class _Definition:
    start_byte: int
    end_byte: int
    start_row: int
    end_row: int
    kind: str
    name: str
    name_byte: int
    name_row: int
    scope: str


def extract(language: Language, query: TagsQuery, root: Node, lines: list[str]) -> tuple[list[Symbol], list[Reference]]:
    """Return the symbols and references below `root`, in the order of the file.

    Args:
        language: The row of the language.
        query: Its compiled query.
        root: The tree's root node.
        lines: The file's lines, for signatures.
    """
    found: dict[int, _Definition] = {}
    attached: list[tuple[int, int]] = []
    wrappers: dict[int, int] = {}
    for captures in definition_matches(query, root):
        for node in captures.get("attached", ()):
            attached.append((node.start_point.row, _end_row(node)))
        for node in captures.get("wrapper", ()):
            wrappers[node.end_byte] = min(node.start_point.row, wrappers.get(node.end_byte, node.start_point.row))
        definition = _definition(captures)
        if definition is not None:
            known = found.get(definition.name_byte)
            if known is None or _strength(definition.kind) > _strength(known.kind):
                found[definition.name_byte] = definition
    definitions = sorted(found.values(), key=lambda d: (d.start_byte, -d.end_byte))
    starts = _attach(definitions, attached, wrappers, lines)
    symbols = _nest(language, definitions, starts, lines)
    if language.clauses:
        symbols = _join_clauses(symbols, lines)
    return symbols, _references(query, root, {definition.name_byte for definition in definitions})


def _definition(captures: dict[str, list[Node]]) -> _Definition | None:
    for key, nodes in captures.items():
        if key == "container" or key.startswith("definition."):
            node = nodes[0]
            break
    else:
        return None
    kind = key.rpartition(".")[2]
    end = captures["body"][-1] if "body" in captures else node
    names = captures.get("name")
    name_node = names[0] if names else node
    scope = clean_name(_text(captures["scope"][0])) if "scope" in captures else ""
    name = clean_name(_text(name_node)) if names else ""
    if not name and kind != "container":
        return None
    if "::" in name and not name.startswith("::"):  # an out-of-line member names its own scope
        scope, _, name = name.rpartition("::")
    return _Definition(
        node.start_byte, end.end_byte, node.start_point.row, _end_row(end), kind, name,
        name_node.start_byte, name_node.start_point.row, _plain_scope(scope),
    )  # fmt: skip


def _plain_scope(scope: str) -> str:
    """Drop what JavaScript writes around a scope: `Foo.prototype` is `Foo`, `module.exports` is the file."""
    scope = scope.removesuffix(".prototype")
    return "" if scope in ("module.exports", "exports", "module", "this", "self", "window", "globalThis") else scope


def clean_name(text: str) -> str:
    """Return a name on one line, without quotes and generic arguments, at most `MAX_NAME` characters long."""
    if not text.startswith("operator"):
        while "<" in text and (shorter := _GENERIC_ARGUMENTS.sub("", text)) != text:
            text = shorter
    return _SPACE.sub(" ", text).strip().strip(_QUOTES)[:MAX_NAME]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _end_row(node: Node) -> int:
    """Return the last row with content: a node that ends at the start of a row does not hold that row."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _strength(kind: str) -> int:
    return _WEAK_KINDS.get(kind, 4)


def _attach(
    definitions: list[_Definition], attached: list[tuple[int, int]], wrappers: dict[int, int], lines: list[str]
) -> list[int]:
    """Return each definition's first row, with its wrapper, decorators and attached comments."""
    ends: dict[int, int] = {}
    for start, end in attached:
        ends[end] = min(start, ends.get(end, start))
    starts = []
    for definition in definitions:
        row = definition.start_row
        for offset in (0, 1, 2):  # a semicolon may follow inside the wrapper
            if definition.end_byte + offset in wrappers:
                row = min(row, wrappers[definition.end_byte + offset])
                break
        while row > 0 and row - 1 in ends and _stands_alone(lines, ends[row - 1]):
            row = ends[row - 1]
        starts.append(row)
    return starts


_COMMENT_START = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|\(\*|\{-|<!--|@|\[|=begin|\"\"\")")


def _stands_alone(lines: list[str], row: int) -> bool:
    """Say whether what starts on a row is alone there, and not a comment behind other code."""
    return _COMMENT_START.match(lines[row]) is not None


def _nest(language: Language, definitions: list[_Definition], starts: list[int], lines: list[str]) -> list[Symbol]:
    symbols: list[Symbol] = []
    enclosing: list[tuple[int, str, str]] = []  # end byte, qualified name, kind
    separator = language.separator
    for definition, start in zip(definitions, starts, strict=True):
        while enclosing and enclosing[-1][0] <= definition.start_byte:
            enclosing.pop()
        outer, outer_kind = (enclosing[-1][1], enclosing[-1][2]) if enclosing else ("", "")
        scope = separator.join(part for part in (outer, definition.scope) if part)
        if definition.scope and (outer == definition.scope or outer.endswith(separator + definition.scope)):
            scope = outer
        qualified = separator.join(part for part in (scope, definition.name) if part)
        enclosing.append((definition.end_byte, qualified, definition.kind))
        if definition.kind == "container":
            continue
        kind = definition.kind
        if kind == "function" and (outer_kind in _TYPE_KINDS or (definition.scope and not outer)):
            kind = "method"
        signature = _SPACE.sub(" ", lines[definition.name_row]).strip()[:MAX_SIGNATURE]
        symbols.append(
            Symbol(definition.name, qualified[:MAX_NAME], kind, scope[:MAX_NAME], start + 1, definition.end_row + 1,
                   definition.name_row + 1, signature)
        )  # fmt: skip
    return symbols


def _join_clauses(symbols: list[Symbol], lines: list[str]) -> list[Symbol]:
    """Join definitions of one name that follow each other: the clauses of one function, or its signature and body."""
    joined: list[Symbol] = []
    for symbol in symbols:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.qualified == symbol.qualified
            and last.kind == symbol.kind
            and symbol.start_line > last.end_line
            and not any(line.strip() for line in lines[last.end_line : symbol.start_line - 1])
        ):
            joined[-1] = replace(last, end_line=symbol.end_line)
        else:
            joined.append(symbol)
    return joined


def _references(query: TagsQuery, root: Node, defined: set[int]) -> list[Reference]:
    found: set[tuple[int, str, str]] = set()
    for capture, nodes in reference_captures(query, root).items():
        if not capture.startswith("reference."):
            continue
        kind = capture[len("reference.") :]
        for node in _unique(nodes):
            if node.start_byte not in defined and node.end_byte - node.start_byte <= MAX_NAME:
                found.add((node.start_point.row + 1, _text(node), kind))
    return [Reference(name, kind, line) for line, name, kind in sorted(found)]


def _unique(nodes: Iterable[Node]) -> Iterable[Node]:
    seen: set[int] = set()
    for node in nodes:
        if node.start_byte not in seen:
            seen.add(node.start_byte)
            yield node
