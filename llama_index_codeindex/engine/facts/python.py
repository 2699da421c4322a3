"""Python's manifests: `pyproject.toml`, `setup.cfg` and `Pipfile`."""

from __future__ import annotations

import configparser
import re

from packaging.requirements import InvalidRequirement, Requirement

from llama_index_codeindex.engine.facts.documents import Malformed, TomlDocument, array, open_toml, string, table
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope

_NAME = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*")
_EXACT = re.compile(r"={2,3}\s*([^\s,*;]+)")


def add_requirement(
    draft: Draft, text: str, line: int, scope: Scope, *, direct: bool = True, locked: bool = False
) -> None:
    """Add a requirement of the form that `packaging` reads.

    Raises:
        Malformed: It is none.
    """
    try:
        name = Requirement(text).name
    except (InvalidRequirement, RecursionError):
        raise Malformed(f"line {line} is not a requirement") from None
    match = _NAME.match(text)
    version = _declared(text[match.end() if match else 0 :])
    exact = _EXACT.fullmatch(version)
    resolved = exact[1] if exact else ""
    draft.add(name, version, line, scope, resolved=resolved, direct=direct, locked=locked)


def _declared(rest: str) -> str:
    """Return what follows name and extras, without the marker."""
    if rest.startswith("@"):
        return re.split(r"\s;", rest[1:], maxsplit=1)[0].strip()
    version = rest.split(";", 1)[0].strip()
    return version[1:-1].strip() if version.startswith("(") and version.endswith(")") else version


def pyproject(text: str, draft: Draft) -> None:
    """Read a `pyproject.toml`: PEP 621, PEP 735, Poetry, and what uv and PDM keep in tables of their own."""
    document = open_toml(text)
    project = table(document.data.get("project"))
    _strings(document, draft, ("project", "dependencies"), "runtime")
    for extra in table(project.get("optional-dependencies")):
        _strings(document, draft, ("project", "optional-dependencies", extra), "optional")
    for group in table(document.data.get("dependency-groups")):
        _strings(document, draft, ("dependency-groups", group), "dev")
    _strings(document, draft, ("build-system", "requires"), "build")
    _strings(document, draft, ("tool", "uv", "dev-dependencies"), "dev")
    tool = table(document.data.get("tool"))
    for group in table(table(tool.get("pdm")).get("dev-dependencies")):
        _strings(document, draft, ("tool", "pdm", "dev-dependencies", group), "dev")
    _poetry(document, draft, table(tool.get("poetry")))
    for name in ("dependencies", "optional-dependencies"):
        # Poetry fills what it calls dynamic from its own table.
        if name in array(project.get("dynamic")) and "dependencies" not in table(tool.get("poetry")):
            draft.note(f"{name} are dynamic: not evaluated")
    draft.runtime("python", string(project.get("requires-python")), document.line("project", "requires-python"))


def _strings(document: TomlDocument, draft: Draft, way: tuple[str, ...], scope: Scope) -> None:
    """Add the requirements of a list; a table in it includes another list of the same file."""
    value: object = document.data
    for name in way:
        value = table(value).get(name)
    if value is not None and not isinstance(value, list):
        raise Malformed(f"line {document.line(*way)} is not a list of requirements")
    for entry in array(value):
        if isinstance(entry, str):
            # PDM lists local projects as `-e file:///…`, which are no dependencies.
            if not entry.startswith("-e "):
                add_requirement(draft, entry, document.line_of(entry, *way), scope)
        elif not isinstance(entry, dict):
            raise Malformed(f"line {document.line(*way)} is not a list of requirements")


def _poetry(document: TomlDocument, draft: Draft, poetry: dict[str, object]) -> None:
    top = ("tool", "poetry")
    _poetry_table(document, draft, (*top, "dependencies"), poetry.get("dependencies"), "runtime")
    _poetry_table(document, draft, (*top, "dev-dependencies"), poetry.get("dev-dependencies"), "dev")
    for group, content in table(poetry.get("group")).items():
        way = (*top, "group", group, "dependencies")
        _poetry_table(document, draft, way, table(content).get("dependencies"), "dev" if group != "main" else "runtime")


def _poetry_table(document: TomlDocument, draft: Draft, way: tuple[str, ...], value: object, scope: Scope) -> None:
    for name, wanted in table(value).items():
        line = document.line(*way, name)
        if name.lower() == "python":
            draft.runtime("python", _constraint(wanted), line)
            continue
        # Several constraints of one package, by Python version or platform.
        choices = array(wanted) or [wanted]
        optional = any(table(choice).get("optional") is True for choice in choices)
        version = " || ".join(text for text in map(_constraint, choices) if text)
        draft.add(name, version, line, "optional" if optional else scope)


def _constraint(wanted: object) -> str:
    if isinstance(wanted, str):
        return wanted
    return next(
        (string(table(wanted).get(key)) for key in ("version", "git", "url", "path") if key in table(wanted)), ""
    )


def pipfile(text: str, draft: Draft) -> None:
    """Read a `Pipfile`."""
    document = open_toml(text)
    sections: dict[str, Scope] = {"packages": "runtime", "dev-packages": "dev"}
    for section, scope in sections.items():
        for name, wanted in table(document.data.get(section)).items():
            draft.add(name, _constraint(wanted), document.line(section, name), scope)
    for key in ("python_version", "python_full_version"):
        draft.runtime("python", string(table(document.data.get("requires")).get(key)), document.line("requires", key))


def setup_cfg(text: str, draft: Draft) -> None:
    """Read a `setup.cfg`; what its `file:` entries name is read as a manifest of its own, if it is one."""
    config = configparser.RawConfigParser(strict=False)
    try:
        config.read_string(text)
    except (configparser.Error, ValueError, AttributeError) as error:
        # AttributeError: a continuation line after a key without a value, up to Python 3.12.
        line = getattr(error, "lineno", None)
        raise Malformed(f"not an INI file: line {line}" if line else "not an INI file") from None
    lines = text.splitlines()
    options: dict[str, Scope] = {"install_requires": "runtime", "setup_requires": "build", "tests_require": "dev"}
    for key, scope in options.items():
        _option(config, lines, draft, ("options", key), scope)
    if config.has_section("options.extras_require"):
        for extra in config.options("options.extras_require"):
            _option(config, lines, draft, ("options.extras_require", extra), "optional")
    python = config.get("options", "python_requires", fallback="") or ""
    draft.runtime("python", python, _line(lines, "options", "python_requires", 0))


def _option(
    config: configparser.RawConfigParser, lines: list[str], draft: Draft, place: tuple[str, str], scope: Scope
) -> None:
    value = config.get(*place, fallback="") or ""
    line = _line(lines, place[0], place[1], 0)
    if value.lstrip().startswith("file:"):
        draft.note(f"{place[1]} names another file: not evaluated")
        return
    for entry in value.splitlines():
        wanted = re.split(r"\s#", entry, maxsplit=1)[0].strip()
        if wanted and not wanted.startswith("#"):
            line = _line(lines, place[0], wanted, line - 1)
            add_requirement(draft, wanted, line, scope)


def _line(lines: list[str], section: str, start: str, after: int) -> int:
    """Return the line of a section that begins with a text, at the earliest the one after a number of lines."""
    if not after:
        after = next((number for number, line in enumerate(lines, 1) if line.strip() == f"[{section}]"), 0)
    found = (number for number in range(after, len(lines)) if _starts(lines[number], start))
    return next(found, max(after - 1, 0)) + 1


def _starts(line: str, start: str) -> bool:
    plain = line.strip()
    return plain.lower().startswith(start.lower()) or ("=" in plain and plain.split("=", 1)[1].strip() == start)
