"""What the tests of this room share."""

from __future__ import annotations

from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.inventory import parse
from llama_index_codeindex.engine.facts.registry import kind_of

Row = tuple[str, str, str, str, int]


def read(path: str, text: str) -> tuple[Draft, str, str]:
    """Return what one manifest says, its status and the reason."""
    kind = kind_of(path)
    assert kind is not None
    return parse(path, kind, text)


def rows(path: str, text: str) -> list[Row]:
    """Return name, version, resolved version, scope and line of each fact of a manifest that must be understood."""
    draft, status, reason = read(path, text)
    assert status == "parsed", reason
    return [(fact.name, fact.version, fact.resolved, fact.scope, fact.line) for fact in draft.facts]


def runtimes(path: str, text: str) -> list[tuple[str, str, int]]:
    """Return name, version and line of each runtime of a manifest that must be understood."""
    draft, status, reason = read(path, text)
    assert status == "parsed", reason
    return [(runtime.name, runtime.version, runtime.line) for runtime in draft.runtimes]


def reason_of(path: str, text: str) -> str:
    """Return why a manifest is unparsed; it then has no facts."""
    draft, status, reason = read(path, text)
    assert status == "unparsed"
    assert not draft.facts
    return reason
