"""What a question asks for: a symbol, a path or prose; the names and quoted phrases in it; and its own filters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from llama_index_codeindex.engine.errors import EmptyQuery
from llama_index_codeindex.engine.syntax.languages import detect
from llama_index_codeindex.engine.syntax.words import STOP_WORDS, terms_of, words

Shape = Literal["symbol", "path", "prose"]

_FILTER = re.compile(r"(?<!\S)(path|lang|language):(\S+)", re.IGNORECASE)
_PHRASE = re.compile(r"\"([^\"]{2,200})\"")
_NAME = r"[^\W\d][\w$]*"
_QUALIFIED = re.compile(rf"[@~&*$#:]*{_NAME}(?:(?:::|->|\.|#|/|\\){_NAME})*(?:\(\)|[!?=])?")
_SEPARATORS = re.compile(r"::|->|[.#/\\]")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|[A-Z][a-z]+[A-Z]")
_PATH = re.compile(r"[\w@+.\-]*(?:[/\\][\w@+.\-\[\]()]+)+/?|[\w@+.\-]+/|[\w@+\-.]+\.[A-Za-z][A-Za-z0-9+]{0,9}")
# A question may name the side of the code it is about; what is asked for is not put behind.
_ABOUT: dict[str, frozenset[str]] = {
    "test": frozenset("test tests testing tested unittest spec specs fixture fixtures mock mocks".split()),
    "example": frozenset("example examples sample samples demo demos tutorial".split()),
    "docs": frozenset("docs documentation readme changelog guide".split()),
    "script": frozenset("script scripts".split()),
    "config": frozenset("config configuration settings workflow pipeline ci".split()),
    "declaration": frozenset(("typings", "stub", "stubs")),
}


@dataclass(frozen=True, slots=True)
class Query:
    """A question, understood.

    Args:
        text: The question without its filter words.
        shape: `symbol` for one name, `path` for one path, else `prose`.
        terms: What the full-text lane looks for, in order, without repetitions and stop words.
        names: The names it holds: the whole question for a symbol, the identifiers in prose.
        paths: The paths it holds: the whole question for a path, file names in prose.
        plain: The ordinary words of prose, lower case, in order.
        phrases: What stood in double quotes, which a hit must hold letter by letter.
        path_filters: The values of `path:` words.
        languages: The values of `lang:` words.
        about: The categories that the question itself speaks of.
    """

    text: str
    shape: Shape
    terms: tuple[str, ...]
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    path_filters: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    about: frozenset[str] = field(default_factory=frozenset)


def understand(question: str) -> Query:
    """Return the question as the lanes need it.

    Raises:
        EmptyQuery: It is empty, or holds nothing but filters.
    """
    path_filters = tuple(match[2] for match in _FILTER.finditer(question) if match[1].lower() == "path")
    asked = [match[2].lower() for match in _FILTER.finditer(question) if match[1].lower() != "path"]
    text = _FILTER.sub(" ", question).strip()
    if not text:
        raise EmptyQuery("The query is empty." if not question.strip() else "The query holds only filters.")
    phrases = tuple(match[1].strip() for match in _PHRASE.finditer(text) if match[1].strip())
    bare = text.strip("`\"'")
    shape = _shape(bare)
    raw = words(text)
    names = (bare.rstrip("()"),) if shape == "symbol" else tuple(_names_in(text)) if shape == "prose" else ()
    paths = (bare,) if shape == "path" else tuple(filter(_is_file_name, text.split())) if shape == "prose" else ()
    found = _terms(raw)
    if shape == "prose" and not found and not names:
        # Only one-letter words are left: in code, they are names.
        names = tuple(dict.fromkeys(word for word in raw if word.lower() not in STOP_WORDS))
    plain = tuple(word.lower() for word in raw if not _is_identifier(word))
    about = frozenset(category for category, marks in _ABOUT.items() if not marks.isdisjoint(plain))
    return Query(
        text, shape, found, names, paths, plain, phrases, path_filters, tuple(_language(name) for name in asked), about
    )


def _shape(text: str) -> Shape:
    if not text or any(c.isspace() for c in text):
        return "prose"
    if "/" in text and _PATH.fullmatch(text) and not _QUALIFIED.fullmatch(text):
        return "path"
    if _is_file_name(text):
        return "path"
    if "/" in text and _PATH.fullmatch(text):
        return "path"
    return "symbol" if _QUALIFIED.fullmatch(text) else "prose"


def _is_file_name(text: str) -> bool:
    """Say whether a word is the name of a file in a language that is known here."""
    return _PATH.fullmatch(text) is not None and PurePosixPath(text).suffix != "" and detect(text).name != "text"


def _is_identifier(word: str) -> bool:
    """Say whether a word in prose is written as only code writes it."""
    return "_" in word.strip("_") or word.startswith("_") or _CAMEL.search(word) is not None


def _names_in(text: str) -> list[str]:
    found: dict[str, None] = {}
    for match in _QUALIFIED.finditer(text):
        whole = match[0].strip("@~&*$#:")
        name = whole.rstrip("()")
        if _is_file_name(name):
            continue
        called = whole.endswith("()")
        quoted = text[match.start() - 1 : match.start()] == "`" and text[match.end() : match.end() + 1] == "`"
        joined = _SEPARATORS.search(name) is not None and "/" not in name
        if called or quoted or (joined and len(name) > 3) or _is_identifier(name):
            found.setdefault(name)
    return list(found)


def name_parts(name: str) -> list[str]:
    """Return the parts of a qualified name: `Stack.Push` gives `Stack` and `Push`."""
    return [part for part in _SEPARATORS.split(name.strip("@~&*$#:")) if part]


def _terms(raw: list[str]) -> tuple[str, ...]:
    """Return the terms of the raw words; stop words stay only if nothing else does."""
    content = [word for word in raw if word.lower() not in STOP_WORDS]
    found: dict[str, None] = {}
    for word in content or raw:
        for term in terms_of(word):
            found.setdefault(term)
    return tuple(found)


def _language(name: str) -> str:
    aliases = {"c++": "cpp", "c#": "csharp", "cs": "csharp", "js": "javascript", "ts": "typescript", "sh": "bash",
               "shell": "bash", "golang": "go", "objective-c": "objc", "py": "python", "rb": "ruby", "rs": "rust",
               "kt": "kotlin", "md": "markdown", "yml": "yaml"}  # fmt: skip
    return aliases.get(name, name)
