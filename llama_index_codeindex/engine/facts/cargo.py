"""`Cargo.toml` and `Cargo.lock`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_index_codeindex.engine.facts.documents import Malformed, TomlDocument, array, open_toml, string, table
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope

_SECTIONS: dict[str, Scope] = {
    "dependencies": "runtime",
    "dev-dependencies": "dev",
    "dev_dependencies": "dev",
    "build-dependencies": "build",
    "build_dependencies": "build",
}


def cargo_toml(text: str, draft: Draft) -> None:
    """Read a `Cargo.toml`: a package, a workspace, or both."""
    document = open_toml(text)
    if not {"package", "workspace", "project"} & document.data.keys():
        raise Malformed("neither a package nor a workspace")
    for way, section, scope in _sections(document.data):
        for name, wanted in section.items():
            _dependency(document, draft, (*way, name), wanted, scope)
    for way in (("package",), ("workspace", "package")):
        value: Any = document.data
        for name in way:
            value = table(value).get(name)
        draft.runtime("rust", string(table(value).get("rust-version")), document.line(*way, "rust-version"))


def _sections(data: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Scope]]:
    for name, scope in _SECTIONS.items():
        yield (name,), table(data.get(name)), scope
        for target, content in table(data.get("target")).items():
            yield ("target", target, name), table(table(content).get(name)), scope
    yield ("workspace", "dependencies"), table(table(data.get("workspace")).get("dependencies")), "runtime"


def _dependency(document: TomlDocument, draft: Draft, way: tuple[str, ...], wanted: object, scope: Scope) -> None:
    """Add a dependency under the name that its registry knows it by."""
    line = document.line(*way)
    if isinstance(wanted, str):
        draft.add(way[-1], wanted, line, scope)
    elif isinstance(wanted, dict):
        optional = wanted.get("optional") is True and scope == "runtime"
        name = string(wanted.get("package")) or way[-1]
        draft.add(name, _version(wanted), line, "optional" if optional else scope)
    else:
        raise Malformed(f"line {line} is no dependency")


def _version(wanted: dict[str, Any]) -> str:
    if wanted.get("workspace") is True:
        return "workspace"
    for key in ("version", "git", "path"):
        if string(wanted.get(key)):
            return string(wanted[key]) if key == "version" else f"{key}:{wanted[key]}"
    return ""


def cargo_lock(text: str, draft: Draft) -> None:
    """Read a `Cargo.lock`: packages without a source are the project's own, and tell what it asks for."""
    document = open_toml(text)
    packages = array(document.data.get("package"))
    if not all(string(table(package).get("name")) and string(table(package).get("version")) for package in packages):
        raise Malformed("a package has no name or version")
    asked: set[str] = set()
    for package in packages:
        if "source" not in package:
            asked.update(string(entry) for entry in array(package.get("dependencies")))
    for number, package in enumerate(packages):
        if "source" in package:
            # An entry names the version only where there are several.
            direct = package["name"] in asked or any(
                entry.startswith(f"{package['name']} {package['version']}") for entry in asked
            )
            line = document.line("package", number, "name")
            draft.lock(package["name"], package["version"], line, direct=direct)
