"""`composer.json` and `composer.lock`."""

from __future__ import annotations

import re

from llama_index_codeindex.engine.facts.documents import JsonDocument, Malformed, array, open_json, string, table
from llama_index_codeindex.engine.facts.draft import Draft
from llama_index_codeindex.engine.facts.model import Scope

# Names without a vendor are the platform: PHP, its extensions and libraries, Composer itself.
_PLATFORM = re.compile(r"php(?:-\w+)?|hhvm|(?:ext|lib)-.+|composer(?:-\w+)*-api|composer", re.IGNORECASE)


def composer_json(text: str, draft: Draft) -> None:
    """Read a `composer.json`."""
    document = open_json(text)
    sections: dict[str, Scope] = {"require": "runtime", "require-dev": "dev"}
    for section, scope in sections.items():
        declared = document.data.get(section) or {}
        if not isinstance(declared, dict):
            raise Malformed(f"{section} is not an object")
        for name, version in declared.items():
            if _PLATFORM.fullmatch(name):
                draft.runtime(name, string(version), document.line(section, name))
            else:
                draft.add(name, string(version), document.line(section, name), scope)


def composer_lock(text: str, draft: Draft) -> None:
    """Read a `composer.lock`, which does not tell what the project itself asked for."""
    draft.tells_direct = False
    document = open_json(text)
    if not isinstance(document.data.get("packages"), list):
        raise Malformed("it has no packages")
    _packages(document, draft, "packages", "runtime")
    _packages(document, draft, "packages-dev", "dev")
    for section in ("platform", "platform-dev"):
        for name, version in table(document.data.get(section)).items():
            draft.runtime(name, string(version), document.line(section, name))


def _packages(document: JsonDocument, draft: Draft, section: str, scope: Scope) -> None:
    for number, package in enumerate(array(document.data.get(section))):
        line = document.line(section, number, "name")
        draft.lock(string(table(package).get("name")), string(table(package).get("version")), line, scope)
