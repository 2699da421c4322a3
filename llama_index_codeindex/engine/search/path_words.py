"""The words of paths: how a file's name and folders fit a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from llama_index_codeindex.engine.search.query import Query
from llama_index_codeindex.engine.syntax.words import STOP_WORDS, terms

# Folders of interfaces alone, and of what is outdated: there, but seldom what is asked for.
_ASIDE = frozenset("v1 compat legacy deprecated experimental old obsolete contracts contract interfaces".split())

# Folders of Windows' half of a code base whose other half serves every other system.
_WINDOWS = frozenset("win win32 win64 windows winnt".split())


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What ranking needs of a path: terms of the stem and the folders, the stem's parts without the whole, and marks."""

    held: frozenset[str]
    parts: frozenset[str]
    plain_stem: str
    suffix: str
    is_aside: bool
    is_windows: bool


@lru_cache(maxsize=1 << 16)  # bounded: the paths of a large repository
def path_facts(path: str) -> PathFacts:
    """Return the facts of a path."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name
    found = frozenset(terms(stem.replace("-", " ")))
    folders = frozenset(terms(" ".join(pure.parts[:-1]).replace("-", " ")))
    parts = frozenset(term for term in found if term != stem.lower()) or found
    is_aside = not _ASIDE.isdisjoint(part.lower() for part in pure.parts[:-1])
    is_windows = not _WINDOWS.isdisjoint(part.lower() for part in pure.parts[:-1])
    return PathFacts(found | folders, parts, plain_name(stem), pure.suffix.lower(), is_aside, is_windows)


def match_paths(asked: Sequence[str], paths: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return how well each path and a question fit.

    Args:
        asked: The content words of the question, stemmed.
        paths: The paths.

    Returns:
        The share of the question's words that the file's name or folders hold, and the share of the name's own words that
        the question holds; both by prefix.
    """
    every = {path: path_facts(path) for path in paths}
    # Which of the asked words a term fits, of those that fit any: most paths hold none of them.
    fitting: dict[str, set[str]] = {}
    by_letter: dict[str, list[str]] = {}
    for word in asked:
        by_letter.setdefault(word[:1], []).append(word)
    for term in frozenset().union(*(facts.held for facts in every.values())):
        for word in by_letter.get(term[:1], ()):
            if _starts(word, term):
                fitting.setdefault(term, set()).add(word)
    matches: dict[str, tuple[float, float]] = {}
    for path, facts in every.items():
        if facts.held.isdisjoint(fitting):
            matches[path] = (0.0, 0.0)
            continue
        held = set().union(*(fitting[term] for term in facts.held if term in fitting))
        own = sum(term in fitting for term in facts.parts)
        matches[path] = (len(held) / (len(asked) or 1), own / (len(facts.parts) or 1))
    return matches


def _starts(word: str, term: str) -> bool:
    return word == term or (len(word) >= 3 and term.startswith(word)) or (len(term) >= 3 and word.startswith(term))


@lru_cache(maxsize=256)
def question_words(query: Query) -> tuple[str, ...]:
    """Return the content words of a question, stemmed and split, without repetitions."""
    found: dict[str, None] = {}
    for word in query.text.replace("-", " ").split():
        if word.lower().strip(".,;:?!()\"'`") not in STOP_WORDS:
            for part in terms(word):
                found.setdefault(part)
    return tuple(found)


def plain_name(name: str) -> str:
    """Return a name without the case and the marks that languages write it with."""
    return name.replace("_", "").replace("-", "").casefold()
