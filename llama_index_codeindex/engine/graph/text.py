"""What the text around a use says: before which dot the name stands, and from where the file imports it.

The index keeps lines, not columns, and of an import the name alone. The text is read where an answer needs it; where it
cannot be read, or changed since, the evidence is missing and the answer is less sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
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
# What follows a name that is called, and one that is bound here or a text: a target, a keyword, a key.
_CALLED = re.compile(r"\s*(?:[(<!`]|\?\.\()")
_BOUND = re.compile(r"\s*(?::(?!:)|=(?![=>]))|[\"'`]")
_IMPORTED = re.compile(r"([\w$]+)(?:\s+as\s+([\w$]+))?")


class Surroundings:
    """The text around uses, file by file.

    Args:
        read: Returns the lines of a file, or None when it cannot be read.
    """

    def __init__(self, read: ReadLines) -> None:
        self._read = read
        self._modules: dict[str, dict[str, set[tuple[str, bool]]]] = {}

    def receiver(self, path: str, line: int, name: str, kind: str = "") -> str | None:
        """Return what stands before the dot: `self`, `super`, another name, `?` for an expression, or nothing at all.

        Of several places on the line, the first that can be a use of this kind counts. None means that the line does not
        hold the name any more.
        """
        lines = self._read(path)
        if lines is None or line > len(lines):
            return None
        text = lines[line - 1]
        places = [match.span() for match in _whole(name).finditer(text)]
        if not places:
            return None
        start = places[0][0] if len(places) == 1 else _likeliest(text, places, kind)
        before = text[:start]
        if line > 1 and (before.strip() in _DOTS or (not before.strip() and _is_open(path, lines[line - 2]))):
            before = lines[line - 2].rstrip() + before.strip()  # a chain that goes on over lines
        found = _BEFORE.search(before)
        if found is None:
            return ""
        word, trail = found[1] or "", found[2] or ""
        if word == "super" or (word == "parent" and before.rstrip().endswith("::")):
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


@lru_cache(maxsize=256)
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _is_open(path: str, line: str) -> bool:
    """Say whether a chain goes on in the next line: Go alone ends lines with the dot, others only comments."""
    return path.endswith(".go") and line.rstrip().endswith(".") and "//" not in line


def _likeliest(text: str, places: Sequence[tuple[int, int]], kind: str) -> int:
    """Return where the use is: `url = parse(url=self.url)` reads the last one, and a call is what a bracket follows."""
    for start, end in places:
        if _CALLED.match(text, end) if kind == "call" else not _BOUND.match(text, end):
            return start
    return places[0][0]


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
