"""What speaks for a use meaning one definition: languages, visibility, imports, folders and how telling the name is.

There are no types and no data flow here. `x.close()` says nothing about what `x` is, so a name that many libraries have
is never taken for certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from llama_index_codeindex.engine.store.relations import Definition, Node

# Languages that call each other by name.
_FAMILIES = {
    name: family
    for family, names in {
        "web": "javascript typescript tsx jsx vue svelte astro",
        "c": "c cpp objc",
        "jvm": "java kotlin scala groovy",
        "ocaml": "ocaml ocaml_interface",
        "python": "python notebook",
        "beam": "elixir erlang",
    }.items()
    for name in names.split()
}
# One folder is one package there: its files see each other without an import.
_FOLDER_PACKAGES = frozenset("go java kotlin scala groovy swift c cpp objc csharp".split())
# A file of this stem stands for its folder when it is imported.
_FOLDER_STEMS = frozenset("__init__ index mod init lib main".split())
# Folders that every repository has; importing a name like theirs links nothing.
_PLAIN_FOLDERS = frozenset("src lib app pkg internal cmd packages tests test".split())

FUNCTIONS = frozenset(("function", "method", "constructor", "macro"))
TYPES = frozenset("class struct interface trait enum type protocol object module union record mixin extension".split())
_VALUES = frozenset(("constant", "field", "property", "variable", "key"))

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# A name of two words and this many letters is hardly ever met by chance; `get_id` is.
_TELLING_LENGTH = 9
_TELLING_WORD = 14


def family(language: str) -> str:
    """Return the group of languages whose names a language's code can mean."""
    return _FAMILIES.get(language, language)


@lru_cache(maxsize=1 << 16)
def is_telling(name: str) -> bool:
    """Say whether a name is long and composed enough that two of it are hardly ever met by chance."""
    parts = len(_PARTS.findall(name)) if name.isascii() else 2
    return len(name) >= _TELLING_WORD or (parts > 1 and len(name) >= _TELLING_LENGTH)


@lru_cache(maxsize=1 << 16)
def is_plain(name: str) -> bool:
    """Say whether a name is one small word, as any library's methods have: `get`, `info`, `close`."""
    return name.islower() and name.isalpha()


@lru_cache(maxsize=1 << 14)
def module_names(path: str) -> frozenset[str]:
    """Return the names under which a file is imported: its stem, and the folders that hold it."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0]
    names = {part for part in pure.parts[:-1] if part not in _PLAIN_FOLDERS}
    if stem not in _FOLDER_STEMS and pure.suffix != ".go":  # a package is its folder there
        names.add(stem)
    return frozenset(names)


@lru_cache(maxsize=1 << 14)
def folder(path: str) -> str:
    """Return the folder of a file."""
    return path.rpartition("/")[0]


@lru_cache(maxsize=1 << 14)
def last_part(qualified: str) -> str:
    """Return the bare name of a qualified one."""
    return re.split(r"::|[.#/\\]", qualified)[-1]


def is_linked(definition: Definition, home: Node, user: Node, imports: frozenset[str]) -> bool:
    """Say whether a file that uses the name can see the definition: it imports it, its class, its module or package."""
    if definition.file_id == user.id or definition.name in imports:
        return True
    if definition.scope and last_part(definition.scope) in imports:
        return True
    if user.language in _FOLDER_PACKAGES and folder(home.path) == folder(user.path):
        return True
    return not imports.isdisjoint(module_names(home.path))


def is_reachable(home: Node, user: Node) -> bool:
    """Say whether code of one category depends on another: what is shipped does not depend on tests and examples."""
    return user.category != "source" or home.category not in ("test", "example")


def fitting(definitions: Sequence[Definition], kind: str) -> list[Definition]:
    """Return the definitions that a use of this kind can mean: a type is no function, what is called no constant."""
    if kind in ("type", "inherit"):
        return [d for d in definitions if d.kind in TYPES] or [d for d in definitions if d.kind not in FUNCTIONS]
    if kind == "call":
        return [d for d in definitions if d.kind not in _VALUES] or list(definitions)
    return list(definitions)


def merge_twins(definitions: Sequence[Definition], nodes: dict[int, Node]) -> list[Definition]:
    """Return one definition of each: overloads, accessors and conditional ones are one, a header goes with its source."""
    kept: dict[tuple[str, str], Definition] = {}
    for definition in sorted(
        definitions, key=lambda d: (nodes[d.file_id].category == "declaration", _is_header(nodes[d.file_id]))
    ):
        path = nodes[definition.file_id].path
        kept.setdefault((path.partition(".")[0], definition.qualified), definition)
    return sorted(kept.values(), key=lambda d: (nodes[d.file_id].path, d.start_line))


def _is_header(node: Node) -> bool:
    return node.path.endswith((".h", ".hpp", ".hh", ".hxx", ".mli", ".pyi"))
