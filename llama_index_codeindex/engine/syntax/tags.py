"""Definitions and references of a parsed file, from the captures of its tags query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node, Tree

from llama_index_codeindex.engine.model import Reference, Symbol
from llama_index_codeindex.engine.syntax.languages import Language
from llama_index_codeindex.engine.syntax.parsing import TagsQuery, captures

# Where two patterns name the same thing, the stronger kind holds: `const f = () => {}` is a function.
_WEAK_KINDS = {"constant": 1, "variable": 1, "field": 1, "property": 1, "prototype": 2, "type": 3}
_TYPE_KINDS = frozenset("class struct interface trait enum object type container".split())

MAX_NAME = 200  # what C++ templates and string-named modules can grow to is no name any more
MAX_SIGNATURE = 160
# How much of a name's line is looked at for its signature: four bytes a character, and as much before the name.
_SIGNATURE_BYTES = 4 * MAX_SIGNATURE

_GENERIC_ARGUMENTS = re.compile(r"(?<=[\w\s])<[^<>]*>")
# `operator()`, `operator<<` or `operator bool`, without the parameters of the latter
_OPERATOR = re.compile(r"\boperator(?:\s*\(\s*\)|\b[^(]*)")
_SPACE = re.compile(r"\s+")
_QUOTES = "\"'`:"

_REFERENCE = "reference."
_VALUE = "reference.value"
_OWN = (b"self.", b"this.", b"cls.")
_OWN_ENDS = b"fs"  # their letters before the dot
_DOT = ord(".")

_Use = tuple[int, bytes]  # row and name


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


def extract(
    language: Language, query: TagsQuery, tree: Tree, data: bytes, lines: Sequence[str]
) -> tuple[list[Symbol], list[Reference]]:
    """Return the symbols and references of a tree, in the order of the file.

    Args:
        language: The row of the language.
        query: Its compiled query.
        tree: The parsed tree.
        data: The bytes it was parsed from. Nodes count in them; asking a node for its own text costs far more.
        lines: The same as lines.
    """
    found: dict[int, _Definition] = {}
    matches, others = captures(query, tree.root_node)
    for match in matches:
        definition = _definition(match, data)
        if definition is not None:
            known = found.get(definition.name_byte)
            if known is None or _strength(definition) > _strength(known):
                found[definition.name_byte] = definition
    definitions = sorted(found.values(), key=lambda d: (d.start_byte, -d.end_byte))
    starts = _attach(definitions, others, lines)
    symbols = _nest(language, definitions, starts, data, lines)
    if language.clauses:
        symbols = _join_clauses(symbols, lines)
    defined = {d.name_byte for d in definitions if d.kind != "container"}
    return symbols, _references(others, data, defined, symbols, language.words)


def _definition(match: Mapping[str, list[Node]], data: bytes) -> _Definition | None:
    for key, nodes in match.items():
        if key == "container" or key.startswith("definition."):
            node = nodes[0]
            break
    else:
        return None
    kind = key.rpartition(".")[2]
    if "macro" in match and node.start_point.column:
        return None  # a loop of its own, as in `FOREACH(item) {`
    end = match["body"][-1] if "body" in match else node
    names = match.get("name")
    name_node = names[0] if names else node
    # A name of several nodes reaches from the first to the last, as in `operator +`.
    name = clean_name(_decode(data, name_node.start_byte, names[-1].end_byte)) if names else ""
    if not name and kind != "container":
        return None
    scope = clean_name(_text(match["scope"][0], data)) if "scope" in match else ""
    if "::" in name and not name.startswith("::"):  # an out-of-line member names its own scope
        scope, _, name = name.rpartition("::")
    name_byte, name_row = name_node.start_byte, name_node.start_point.row
    return _Definition(
        node.start_byte, max(end.end_byte, name_byte), node.start_point.row, max(_end_row(end), name_row), kind, name,
        name_byte, name_row, _plain_scope(scope) if scope else "",
    )  # fmt: skip


def _plain_scope(scope: str) -> str:
    """Drop what JavaScript writes around a scope: `Foo.prototype` is `Foo`, `module.exports` is the file."""
    scope = scope.removesuffix(".prototype")
    return "" if scope in ("module.exports", "exports", "module", "this", "self", "window", "globalThis") else scope


def clean_name(text: str) -> str:
    """Return a name on one line, without quotes and generic arguments, at most `MAX_NAME` characters long."""
    if text.isidentifier():  # as most are
        return text[:MAX_NAME]
    if "operator" in text and (operator := _OPERATOR.search(text)) is not None:
        scope = text[: operator.start()].rstrip()
        dots = "::" if scope.endswith("::") else ""
        return _SPACE.sub(" ", clean_name(scope) + dots + operator[0]).strip()[:MAX_NAME]
    if "<" in text:
        while (shorter := _GENERIC_ARGUMENTS.sub("", text)) != text:
            text = shorter
    text = _SPACE.sub(" ", text).strip()
    if text.startswith("(") and text.endswith(")"):  # an operator in OCaml
        text = text[1:-1].strip()
    return text.strip(_QUOTES)[:MAX_NAME]


def _text(node: Node, data: bytes) -> str:
    return _decode(data, node.start_byte, node.end_byte)


def _decode(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def _end_row(node: Node) -> int:
    """Return the last row with content: a node that ends at the start of a row does not hold that row."""
    row, column = node.end_point
    return row if column or row == node.start_point.row else row - 1


def _strength(definition: _Definition) -> tuple[int, bool]:
    return _WEAK_KINDS.get(definition.kind, 4), bool(definition.scope)


def _attach(definitions: Sequence[_Definition], others: Mapping[str, list[Node]], lines: Sequence[str]) -> list[int]:
    """Return each definition's first row, with its wrapper, decorators and attached comments."""
    attached: dict[int, tuple[int, int]] = {}  # last row -> first row and column
    for node in others.get("attached", ()):
        row, column = start = node.start_point
        end, end_column = node.end_point
        if not end_column and end > row:  # it ends at the start of a row, and does not hold it
            end -= 1
        known = attached.get(end)
        if known is None or start < known:
            attached[end] = (row, column)
    wrappers: dict[int, list[tuple[int, int]]] = {}  # end byte -> start bytes and rows
    for node in others.get("wrapper", ()):
        wrappers.setdefault(node.end_byte, []).append((node.start_byte, node.start_point.row))
    starts = []
    for definition in definitions:
        first = definition.start_row
        if wrappers:
            first = min(first, _claim(wrappers, definition))
        while first - 1 in attached and _belongs(attached[first - 1], first, lines):
            first = attached[first - 1][0]
        starts.append(first)
    return starts


def _claim(wrappers: dict[int, list[tuple[int, int]]], definition: _Definition) -> int:
    """Return the first row of the wrapper that ends with a definition, and take it: it wraps nothing that is inside."""
    for offset in (0, 1, 2):  # a semicolon may follow inside the wrapper
        at_end = wrappers.get(definition.end_byte + offset, ())
        around = [wrapper for wrapper in at_end if wrapper[0] <= definition.start_byte]
        if around:
            wrappers[definition.end_byte + offset] = [wrapper for wrapper in at_end if wrapper not in around]
            return min(row for _, row in around)
    return definition.start_row


def _belongs(start: tuple[int, int], row: int, lines: Sequence[str]) -> bool:
    """Say whether what starts there belongs to the row below it.

    It does not behind other code on its line, and not when it is indented deeper: then it ends the block above.
    """
    line, below = lines[start[0]], lines[row]
    indent = len(line) - len(line.lstrip())
    return start[1] <= indent and indent <= len(below) - len(below.lstrip())


def _nest(
    language: Language, definitions: Sequence[_Definition], starts: Sequence[int], data: bytes, lines: Sequence[str]
) -> list[Symbol]:
    symbols: list[Symbol] = []
    enclosing: list[tuple[tuple[int, int], str, str]] = []  # bytes, qualified name, kind
    separator = language.separator
    for definition, start in zip(definitions, starts, strict=True):
        span = (definition.start_byte, definition.end_byte)
        # `var a, b int` is one node with two names, of which neither is inside the other.
        while enclosing and (
            enclosing[-1][0][1] <= span[0] or (enclosing[-1][0] == span and enclosing[-1][2] != "container")
        ):
            enclosing.pop()
        around = enclosing[-1:]
        if around and around[0][2] == "type" and definition.kind in _TYPE_KINDS:
            around = enclosing[-2:-1]  # `typedef struct point {…} point_t` names one thing twice
        outer, outer_kind = (around[0][1], around[0][2]) if around else ("", "")
        scope = outer
        if definition.scope and outer != definition.scope and not outer.endswith(separator + definition.scope):
            scope = f"{outer}{separator}{definition.scope}" if outer else definition.scope
        parts = (scope, definition.name) if scope and definition.name else (scope or definition.name,)
        qualified = separator.join(parts)[-MAX_NAME:]
        enclosing.append((span, qualified, definition.kind))
        if definition.kind == "container":
            continue
        kind = definition.kind
        if kind == "function" and (outer_kind in _TYPE_KINDS or definition.scope):
            kind = "method"
        end = definition.end_row
        while end > definition.name_row and not lines[end].strip():
            end -= 1
        symbols.append(
            Symbol(definition.name, qualified, kind, scope[-MAX_NAME:], start + 1, end + 1, definition.name_row + 1,
                   _signature(definition, data))
        )  # fmt: skip
    return symbols


def _signature(definition: _Definition, data: bytes) -> str:
    """Return the line that holds the name; of a very long line, the definition up to its name.

    A bundle has thousands of definitions on one line, and together their signatures must not outgrow it.
    """
    at = definition.name_byte
    start = data.rfind(b"\n", max(0, at - _SIGNATURE_BYTES), at) + 1
    end = data.find(b"\n", at, at + _SIGNATURE_BYTES)
    if end < 0 and len(data) - at <= _SIGNATURE_BYTES:
        end = len(data)
    if end < 0 or (not start and at > _SIGNATURE_BYTES):
        start = max(start, min(definition.start_byte, at), at - _SIGNATURE_BYTES)
        return _one_line(data[start:at].decode("utf-8", "ignore") + definition.name)
    return _one_line(data[start:end].decode("utf-8", "ignore"))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:MAX_SIGNATURE]


def _join_clauses(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[Symbol]:
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


def _references(
    others: Mapping[str, list[Node]],
    data: bytes,
    defined: set[int],
    symbols: Sequence[Symbol],
    words: frozenset[bytes],
) -> list[Reference]:
    found: dict[_Use, str] = {}
    more: dict[_Use, list[str]] = {}  # further kinds of the same use
    imported: set[bytes] = set()
    # What a generic definition calls its types is seen only inside it.
    parameters = {data[node.start_byte : node.end_byte] for node in others.get("parameter", ())}
    kinds = [capture[len(_REFERENCE) :] for capture in others if capture.startswith(_REFERENCE) and capture != _VALUE]
    for kind in sorted(kinds, key=lambda kind: kind != "inherit"):
        nodes = others[_REFERENCE + kind]
        if kind == "call" and words:
            nodes = [node for node in nodes if not _is_word(node, data, words)]
        uses = [
            (node.start_point.row, data[start : node.end_byte])
            for node in nodes
            if (start := node.start_byte) not in defined
        ]
        if kind == "type" and parameters:
            uses = [use for use in uses if use[1] not in parameters]
        elif kind == "import":
            imported.update([name for _, name in uses])
        if not found:
            found = dict.fromkeys(uses, kind)
            continue
        for use in uses:
            known = found.setdefault(use, kind)
            if known != kind and not (known == "inherit" and kind == "type"):
                more.setdefault(use, [known]).append(kind)
    if _VALUE in others:
        _add_values(found, others, data, defined, symbols, imported)
    names: dict[bytes, str] = {}
    references = []
    for use in sorted(found):
        row, raw = use
        name = names.get(raw)
        if name is None:
            if len(raw) > MAX_NAME:
                continue
            name = names[raw] = raw.decode("utf-8", "replace")
        if use in more:
            references.extend([Reference(name, kind, row + 1) for kind in sorted(set(more[use]))])
        else:
            references.append(Reference(name, found[use], row + 1))
    return references


def _is_word(node: Node, data: bytes, words: frozenset[bytes]) -> bool:
    start = node.start_byte
    return data[start : node.end_byte] in words and data[start - 1 : start] != b"."


def _add_values(
    found: dict[_Use, str],
    others: Mapping[str, list[Node]],
    data: bytes,
    defined: set[int],
    symbols: Sequence[Symbol],
    imported: set[bytes],
) -> None:
    """Add the uses as values that may mean a definition of the repository, on lines that no other use names.

    Most names in an expression are variables. The file alone tells most of them: a bare name means something else only
    if the file imports it or defines it at its top, or, where `local` is captured, does not bind it; a member of the
    object itself is a definition only if the file defines one of that name. Without this the table doubles.
    """
    top = {s.name.encode("utf-8", "replace") for s in symbols if not s.scope or s.kind in ("function", "class")}
    top |= imported
    members = {s.name.encode("utf-8", "replace") for s in symbols if s.scope}
    bound = {data[node.start_byte : node.end_byte] for node in others.get("local", ())}
    # A key of a literal is a field, unless the file defines a constant of that name.
    keys = {node.start_byte for node in others.get("key", ())}
    for node in others[_VALUE]:
        start = node.start_byte
        name = data[start : node.end_byte]
        if data[start - 1] == _DOT and start:
            if data[start - 2] in _OWN_ENDS and name not in members and data[max(0, start - 6) : start].endswith(_OWN):
                continue
        elif name not in top and (not bound or name in bound or start in keys):
            continue
        if start not in defined:
            found.setdefault((node.start_point.row, name), "value")
