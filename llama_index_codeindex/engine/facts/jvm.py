"""`pom.xml` and Gradle's version catalogs. Parents and build scripts are not evaluated."""

from __future__ import annotations

import re

from llama_index_codeindex.engine.facts.documents import (
    Malformed,
    TomlDocument,
    XmlElement,
    open_toml,
    open_xml,
    string,
    table,
)
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope

_PROPERTY = re.compile(r"\$\{([^${}]+)\}")
# Properties may name properties; a hostile file would let them grow without end.
_MAX_ROUNDS = 10
_MAX_VALUE = 1_000

_SCOPES: dict[str, Scope] = {"test": "dev", "provided": "peer", "import": "build"}
_JAVA_PROPERTIES = (
    "maven.compiler.release",
    "maven.compiler.source",
    "maven.compiler.target",
    "java.version",
    "jdk.version",
    "kotlin.version",
)


def pom_xml(text: str, draft: Draft) -> None:
    """Read a `pom.xml`: `resolved` is the version with the properties and the management of the same file put in."""
    root = open_xml(text)
    if root.tag != "project":
        raise Malformed("not a Maven project")
    properties = _properties(root)
    managed: dict[str, str] = {}
    for project in (root, *root.all("profiles", "profile")):
        for entry in project.all("dependencyManagement", "dependencies", "dependency"):
            name = _name(entry, properties)
            managed.setdefault(name, _filled(entry.value("version"), properties))
            _add(draft, entry, name, managed[name], direct=False)
    for project in (root, *root.all("profiles", "profile")):
        for entry in project.all("dependencies", "dependency"):
            name = _name(entry, properties)
            _add(draft, entry, name, _filled(entry.value("version"), properties) or managed.get(name, ""))
        for entry in project.all("build", "plugins", "plugin"):
            name = _name(entry, properties, "org.apache.maven.plugins")
            version = _filled(entry.value("version"), properties)
            draft.add(name, entry.value("version"), _line(entry), "build", resolved=version)
    if parent := root.all("parent"):
        draft.note(f"parent {_name(parent[0], {})} is not resolved")
    _runtimes(root, properties, draft)


def _properties(root: XmlElement) -> dict[str, str]:
    found = {entry.tag: entry.text.strip() for group in root.all("properties") for entry in group.children}
    for key in ("groupId", "artifactId", "version"):
        inherited = root.value("parent", key)
        found[f"project.{key}"] = found[f"pom.{key}"] = root.value(key) or inherited
        found[f"project.parent.{key}"] = inherited
    return found


def _filled(value: str, properties: dict[str, str]) -> str:
    """Return a value with its properties put in, or nothing when one is not known here."""
    for _ in range(_MAX_ROUNDS):
        if "${" not in value or len(value) > _MAX_VALUE:
            break
        value = _PROPERTY.sub(lambda match: properties.get(match[1], "") or "${?", value)
    return "" if "${" in value or len(value) > _MAX_VALUE else value


def _name(entry: XmlElement, properties: dict[str, str], group: str = "") -> str:
    parts = (entry.value("groupId") or group, entry.value("artifactId"))
    return ":".join(_filled(part, properties) or part for part in parts).strip(":")


def _add(draft: Draft, entry: XmlElement, name: str, resolved: str, *, direct: bool = True) -> None:
    scope: Scope = "optional" if entry.value("optional") == "true" else _SCOPES.get(entry.value("scope"), "runtime")
    # A range stands for no one version.
    resolved = "" if resolved.startswith(("[", "(")) else resolved
    draft.add(name, entry.value("version"), _line(entry), scope, resolved=resolved, direct=direct)


def _line(entry: XmlElement) -> int:
    """Return the line of the artifact's name."""
    return next((named.line for named in entry.all("artifactId")), entry.line)


def _runtimes(root: XmlElement, properties: dict[str, str], draft: Draft) -> None:
    for group in root.all("properties"):
        for entry in group.children:
            if entry.tag in _JAVA_PROPERTIES:
                name = "kotlin" if entry.tag == "kotlin.version" else "java"
                draft.runtime(name, _filled(entry.text.strip(), properties), entry.line)


def version_catalog(text: str, draft: Draft) -> None:
    """Read a version catalog, such as `gradle/libs.versions.toml`."""
    document = open_toml(text)
    versions = table(document.data.get("versions"))
    for alias, wanted in table(document.data.get("libraries")).items():
        line = document.line("libraries", alias)
        name, version = _coordinates(wanted)
        _catalogued(draft, name, version or _catalog_version(document, ("libraries", alias), wanted, versions), line)
    for alias, wanted in table(document.data.get("plugins")).items():
        line = document.line("plugins", alias)
        if isinstance(wanted, str):
            name, _, version = wanted.partition(":")
        else:
            name = string(table(wanted).get("id"))
            version = _catalog_version(document, ("plugins", alias), wanted, versions)
        _catalogued(draft, name, version, line, "build")


def _coordinates(wanted: object) -> tuple[str, str]:
    """Return the name of a library, and the version if it is written with it."""
    if isinstance(wanted, str):
        group, _, rest = wanted.partition(":")
        name, _, version = rest.partition(":")
        return f"{group}:{name}", version
    entry = table(wanted)
    return string(entry.get("module")) or f"{string(entry.get('group'))}:{string(entry.get('name'))}".strip(":"), ""


def _catalog_version(document: TomlDocument, way: tuple[str, ...], wanted: object, versions: dict[str, object]) -> str:
    value = table(wanted).get("version")
    reference = string(table(value).get("ref"))
    if reference and reference not in versions:
        raise Malformed(f"line {document.line(*way)} refers to a version that is not there")
    value = versions[reference] if reference else value
    if isinstance(value, str):
        return value
    return next((string(table(value).get(key)) for key in ("strictly", "require", "prefer") if key in table(value)), "")


def _catalogued(draft: Draft, name: str, version: str, line: int, scope: Scope = "runtime") -> None:
    is_range = version.startswith(("[", "(", "]")) or version.endswith("+") or "latest" in version
    draft.add(name, version, line, scope, resolved="" if is_range else version)
