"""Tools that find: places by question, definitions and uses by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.context.fence import inert
from llama_index_codeindex.engine.errors import Action, EmptyQuery, InvalidArgument, SymbolNotFound, action
from llama_index_codeindex.engine.graph.model import Use
from llama_index_codeindex.engine.graph.questions import uses_of
from llama_index_codeindex.engine.model import SearchResult
from llama_index_codeindex.engine.search.filters import Filters
from llama_index_codeindex.engine.search.query import name_parts, understand
from llama_index_codeindex.engine.search.texts import DiskTexts
from llama_index_codeindex.engine.store.catalog import Catalog, SymbolRow, symbol_key
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.tools.answers import DATA_NOTE, Answer, fitted, place, quote, step
from llama_index_codeindex.engine.tools.arguments import MAX_READ_LINES, FindReferences, FindSymbol, SearchCode

# Five hits in the default form cost at most this; more hits get the same share each.
MAX_TOKENS = 600
_TOKENS_PER_HIT = MAX_TOKENS // 5
# Lines of a hit: as many as fit, down to its first or none.
_HEIGHTS = (8, 6, 5, 4, 3, 2, 1, 0)
# Lines read around the best hit, so that a chunk cut inside a function is understood.
_MARGIN = 10
_PAGE = 10
# Lines of a definition that are shown with it.
_DEFINITION_HEIGHTS = (20, 14, 10, 6, 3, 1, 0)
# Lines of one file in a page of references.
_LINES_SHOWN = 8
_USE_CHARS = 100
# What is called by the name of its class.
_UNNAMED = frozenset(("__init__", "__new__", "constructor", "initialize"))


def search_code(codebase: Codebase, arguments: SearchCode) -> Answer:
    """Return the best places for a question."""
    filters: dict[str, object] = {"under": list(arguments.under), "language": list(arguments.language)}
    result = codebase.search(
        arguments.query, arguments.top_k, arguments.mode, {key: value for key, value in filters.items() if value}
    )
    wanted = understand(arguments.query).terms

    def made(height: int) -> Answer:
        answer = Answer(note=DATA_NOTE, hits=[place(hit, wanted, height) for hit in result.hits])
        return _with_facts(answer, result, _after_search(arguments, result))

    return fitted(made, _HEIGHTS, max(_TOKENS_PER_HIT * arguments.top_k, _TOKENS_PER_HIT * 2))


def _with_facts(answer: Answer, result: SearchResult, following: Action | None) -> Answer:
    if not result.hits:
        answer.pop("note")
        answer["empty_reason"] = result.empty_reason
        if result.filtered_preview:
            answer["filtered_preview"] = [place(hit, (), 0) for hit in result.filtered_preview]
    answer["generation"] = result.watermark.generation
    if result.degraded:
        answer["degraded_reasons"] = list(result.degraded_reasons)
    if following:
        answer["next_step"] = following
    return answer


def _after_search(arguments: SearchCode, result: SearchResult) -> Action | None:
    fresh = [hit for hit in result.hits if not hit.stale]
    if fresh:
        best = fresh[0]
        start = max(1, best.start_line - _MARGIN)
        end = min(best.end_line + _MARGIN, start + MAX_READ_LINES - 1)
        return step("read_lines", path=inert(best.file_path), start_line=start, end_line=end)
    if result.hits or result.empty_reason == "empty_index":
        return step("refresh_index")
    if arguments.under or arguments.language or arguments.mode != "all":
        return step("search_code", query=arguments.query)
    return None


def find_symbol(codebase: Codebase, arguments: FindSymbol) -> Answer:
    """Return the one definition of a name, or the candidates when there are several."""
    with codebase.store.read() as view:
        rows = _definitions(view.catalog, arguments.name, arguments.under, arguments.language)
        if not rows:
            raise _not_found(view.catalog, arguments.name, filtered=bool(arguments.under or arguments.language))
        ids = _ids(view.catalog, rows)
        if len(rows) == 1:
            return _definition(codebase, view, rows[0], ids[0])
        pages = -(-len(rows) // _PAGE)
        shown = _page(list(zip(rows, ids, strict=True)), arguments.page, pages)
        answer = Answer(
            candidates=[_candidate(row, identity) for row, identity in shown], total=len(rows), page=arguments.page,
            pages=pages, generation=view.generation,
        )  # fmt: skip
        answer["next_step"] = step("find_symbol", name=shown[0][1])
        return answer


def _definition(codebase: Codebase, view: View, row: SymbolRow, identity: str) -> Answer:
    texts = DiskTexts(codebase.gate)
    chunks = view.catalog.chunk_rows([row.chunk_row])
    located = texts.locate(chunks[0]) if chunks else None
    uses = sum(len(lines) for _, _, lines, _ in view.catalog.references_named(row.symbol.name))
    if located is None or located.stale:
        answer = Answer(definition={**_candidate(row, identity), "stale": True}, total=1, generation=view.generation)
        answer["next_step"] = step("refresh_index")
        return answer
    moved = located.start_line - chunks[0].start_line
    start, end = row.symbol.start_line + moved, row.symbol.end_line + moved
    lines = (texts.lines(row.path) or [])[start - 1 : end]

    def made(height: int) -> Answer:
        facts = {**_candidate(row, identity), "start_line": start, "end_line": end}
        if height and lines:
            facts["text"] = quote([line[: 2 * _USE_CHARS] for line in lines[:height]])
        answer = Answer(note=DATA_NOTE, definition=facts, total=1, references=uses, generation=view.generation)
        if height < len(lines):
            last = min(end, start + MAX_READ_LINES - 1)
            answer["next_step"] = step("read_lines", path=inert(row.path), start_line=start, end_line=last)
        elif uses:
            answer["next_step"] = step("find_references", name=inert(row.symbol.name))
        return answer

    return fitted(made, _DEFINITION_HEIGHTS, MAX_TOKENS)


def find_references(codebase: Codebase, arguments: FindReferences) -> Answer:
    """Return a page of the files that use a name, with the lines."""
    with codebase.store.read() as view:
        rows = _definitions(view.catalog, arguments.name, (), ())
        name = rows[0].symbol.name if rows else (name_parts(_checked(arguments.name)) or [arguments.name])[-1]
        admitted = _admitted(view.catalog, arguments.under, ())
        texts = DiskTexts(codebase.gate)
        keys = [(row.file_id, row.symbol.qualified) for row in rows]
        uses = [use for use in uses_of(view, texts.lines, name, keys) if admitted is None or use.file_path in admitted]
        found = _by_file(uses)
        if not found and not rows:
            raise _not_found(view.catalog, arguments.name, filtered=bool(arguments.under))
        pages = max(1, -(-len(found) // _PAGE))
        shown = _page(found, arguments.page, pages)
        answer = Answer(
            note=DATA_NOTE, name=inert(name), references=[_use(texts, name, entry) for entry in shown],
            total=len(uses), page=arguments.page, pages=pages,
            generation=view.generation,
        )  # fmt: skip
        if len(rows) > 1:
            answer["definitions"] = len(rows)  # where only the name matches, any of these may be meant
        if arguments.page < pages:
            more: dict[str, Any] = {"name": arguments.name, "page": arguments.page + 1}
            if arguments.under:
                more["under"] = list(arguments.under)
            answer["next_step"] = step("find_references", **more)
        elif found:
            line = found[0][0].line
            around = {"start_line": max(1, line - _MARGIN), "end_line": line + _MARGIN}
            answer["next_step"] = step("read_lines", path=inert(found[0][0].file_path), **around)
        return answer


def _by_file(uses: Iterable[Use]) -> list[list[Use]]:
    """Return uses in groups of one file, kind and confidence, in the order of the first of each."""
    groups: dict[tuple[str, str, str], list[Use]] = {}
    for use in uses:
        groups.setdefault((use.file_path, use.kind, use.confidence), []).append(use)
    return list(groups.values())


def _use(texts: DiskTexts, name: str, uses: Sequence[Use]) -> dict[str, Any]:
    """Return the uses in one file with the first one's text; `stale` when the name is not there any more."""
    first, lines = uses[0], [use.line for use in uses]
    entry: dict[str, Any] = {
        "file_path": inert(first.file_path), "kind": first.kind, "confidence": first.confidence,
        "lines": lines[:_LINES_SHOWN],
    }  # fmt: skip
    if first.symbol:
        entry["in"] = inert(first.symbol)
    if len(lines) > _LINES_SHOWN:
        entry["more_lines"] = len(lines) - _LINES_SHOWN
    now = texts.lines(first.file_path) or []
    text = now[lines[0] - 1] if lines[0] <= len(now) else ""
    if name not in text and name not in _UNNAMED:
        entry["stale"] = True
    else:
        entry["text"] = quote([text.strip()])[:_USE_CHARS]
    return entry


def _definitions(catalog: Catalog, name: str, under: Sequence[str], languages: Sequence[str]) -> list[SymbolRow]:
    """Return the definitions that a name or id means: exact case before folded case, source before tests."""
    wanted = _checked(name)
    admitted = _admitted(catalog, under, languages)
    by_id = [row for row in _by_id(catalog, wanted) if admitted is None or row.path in admitted]
    if by_id:
        return by_id
    parts = name_parts(wanted.rstrip("()"))
    if not parts:
        return []
    rows = [row for row in catalog.symbols_named([parts[-1]]) if admitted is None or row.path in admitted]
    if len(parts) > 1:
        key = symbol_key(wanted.rstrip("()"))
        rows = [row for row in rows if ("." + symbol_key(row.symbol.qualified)).endswith("." + key)]
    exact = [row for row in rows if row.symbol.name == parts[-1]]
    return sorted(
        exact or rows, key=lambda row: (row.category != "source", -row.prior, row.path, row.symbol.start_line)
    )


def _checked(name: str) -> str:
    if not name.strip():
        raise EmptyQuery("The name is empty.")
    return name.strip().strip("`\"'")


def _by_id(catalog: Catalog, identity: str) -> list[SymbolRow]:
    """Return the definition that has this id, if it is one."""
    if "#" not in identity:
        return []
    for file_id, path in catalog.paths():
        if identity.startswith(inert(path) + "#"):
            rows = catalog.symbols_of_file(file_id)
            return [row for row, known in zip(rows, _number_ids(rows), strict=True) if known == identity]
    return []


def _ids(catalog: Catalog, rows: Sequence[SymbolRow]) -> list[str]:
    """Return an id per definition: path and qualified name, numbered where a file has several of that name.

    It holds no line and no hash, so that it stays the same while the code around it, or in it, changes.
    """
    known: dict[tuple[int, str, int], str] = {}
    for file_id in {row.file_id for row in rows}:
        in_file = catalog.symbols_of_file(file_id)
        known |= {_key(row): identity for row, identity in zip(in_file, _number_ids(in_file), strict=True)}
    return [known[_key(row)] for row in rows]


def _key(row: SymbolRow) -> tuple[int, str, int]:
    return (row.file_id, row.symbol.qualified + "\0" + row.symbol.kind, row.symbol.name_line)


def _number_ids(rows: Sequence[SymbolRow]) -> list[str]:
    seen: Counter[str] = Counter()
    ids = []
    for row in rows:
        base = f"{inert(row.path)}#{inert(row.symbol.qualified)}"
        seen[base] += 1
        ids.append(base if seen[base] == 1 else f"{base}~{seen[base]}")
    return ids


def _candidate(row: SymbolRow, identity: str) -> dict[str, Any]:
    symbol = row.symbol
    return {
        "id": identity, "file_path": inert(row.path), "start_line": symbol.start_line, "end_line": symbol.end_line,
        "symbol": inert(symbol.qualified), "kind": symbol.kind,
    }  # fmt: skip


def _admitted(catalog: Catalog, under: Sequence[str], languages: Sequence[str]) -> frozenset[str] | None:
    """Return the paths that the filters admit, or None for all."""
    wanted = Filters(under=tuple(under), languages=tuple(languages)).scope(catalog).file_ids
    if wanted is None:
        return None
    return frozenset(path for file_id, path in catalog.paths() if file_id in wanted)


def _page(items: Sequence[Any], page: int, pages: int) -> list[Any]:
    if page > pages:
        raise InvalidArgument(f"There are {pages} pages.", suggestion="Use page=1.")
    return list(items[(page - 1) * _PAGE : page * _PAGE])


def _not_found(catalog: Catalog, name: str, *, filtered: bool) -> SymbolNotFound:
    bare = (name_parts(name) or [name])[-1]
    similar = list(dict.fromkeys(inert(row.symbol.name) for row in catalog.symbols_with_prefix(bare[:4], 5)))
    hint = f" Similar names: {', '.join(similar)}." if len(bare) > 3 and similar else ""
    where = " under these filters" if filtered else " in the index"
    return SymbolNotFound(
        f"No definition or use of {inert(name)!r} is{where}.{hint}", next_action=action("search_code", query=name)
    )
