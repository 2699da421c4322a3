"""What the text around a use says: before which dot the name stands, and from where the file imports it.

The index keeps lines, not columns, and of an import the name alone. The text is read where an answer needs it; where it
cannot be read, or changed since, the evidence is missing and the answer is less sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

ReadLines = Callable[[str], Sequence[str] | None]

OWN = "self"
PARENT = "super"
_OWN_WORDS = frozenset(("self", "this", "cls", "Self"))

_DOTS = frozenset((".", "?.", "!.", "->", "::"))

_BEFORE = re.compile(r"([\w$]+)?(\([^()]*\)|\[[^\[\]]*\])?[!?]?\s*(?:\.|->|::)\s*$")
_PYTHON_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|(?:[^\n\\]|\\\n)*)", re.MULTILINE
)
_SCRIPT_IMPORT = re.compile(
    r"\b(?:import|export)\s+(?:type\s+)?([\w$*\s,{}]{1,2000}?)\s*from\s*[\"']([^\"'\n]+)[\"']"
    r"|\b(?:const|let|var)\s+([\w$\s,{}:]{1,2000}?)\s*=\s*require\(\s*[\"']([^\"'\n]+)[\"']\s*\)"
)
_IMPORTED = re.compile(r"([\w$]+)(?:\s+as\s+([\w$]+))?")


class Surroundings:
    """The text around uses, file by file.

    Args:
        read: Returns the lines of a file, or None when it cannot be read.
    """

    def __init__(self, read: ReadLines) -> None:
        self._read = read
        self._modules: dict[str, dict[str, set[tuple[str, bool]]]] = {}

    def receiver(self, path: str, line: int, name: str) -> str | None:
        """Return what stands before the dot: `self`, `super`, another name, `?` for an expression, or nothing at all.

        None means that the line does not hold the name any more.
        """
        lines = self._read(path)
        if lines is None or line > len(lines):
            return None
        text = lines[line - 1]
        match = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
        if match is None:
            return None
        before = text[: match.start()]
        if before.strip() in _DOTS and line > 1:  # a chain that goes on over lines
            before = lines[line - 2].rstrip() + before.strip()
        found = _BEFORE.search(before)
        if found is None:
            return ""
        word, trail = found[1] or "", found[2] or ""
        if word in ("super", "parent"):
            return PARENT
        if trail or not word or before[: found.start()].rstrip().endswith((".", "->", "::")):
            return "?"
        return OWN if word in _OWN_WORDS else word

    def modules_of(self, path: str, family: str, name: str, *, renamed: bool = False) -> frozenset[str]:
        """Return the modules that a file imports a name from, as they are written; none where the text does not say.

        Args:
            path: The file.
            family: The group of its language.
            name: The name.
            renamed: With those it is imported from under another name.
        """
        if family not in ("python", "web"):
            return frozenset()
        if path not in self._modules:
            text = "".join(self._read(path) or ())
            known: dict[str, set[tuple[str, bool]]] = {}
            for found, alias, module in _python_modules(text) if family == "python" else _script_modules(text):
                known.setdefault(found, set()).add((module, bool(alias)))
            self._modules[path] = known
        return frozenset(module for module, alias in self._modules[path].get(name, ()) if renamed or not alias)


def _python_modules(text: str) -> Iterator[tuple[str, str, str]]:
    for match in _PYTHON_IMPORT.finditer(text):
        for name, alias in _IMPORTED.findall(match[2]):
            yield name, alias, match[1]


def _script_modules(text: str) -> Iterator[tuple[str, str, str]]:
    for match in _SCRIPT_IMPORT.finditer(text):
        for name, alias in _IMPORTED.findall(match[1] or match[3] or ""):
            yield name, alias, match[2] or match[4]


def is_foreign(module: str, home: str) -> bool:
    """Say whether a module, as an import writes it, cannot be the file at a path, or a package that passes it on."""
    if module.startswith((".", "~", "@/", "#")):
        return False
    first = re.split(r"[./]", module.lstrip("@"))[0]
    pure = PurePosixPath(home)
    return first not in pure.parts[:-1] and first != pure.name.split(".", 1)[0]
