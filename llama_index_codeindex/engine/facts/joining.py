"""Manifests and lock files brought together: what was declared gets its version, what was locked its reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Fact, name_key

# By ecosystem and folder.
_Place = tuple[str, str]


def join(drafts: Sequence[Draft]) -> list[Fact]:
    """Return the facts of all manifests, each with what another file tells of it.

    The lock file of a declaration is the one in its folder, or else in the nearest folder above.
    """
    locks = _by_place(fact for draft in drafts for fact in draft.facts if fact.locked)
    central = _by_place(
        fact
        for draft in drafts
        for fact in draft.facts
        if fact.ecosystem == "nuget" and not fact.direct and fact.resolved
    )
    asked: dict[tuple[_Place, str], list[Fact]] = defaultdict(list)
    found: list[Fact] = []
    for draft in drafts:
        for fact in draft.facts:
            if fact.locked or not fact.direct:
                continue
            place = _nearest(locks, fact)
            if place:
                asked[place, name_key(fact.ecosystem, fact.name)].append(fact)
    for draft in drafts:
        for fact in draft.facts:
            if fact.locked:
                found.append(fact if draft.tells_direct else _with_reason(fact, asked))
            elif fact.resolved and fact.ecosystem != "npm":
                found.append(fact)
            else:
                found.append(_with_version(_with_version(fact, locks), central))
    return found


def _by_place(facts: Iterable[Fact]) -> dict[_Place, dict[str, list[Fact]]]:
    found: dict[_Place, dict[str, list[Fact]]] = {}
    for fact in facts:
        here = found.setdefault((fact.ecosystem, _folder(fact)), {})
        here.setdefault(name_key(fact.ecosystem, fact.name), []).append(fact)
    return found


def _folder(fact: Fact) -> str:
    return str(PurePosixPath(fact.file_path).parent)


def _nearest(places: dict[_Place, dict[str, list[Fact]]], fact: Fact) -> _Place | None:
    folder = PurePosixPath(fact.file_path).parent
    for candidate in (folder, *folder.parents):
        if (fact.ecosystem, str(candidate)) in places:
            return fact.ecosystem, str(candidate)
    return None


def _with_version(fact: Fact, places: dict[_Place, dict[str, list[Fact]]]) -> Fact:
    """Return a declaration with the one version it resolves to; with several that may be meant, without."""
    place = _nearest(places, fact)
    if fact.resolved or place is None or not fact.direct:
        return fact
    candidates = places[place].get(name_key(fact.ecosystem, fact.name), [])
    exact = [other for other in candidates if _is_range_of(fact, other)]
    # A package that the project asks for comes before another version of it that a dependency brought.
    direct = [other for other in candidates if other.direct]
    for choice in (exact, direct, candidates):
        versions = {other.resolved for other in choice}
        if len(versions) == 1:
            return replace(fact, resolved=versions.pop())
    return fact


def _is_range_of(fact: Fact, lock: Fact) -> bool:
    """Say whether a lock's entry names the declared range, as entries of a `yarn.lock` do."""
    return bool(fact.version) and fact.version in (lock.version, *lock.version.split(", "))


def _with_reason(lock: Fact, asked: dict[tuple[_Place, str], list[Fact]]) -> Fact:
    """Return a locked package, direct if a manifest that the lock file serves asks for it."""
    place = (lock.ecosystem, _folder(lock))
    wanted = asked.get((place, name_key(lock.ecosystem, lock.name)), [])
    if lock.version and lock.ecosystem == "npm":
        wanted = [fact for fact in wanted if _is_range_of(fact, lock)]
    if not wanted:
        return lock
    first = wanted[0]
    return replace(lock, direct=True, version=lock.version or first.version, scope=first.scope)
