"""The symbols of a file that a map shows: the most used ones, public before private, nothing local."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llama_index_codeindex.engine.context.fence import visible
from llama_index_codeindex.engine.graph.evidence import FUNCTIONS, TYPES
from llama_index_codeindex.engine.store.relations import Definition

# What a name counts for by its kind, where nothing says that it is used.
_KIND_WEIGHTS = {"method": 0.5, "constant": 0.4, "variable": 0.3, "property": 0.2, "field": 0.1, "key": 0.05}
# Rank that a definition has of itself, as a share of its file's: enough to order what nobody uses.
_BASE = 0.02
_PRIVATE = 0.05
# A signature is for orientation; the rest of a longer one is one `read_lines` away.
_SIGNATURE_CHARS = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A symbol with what orders it inside its file."""

    definition: Definition
    score: float


def entries_of(
    definitions: Iterable[Definition], language: str, flows: Mapping[str, float], rank: float, wanted: frozenset[str]
) -> list[Entry]:
    """Return the symbols of one file that a map may show, the most important first.

    Args:
        definitions: Those of the file, outer ones first.
        language: The file's language.
        flows: How much rank flows into each name.
        rank: The file's own rank.
        wanted: Qualified names that the question is about.
    """
    open_functions: list[int] = []  # last lines of the functions around
    entries: dict[str, Entry] = {}
    for definition in definitions:
        while open_functions and definition.start_line > open_functions[-1]:
            open_functions.pop()
        is_local = bool(open_functions)
        if definition.kind in FUNCTIONS:
            open_functions.append(definition.end_line)
        if is_local or _is_dunder(definition.name):
            continue
        score = flows.get(definition.name, 0.0) + _BASE * rank * _KIND_WEIGHTS.get(definition.kind, 1.0)
        if is_private(definition, language):
            score *= _PRIVATE
        if definition.qualified in wanted:
            score += rank
        known = entries.get(definition.qualified)
        if known is None:  # of overloads and accessors, the first stands for all
            entries[definition.qualified] = Entry(definition, score)
    return sorted(entries.values(), key=lambda e: (-e.score, e.definition.start_line, e.definition.qualified))


def is_private(definition: Definition, language: str) -> bool:
    """Say whether a definition is not meant for other files, as its language writes it."""
    if language == "go":
        return definition.name[:1].islower()
    if any(part.startswith(("_", "#")) for part in definition.qualified.replace("::", ".").split(".")):
        return True
    return "private" in definition.signature.split(definition.name, 1)[0].split()


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def describe(definition: Definition, above: frozenset[str]) -> str:
    """Return the line of a map for a symbol: its line number and signature, and what it is in unless that is shown above."""
    signature = visible(definition.signature).strip().rstrip("{:").rstrip() or visible(definition.name)
    if len(signature) > _SIGNATURE_CHARS:
        signature = signature[: _SIGNATURE_CHARS - 3].rstrip() + "..."
    if not definition.scope or definition.kind in TYPES:
        return f"  {definition.name_line} {signature}"
    if definition.scope in above:
        return f"  {definition.name_line}   {signature}"
    return f"  {definition.name_line} {visible(definition.scope)}: {signature}"
