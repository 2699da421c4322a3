"""`uv.lock`, `poetry.lock` and `Pipfile.lock`."""

from __future__ import annotations

from typing import Any

from llama_index_codeindex.engine.facts.documents import Malformed, array, open_json, open_toml, string, table
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope, name_key

_OWN_SOURCES = ("editable", "virtual", "directory")


def uv_lock(text: str, draft: Draft) -> None:
    """Read a `uv.lock`: the project's own packages tell what it asks for."""
    document = open_toml(text)
    packages = _packages(document.data.get("package"))
    if "version" not in document.data:
        raise Malformed("it states no version of its format")
    own = [package for package in packages if any(key in table(package.get("source")) for key in _OWN_SOURCES)]
    asked: dict[str, Scope] = {}
    for package in own:
        _ask(asked, package.get("dependencies"), "runtime")
        for group in table(package.get("optional-dependencies")).values():
            _ask(asked, group, "optional")
        for group in table(package.get("dev-dependencies")).values():
            _ask(asked, group, "dev")
    for number, package in enumerate(packages):
        if not any(package is mine for mine in own):
            name, line = string(package.get("name")), document.line("package", number, "name")
            scope = asked.get(name)
            draft.lock(name, string(package.get("version")), line, scope or "runtime", direct=scope is not None)
    draft.runtime("python", string(document.data.get("requires-python")), document.line("requires-python"))


def _ask(asked: dict[str, Scope], entries: object, scope: Scope) -> None:
    for entry in array(entries):
        asked.setdefault(string(table(entry).get("name")), scope)


def _packages(value: object) -> list[dict[str, Any]]:
    """Return the tables of `[[package]]`; a lock file without packages has none."""
    packages = array(value)
    if not all(isinstance(package, dict) and string(package.get("name")) for package in packages):
        raise Malformed("a package has no name")
    return packages


def poetry_lock(text: str, draft: Draft) -> None:
    """Read a `poetry.lock`, which does not tell what the project itself asked for."""
    draft.tells_direct = False
    document = open_toml(text)
    if "metadata" not in document.data:
        raise Malformed("it has no metadata")
    for number, package in enumerate(_packages(document.data.get("package"))):
        line = document.line("package", number, "name")
        draft.lock(string(package["name"]), string(package.get("version")), line, _poetry_scope(package))
    python = string(table(document.data["metadata"]).get("python-versions"))
    draft.runtime("python", python, document.line("metadata", "python-versions"))


def _poetry_scope(package: dict[str, Any]) -> Scope:
    groups = array(package.get("groups")) or [package.get("category", "main")]
    if "main" not in groups:
        return "dev"
    return "optional" if package.get("optional") is True else "runtime"


def pipfile_lock(text: str, draft: Draft) -> None:
    """Read a `Pipfile.lock`, which does not tell what the project itself asked for."""
    draft.tells_direct = False
    document = open_json(text)
    if not isinstance(document.data.get("_meta"), dict):
        raise Malformed("it has no metadata")
    seen: set[str] = set()
    sections: dict[str, Scope] = {"default": "runtime", "develop": "dev"}
    for section, scope in sections.items():
        for name, entry in table(document.data.get(section)).items():
            if name_key("pypi", name) not in seen:
                seen.add(name_key("pypi", name))
                version = string(table(entry).get("version"))
                place = next(
                    (string(table(entry).get(key)) for key in ("git", "file", "path") if key in table(entry)), ""
                )
                draft.lock(name, version.removeprefix("==") or place, document.line(section, name), scope)
    python = table(table(document.data["_meta"]).get("requires"))
    for key in ("python_version", "python_full_version"):
        draft.runtime("python", string(python.get(key)), document.line("_meta", "requires", key))
