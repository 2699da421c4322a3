"""`yarn.lock`, old and new, and `pnpm-lock.yaml`."""

from __future__ import annotations

import re

from llama_index_codeindex.engine.facts.documents import Malformed, YamlNode, open_yaml
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope
from llama_index_codeindex.engine.facts.npm import SECTIONS, real_name, split_spec

_HEAD = re.compile(r"\S.*:\s*$")
_VERSION = re.compile(r'  version:? "?([^"\s]+)"?\s*$')
_OLD_KEY = re.compile(r"/((?:@[^/]+/)?[^/@]+)/([^_(]+)")
_KEY = re.compile(r"/?((?:@[^/@]+/)?[^/@(]+)@([^(]+)")
_BODY = re.compile(r"  (?:  )?\S.*$")


def yarn_lock(text: str, draft: Draft) -> None:
    """Read a `yarn.lock`. Which packages the project itself asked for, it does not tell."""
    draft.tells_direct = False
    if re.search(r"^__metadata:", text, re.MULTILINE):
        _berry(text, draft)
    else:
        _classic(text, draft)


def _classic(text: str, draft: Draft) -> None:
    """Read version 1, a format of its own: heads of ranges, indented facts."""
    head, start, is_locked = "", 0, True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if _HEAD.match(line) and line[0] not in "<>=":
            if not is_locked:
                break
            head, start, is_locked = line.rstrip().rstrip(":"), number, False
        elif not head or not _BODY.match(line):
            raise Malformed(f"line {number} is not of a lock file")
        elif (found := _VERSION.match(line)) and not is_locked:
            is_locked = True
            _add_yarn([spec.strip().strip('"') for spec in head.split(",")], found[1], start, draft)
    if not is_locked:
        raise Malformed(f"line {start} has no version")


def _berry(text: str, draft: Draft) -> None:
    """Read version 2 and later, which are YAML."""
    for key, entry in (pair for document in open_yaml(text) for pair in document.items()):
        if key.text == "__metadata" or entry.text_at("linkType") == "soft":
            continue  # soft links are the workspaces themselves
        version = entry.text_at("version")
        if not version:
            raise Malformed(f"line {key.line} has no version")
        if "@patch:" not in key.text:  # the unpatched package has an entry of its own
            _add_yarn([spec.strip() for spec in key.text.split(", ")], version, key.line, draft)


def _add_yarn(specs: list[str], version: str, line: int, draft: Draft) -> None:
    name, first = split_spec(specs[0])
    ranges = [split_spec(spec)[1].removeprefix("npm:") for spec in specs]
    draft.add(real_name(name, first), ", ".join(ranges), line, resolved=version, direct=False, locked=True)


def pnpm_lock(text: str, draft: Draft) -> None:
    """Read a `pnpm-lock.yaml` of versions 5 to 9."""
    documents = open_yaml(text)
    if not any(document.get("lockfileVersion") for document in documents):
        raise Malformed("it states no version of its format")
    for document in documents:
        direct = _importers(document, draft)
        _packages(document, draft, direct)


def _importers(document: YamlNode, draft: Draft) -> set[tuple[str, str]]:
    """Add what the projects ask for, and return it."""
    found: set[tuple[str, str]] = set()
    projects = [project for _, project in document.entries("importers")] or [document]
    for project in projects:
        specifiers = {key.text: value.text for key, value in project.entries("specifiers")}
        for section, scope in SECTIONS.items():
            for key, value in project.entries(section):
                version = value.text or value.text_at("version")
                if version.startswith(("link:", "file:", "workspace:")):
                    continue
                name, resolved = _resolved(key.text, version)
                declared = value.text_at("specifier") or specifiers.get(key.text, "")
                if (name, resolved) not in found:
                    found.add((name, resolved))
                    draft.add(name, declared, key.line, scope, resolved=resolved, locked=True)
    return found


def _resolved(name: str, version: str) -> tuple[str, str]:
    """Return name and version of what a project uses: an alias is written `/real/1.0.0` or `real@1.0.0`."""
    if re.match(r"/|@?[A-Za-z][^:]*@", version):
        return _package(version)
    return name, _without_peers(version)


def _packages(document: YamlNode, draft: Draft, direct: set[tuple[str, str]]) -> None:
    seen = set(direct)
    for key, entry in document.entries("packages"):
        name, version = _package(key.text)
        name, version = entry.text_at("name") or name, entry.text_at("version") or version
        if (name, version) not in seen:
            seen.add((name, version))
            draft.lock(name, version, key.line, _pnpm_scope(entry))


def _pnpm_scope(entry: YamlNode) -> Scope:
    if entry.text_at("dev") == "true":
        return "dev"
    return "optional" if entry.text_at("optional") == "true" else "runtime"


def _package(key: str) -> tuple[str, str]:
    """Return name and version of a key: `/name/1.0.0_peers`, `/name@1.0.0(peers)` or `name@1.0.0`."""
    match = _OLD_KEY.match(key) or _KEY.match(key)
    return (match[1], match[2]) if match else (key, "")


def _without_peers(version: str) -> str:
    """Return a version without the peers that version 5 appends with an underscore, and later ones in brackets."""
    return re.split(r"[(_]", version, maxsplit=1)[0]
