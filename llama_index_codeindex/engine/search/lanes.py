"""The lanes: each finds candidates in its own way, inside the filters, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_codeindex.engine.search.filters import Scope
from llama_index_codeindex.engine.search.path_words import match_paths, question_words
from llama_index_codeindex.engine.search.query import Query, name_parts
from llama_index_codeindex.engine.store.catalog import Catalog, SymbolRow, symbol_key
from llama_index_codeindex.engine.store.contents import path_key
from llama_index_codeindex.engine.store.lexical import Lexical
from llama_index_codeindex.engine.store.store import View

# Full-text candidates: with 200 the ranking orders as well as over everything (0.875; 100: 0.874, 50: 0.869).
LEXICAL_LIMIT = 200
EXACT_LIMIT = 50
# Terms of this many letters also match the start of longer words, if they are rare themselves.
PREFIX_LENGTH = 3
_PREFIX_RARE = 3
# A longer name that only starts with what was asked for comes behind any place that holds it whole.
_PREFIX_STRENGTH = 0.1
# A field or constant of the same name as a class or function is seldom what is meant.
_VALUE_KINDS = frozenset("field property constant variable prototype key".split())
_VALUE_STRENGTH = 0.6
# Definitions of one name that are looked at when filters may leave few of them.
_MANY = 20_000
_PREFIX_TERMS = 6
_PREFIX_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition that a name in the question means, and how well: 1 for the exact name, less for weaker forms."""

    row: SymbolRow
    strength: float
    name: str


def expand_terms(lexical: Lexical, terms: Sequence[str]) -> list[tuple[str, float]]:
    """Return the question's terms with their weights; rare ones bring the longer words they start."""
    weighted = dict.fromkeys(terms, 1.0)
    for term in terms:
        if len(term) >= PREFIX_LENGTH and lexical.document_frequency(term) < _PREFIX_RARE:
            for longer, _ in lexical.expand(term, _PREFIX_TERMS):
                weighted.setdefault(longer, _PREFIX_WEIGHT)
    return list(weighted.items())


def lexical_lane(
    lexical: Lexical,
    catalog: Catalog,
    weighted: Sequence[tuple[str, float]],
    scope: Scope,
    limit: int = LEXICAL_LIMIT,
) -> list[int]:
    """Return the chunks that hold the question's terms, by BM25."""
    kinds_of = catalog.kinds_of_chunks
    found = lexical.search(weighted, limit, scope.file_ids, scope.rows, scope.kinds, kinds_of)
    return [row for row, _ in found]


def find_definitions(catalog: Catalog, query: Query, scope: Scope) -> list[Definition]:
    """Return the definitions that the question's names mean, best first."""
    found: dict[tuple[int, str], Definition] = {}
    for name in query.names:
        for definition in _definitions_of(catalog, name, scope, prefixes=query.shape == "symbol"):
            key = (definition.row.file_id, definition.row.symbol.qualified + str(definition.row.symbol.start_line))
            known = found.get(key)
            if known is None or definition.strength > known.strength:
                found[key] = definition
    return sorted(found.values(), key=_definition_order)[: EXACT_LIMIT * 2]


def _definition_order(definition: Definition) -> tuple[float, float, str, int]:
    row = definition.row
    return (-definition.strength, -row.prior, row.path, row.symbol.start_line)


def _definitions_of(catalog: Catalog, name: str, scope: Scope, *, prefixes: bool) -> list[Definition]:
    parts = name_parts(name)
    if not parts:
        return []
    bare = parts[-1].rstrip("!?=")
    wanted = symbol_key(name.strip("@~&*$#:"))
    found = []
    names = [parts[-1], bare] if bare != parts[-1] else [bare]
    is_open = scope == Scope()
    for row in catalog.symbols_named(names) if is_open else catalog.symbols_named(names, _MANY):
        if not scope.admits(row.file_id, row.chunk_row, row.symbol.kind):
            continue
        strength = 1.0 if row.symbol.name == parts[-1] else 0.7  # the exact case first
        if row.symbol.kind in _VALUE_KINDS:
            strength *= _VALUE_STRENGTH
        if len(parts) > 1:
            qualified = symbol_key(row.symbol.qualified)
            if qualified != wanted and not qualified.endswith("." + wanted):
                strength *= 0.3  # the name without its scope is still worth showing
        found.append(Definition(row, strength, name))
    if prefixes and len(bare) >= PREFIX_LENGTH and not found:
        longer = catalog.symbols_with_prefix(bare) if is_open else catalog.symbols_with_prefix(bare, _MANY)
        admitted = (row for row in longer if scope.admits(row.file_id, row.chunk_row, row.symbol.kind))
        found = [Definition(row, _PREFIX_STRENGTH, name) for row in admitted]
    return found


def path_lane(view: View, query: Query, spelled: str, scope: Scope, limit: int = EXACT_LIMIT) -> list[int]:
    """Return the ids of files whose path the question spells, fully or from some folder on; else those that hold its words."""
    wanted = path_key(spelled.strip("`\"' ").replace("\\", "/")).strip("/")
    wanted = wanted.removeprefix("./")
    qualities = {
        file_id: quality
        for file_id, key in view.path_table.holding(wanted)
        if (scope.file_ids is None or file_id in scope.file_ids) and (quality := _path_match(key, wanted))
    }
    ranked: list[tuple[float, int, str, int]] = [
        (-qualities[file.id], len(file.path), file.path, file.id) for file in view.file_facts(qualities).values()
    ]
    if not ranked and not query.paths:
        every = [row for row in view.catalog.paths() if scope.file_ids is None or row[0] in scope.file_ids]
        matches = match_paths(question_words(query), [path for _, path in every])
        ranked = [(-sum(matches[path]), len(path), path, file_id) for file_id, path in every if matches[path][0] > 0]
    return [file_id for _, _, _, file_id in sorted(ranked)[:limit]]


def _path_match(path: str, wanted: str) -> int:
    """Return how well a path answers a spelled one: 5 for the whole, then its end, its name, its folder, a part."""
    if path == wanted:
        return 5
    if path.endswith("/" + wanted):
        return 4
    name = path.rsplit("/", 1)[-1]
    if name.split(".", 1)[0] == wanted or path.rsplit(".", 1)[0].endswith("/" + wanted):
        return 3
    if path.startswith(wanted + "/") or f"/{wanted}/" in path:
        return 2
    return 1 if len(wanted) >= PREFIX_LENGTH and wanted in path else 0
