"""MSBuild's projects, central package versions and `packages.config`. Conditions are not evaluated."""

from __future__ import annotations

import re

from llama_index_codeindex.engine.facts.documents import (
    Malformed,
    XmlElement,
    open_json,
    open_xml,
    string,
    table,
)
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope

_PROPERTY = re.compile(r"\$\(([\w.-]+)\)")
_PACKAGES = frozenset(("PackageReference", "PackageVersion", "GlobalPackageReference", "DotNetCliToolReference"))
_FRAMEWORKS = frozenset(("TargetFramework", "TargetFrameworks", "TargetFrameworkVersion"))


def msbuild(text: str, draft: Draft) -> None:
    """Read a project such as `*.csproj`, or a `Directory.Packages.props`."""
    root = open_xml(text)
    if root.tag != "Project":
        raise Malformed("not an MSBuild project")
    properties = {entry.tag: entry.text.strip() for group in root.all("PropertyGroup") for entry in group.children}
    for element in root.walk():
        if element.tag in _PACKAGES:
            _package(element, properties, draft)
        elif element.tag in _FRAMEWORKS:
            for framework in element.text.split(";"):
                if "$(" not in framework:
                    draft.runtime("dotnet", framework, element.line)


def _package(element: XmlElement, properties: dict[str, str], draft: Draft) -> None:
    name = element.attributes.get("Include") or element.attributes.get("Update") or ""
    if not name:
        return  # `Remove`
    version = next((text for key in ("VersionOverride", "Version") if (text := _part(element, key))), "")
    filled = _PROPERTY.sub(lambda match: properties.get(match[1]) or match[0], version)
    is_exact = bool(filled) and not re.search(r"[*,$]", filled)
    draft.add(
        name, version, element.line, _scope(element), resolved=filled.strip("[]") if is_exact else "",
        direct=element.tag != "PackageVersion",
    )  # fmt: skip


def _part(element: XmlElement, key: str) -> str:
    return element.attributes.get(key, "").strip() or element.value(key)


def _scope(element: XmlElement) -> Scope:
    if element.tag == "DotNetCliToolReference":
        return "build"
    return "dev" if _part(element, "PrivateAssets").lower() == "all" else "runtime"


def packages_config(text: str, draft: Draft) -> None:
    """Read a `packages.config`."""
    root = open_xml(text)
    if root.tag != "packages":
        raise Malformed("no list of packages")
    for entry in root.all("package"):
        scope: Scope = "dev" if entry.attributes.get("developmentDependency") == "true" else "runtime"
        version = entry.attributes.get("version", "")
        draft.add(entry.attributes.get("id", ""), version, entry.line, scope, resolved=version)


def global_json(text: str, draft: Draft) -> None:
    """Read a `global.json`."""
    document = open_json(text)
    version = string(table(document.data.get("sdk")).get("version"))
    draft.runtime("dotnet-sdk", version, document.line("sdk", "version"))
    for name, wanted in table(document.data.get("msbuild-sdks")).items():
        draft.add(name, string(wanted), document.line("msbuild-sdks", name), "build", resolved=string(wanted))


def packages_lock(text: str, draft: Draft) -> None:
    """Read a `packages.lock.json`."""
    document = open_json(text)
    if not isinstance(document.data.get("dependencies"), dict):
        raise Malformed("it has no dependencies")
    seen: set[tuple[str, str]] = set()
    for framework, packages in document.data["dependencies"].items():
        for name, entry in table(packages).items():
            resolved, kind = string(table(entry).get("resolved")), string(table(entry).get("type"))
            if kind == "Project" or (name.lower(), resolved) in seen:
                continue
            seen.add((name.lower(), resolved))
            line = document.line("dependencies", framework, name)
            declared = string(table(entry).get("requested"))
            draft.add(name, declared, line, resolved=resolved, direct=kind == "Direct", locked=True)
