"""The tool that answers what a code base depends on."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.context.fence import inert
from llama_index_codeindex.engine.errors import InvalidArgument, action
from llama_index_codeindex.engine.facts.model import Fact, Facts, Manifest, Runtime, name_key
from llama_index_codeindex.engine.tools.answers import DATA_NOTE, Answer, step
from llama_index_codeindex.engine.tools.arguments import Arguments

_PAGE = 15
_RUNTIMES_SHOWN = 10
_CANDIDATES = 5
# Manifests of unknown content that an answer about packages names; the overview lists them all.
_UNKNOWN_SHOWN = 3
_MARGIN = 5


class DependencyFacts(Arguments):
    """Arguments of `dependency_facts`."""

    package: str = Field(default="", description="Only this package, by its full name.")
    ecosystem: str = Field(default="", description="Only this ecosystem, for example npm, pypi, go, cargo, maven.")
    page: int = Field(default=1, ge=1, description="Which page.")


def dependency_facts(codebase: Codebase, arguments: DependencyFacts) -> Answer:
    """Return totals and the status of every manifest, or the packages of an ecosystem, or where a package is named."""
    facts = codebase.facts()
    ecosystem = arguments.ecosystem.strip().lower()
    if ecosystem and ecosystem not in facts.ecosystems():
        known = ", ".join(facts.ecosystems()) or "none"
        raise InvalidArgument(
            f"No manifest of the ecosystem {inert(ecosystem)!r} is in the index.",
            suggestion=f"Ecosystems with manifests: {known}.",
            next_action=action("dependency_facts"),
        )
    chosen = facts.of(ecosystem) if ecosystem else facts
    if arguments.package.strip():
        answer = _package(chosen, arguments)
    elif ecosystem:
        answer = _page_of_facts(chosen, chosen.facts, arguments)
    else:
        answer = _overview(chosen, arguments)
    answer["generation"] = codebase.generation
    return answer


def _overview(facts: Facts, arguments: DependencyFacts) -> Answer:
    # What is not known comes first: it limits what the totals say.
    manifests = sorted(facts.manifests, key=lambda manifest: (manifest.status == "parsed", _depth(manifest.file_path)))
    shown, pages = _paged(manifests, arguments.page)
    runtimes = sorted(facts.runtimes, key=lambda runtime: _depth(runtime.file_path))
    answer = Answer(
        note=DATA_NOTE, totals=facts.totals(), runtimes=[_runtime(runtime) for runtime in runtimes[:_RUNTIMES_SHOWN]],
        manifests=[_manifest(manifest) for manifest in shown],
        manifest_counts=dict(sorted(Counter(manifest.status for manifest in manifests).items())), total=len(manifests),
        page=arguments.page, pages=pages,
    )  # fmt: skip
    if len(runtimes) > _RUNTIMES_SHOWN:
        answer["more_runtimes"] = len(runtimes) - _RUNTIMES_SHOWN
    if arguments.page < pages:
        answer["next_step"] = step("dependency_facts", page=arguments.page + 1)
    elif facts.facts:
        largest = Counter(fact.ecosystem for fact in facts.facts).most_common(1)[0][0]
        answer["next_step"] = step("dependency_facts", ecosystem=largest)
    return answer


def _package(facts: Facts, arguments: DependencyFacts) -> Answer:
    wanted = arguments.package.strip()
    found = [fact for fact in facts.facts if _is_named(fact, wanted)]
    answer = _page_of_facts(facts, found, arguments)
    if not found and (candidates := _similar(facts, wanted)):
        answer["candidates"] = candidates
        answer["next_step"] = step("dependency_facts", package=candidates[0])
    return answer


def _is_named(fact: Fact, wanted: str) -> bool:
    key = name_key(fact.ecosystem, fact.name)
    if fact.ecosystem == "maven" and ":" not in wanted:
        return key.rpartition(":")[2] == wanted  # artifacts are spoken of without their group
    return key == name_key(fact.ecosystem, wanted)


def _similar(facts: Facts, wanted: str) -> list[str]:
    names = {inert(fact.name): None for fact in sorted(facts.facts, key=_rank)}
    low = wanted.lower()
    holding = [name for name in names if low in name.lower() or (len(name) > 3 and name.lower() in low)]
    folded = {name.lower(): name for name in names}
    close = [folded[name] for name in difflib.get_close_matches(low[:100], folded, _CANDIDATES, 0.7)]
    return list(dict.fromkeys([*close, *holding]))[:_CANDIDATES]


def _page_of_facts(facts: Facts, found: Sequence[Fact], arguments: DependencyFacts) -> Answer:
    ordered = sorted(found, key=_rank)
    shown, pages = _paged(ordered, arguments.page)
    answer = Answer(
        note=DATA_NOTE, facts=[_fact(fact) for fact in shown], total=len(ordered), page=arguments.page, pages=pages
    )
    if arguments.ecosystem:
        answer["totals"] = facts.totals()
    unknown = [manifest for manifest in facts.manifests if manifest.status != "parsed"]
    if unknown:  # a package that is not found may be in one of them
        answer["unknown_manifests"] = len(unknown)
        answer["unknown"] = [_manifest(manifest) for manifest in unknown[:_UNKNOWN_SHOWN]]
    if arguments.page < pages:
        given = {"package": arguments.package, "ecosystem": arguments.ecosystem}
        more = {key: value for key, value in given.items() if value}
        answer["next_step"] = step("dependency_facts", **more, page=arguments.page + 1)
    elif shown:
        first = shown[0]
        around = {"start_line": max(1, first.line - _MARGIN), "end_line": first.line + _MARGIN}
        answer["next_step"] = step("read_lines", path=inert(first.file_path), **around)
    return answer


def _rank(fact: Fact) -> tuple[object, ...]:
    """Order facts: what the project itself declares, at its top, comes first."""
    return (not fact.direct, fact.locked, *_depth(fact.file_path), fact.line, fact.name)


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _fact(fact: Fact) -> dict[str, Any]:
    """Return a fact without what is empty or usual."""
    shown: dict[str, Any] = {"ecosystem": fact.ecosystem, "name": inert(fact.name)}
    texts = {"version": fact.version, "resolved": fact.resolved if fact.resolved != fact.version else ""}
    shown |= {key: inert(text) for key, text in texts.items() if text}
    shown |= {"scope": fact.scope, "direct": fact.direct}
    if fact.locked:
        shown["locked"] = True
    return {**shown, "file_path": inert(fact.file_path), "line": fact.line}


def _runtime(runtime: Runtime) -> dict[str, Any]:
    return {
        "name": inert(runtime.name), "version": inert(runtime.version), "file_path": inert(runtime.file_path),
        "line": runtime.line,
    }  # fmt: skip


def _manifest(manifest: Manifest) -> dict[str, Any]:
    shown: dict[str, Any] = {"file_path": inert(manifest.file_path), "status": manifest.status}
    if manifest.reason:
        shown["reason"] = inert(manifest.reason)
    if manifest.status == "parsed":
        shown["facts"] = manifest.facts
    return shown


def _paged(items: Sequence[Any], page: int) -> tuple[list[Any], int]:
    pages = max(1, -(-len(items) // _PAGE))
    if page > pages:
        raise InvalidArgument(
            f"There are {pages} pages.", suggestion="Use page=1.", next_action=action("dependency_facts")
        )
    return list(items[(page - 1) * _PAGE : page * _PAGE]), pages
