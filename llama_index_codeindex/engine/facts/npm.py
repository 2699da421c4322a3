"""`package.json`, `package-lock.json` in its three versions, and npm's own files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from llama_index_codeindex.engine.facts.documents import (
    JsonDocument,
    Malformed,
    array,
    open_json,
    open_yaml,
    string,
    table,
)
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope

SECTIONS: dict[str, Scope] = {
    "dependencies": "runtime",
    "devDependencies": "dev",
    "optionalDependencies": "optional",
    "peerDependencies": "peer",
}


def package_json(text: str, draft: Draft) -> None:
    """Read a `package.json`."""
    document = open_json(text)
    for section, scope in SECTIONS.items():
        declared = document.data.get(section, {})
        if not isinstance(declared, dict):
            if declared:  # old files write an empty list
                raise Malformed(f"{section} is not an object")
            continue
        for name, version in declared.items():
            if not isinstance(version, str):
                raise Malformed(f"{section} has a version that is not a text")
            draft.add(real_name(name, version), version, document.line(section, name), scope)
    _runtimes(document, draft)


def real_name(name: str, version: str) -> str:
    """Return the package behind an alias such as `npm:other@^1`."""
    if not version.startswith("npm:"):
        return name
    target = version[4:]
    if "@" in target[1:]:
        return split_spec(target)[0]
    # `npm:^1.0.0`, as Yarn writes a plain range.
    return target if re.match(r"@[^/]+/|[A-Za-z_]", target) else name


def split_spec(spec: str) -> tuple[str, str]:
    """Return name and range of `name@range`, where the name may begin with an @."""
    at = spec.find("@", 1)
    return (spec[:at], spec[at + 1 :]) if at > 0 else (spec, "")


def _runtimes(document: JsonDocument, draft: Draft) -> None:
    for section in ("engines", "volta"):
        for name, version in table(document.data.get(section)).items():
            if name != "extends":
                draft.runtime(name, string(version), document.line(section, name))
    manager = string(document.data.get("packageManager"))
    if "@" in manager:
        name, version = split_spec(manager)
        draft.runtime(name, version.split("+")[0], document.line("packageManager"))
    wanted = table(document.data.get("devEngines"))
    for section in ("runtime", "packageManager"):
        value = wanted.get(section)
        for entry in array(value) or [value]:
            name, version = string(table(entry).get("name")), string(table(entry).get("version"))
            draft.runtime(name, version, document.line("devEngines", section))


def package_lock(text: str, draft: Draft) -> None:
    """Read a `package-lock.json` or `npm-shrinkwrap.json`."""
    document = open_json(text)
    if isinstance(document.data.get("packages"), dict):
        _lock_of_places(document, draft)
    elif isinstance(document.data.get("dependencies", {}), dict) and "lockfileVersion" in document.data:
        _lock_of_trees(document, draft)
    else:
        raise Malformed("no lock file of a known version")


def _lock_of_places(document: JsonDocument, draft: Draft) -> None:
    """Read versions 2 and 3: one entry per place in the tree of folders."""
    places = table(document.data["packages"])
    asked = dict(_asked(places))
    seen: set[tuple[str, str]] = set()
    # The top of the tree comes first: it tells what the project itself asked for.
    for place in sorted(places, key=lambda place: place.count("node_modules/")):
        entry = table(places[place])
        folder, found, alias = place.rpartition("node_modules/")
        version = string(entry.get("version"))
        if not found or entry.get("link") or not version:
            continue
        name = string(entry.get("name")) or alias
        wanted = asked.get((folder.rstrip("/"), alias)) or (asked.get(("", alias)) if not folder else None)
        if (name, version) not in seen:
            seen.add((name, version))
            line = document.line("packages", place)
            declared, scope = wanted or ("", _lock_scope(entry))
            draft.add(name, declared, line, scope, resolved=version, direct=wanted is not None, locked=True)


def _asked(places: dict[str, Any]) -> Iterator[tuple[tuple[str, str], tuple[str, Scope]]]:
    """Yield what the project and its workspaces ask for: by folder and name; a workspace's may lie at the top."""
    for place in sorted(places, reverse=True):
        if "node_modules/" in place:
            continue
        for section, scope in reversed(SECTIONS.items()):
            for name, version in table(table(places[place]).get(section)).items():
                yield (place, name), (string(version), scope)
                if place and f"{place}/node_modules/{name}" not in places:
                    yield ("", name), (string(version), scope)


def _lock_scope(entry: dict[str, Any]) -> Scope:
    if entry.get("dev") or entry.get("devOptional"):
        return "dev"
    if entry.get("optional"):
        return "optional"
    return "peer" if entry.get("peer") else "runtime"


def _lock_of_trees(document: JsonDocument, draft: Draft) -> None:
    """Read version 1: trees of dependencies, which do not tell what the project itself asked for."""
    draft.tells_direct = False
    seen: set[tuple[str, str]] = set()
    waiting: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), document.data)]
    while waiting:
        way, entry = waiting.pop(0)
        for name, below in table(entry.get("dependencies")).items():
            here = (*way, "dependencies", name)
            waiting.append((here, table(below)))
            version = string(table(below).get("version"))
            real, plain = real_name(name, version), version
            if real != name or version.startswith("npm:"):
                plain = split_spec(version[4:])[1] or version
            if version and (real, plain) not in seen:
                seen.add((real, plain))
                draft.lock(real, plain, document.line(*here), _lock_scope(table(below)))


def pnpm_workspace(text: str, draft: Draft) -> None:
    """Read the catalogs of a `pnpm-workspace.yaml`."""
    for document in open_yaml(text):
        groups = [document.entries("catalog")]
        groups += [list(group.items()) for _, group in document.entries("catalogs")]
        for name, version in (entry for group in groups for entry in group):
            draft.add(real_name(name.text, version.text), version.text, name.line)
