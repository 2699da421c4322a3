"""One source to its outline: the language, the symbols, the references and the chunks."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from llama_index_codeindex.engine.model import Outline, Reference, Symbol
from llama_index_codeindex.engine.syntax.blanking import one_branch, readable
from llama_index_codeindex.engine.syntax.chunking import MAX_CHARS, MAX_TEXT_LINES, Span, chunk_lines, split_lines
from llama_index_codeindex.engine.syntax.languages import Language, detect
from llama_index_codeindex.engine.syntax.parsing import PARSE_SECONDS, ParseProblem, TagsQuery, parse, tags_query
from llama_index_codeindex.engine.syntax.tags import extract

# Raised when chunks or symbols come out otherwise than before, so that indexes are built anew.
SYNTAX_VERSION = 3

# Conditional groups hardly ever have more branches, and each costs a parse of the file.
_MAX_BRANCHES = 4
_Found = tuple[list[Symbol], list[Reference]]

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"(=+|-+)\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_SCRIPT_START = re.compile(r"<script\b[^>]*>", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[^\S\n]*\n(.*?)\n---", re.DOTALL)  # where Astro keeps its code


def outline(
    path: str,
    text: str,
    max_chars: int = MAX_CHARS,
    language: Language | None = None,
    parse_seconds: float = PARSE_SECONDS,
) -> Outline:
    """Return the outline of a text.

    Args:
        path: The relative path, which tells the language unless it is given.
        text: The text as the gate hands it on.
        max_chars: No chunk has more characters.
        language: The language, where the path does not tell it.
        parse_seconds: A parse that takes longer is given up, and the text is cut by lines.
    """
    language = language or detect(path, text)
    lines = split_lines(text)
    if not lines:
        return Outline(language.name, ())
    symbols: list[Symbol] = []
    references: list[Reference] = []
    problem, structural = "", False
    if language.grammar:
        try:
            symbols, references = _parse(language, text, lines, parse_seconds)
            structural = True
        except ParseProblem as error:
            problem = str(error)
    spans = [Span(s.start_line, s.end_line, s.qualified, s.kind, s.scope, s.name_line) for s in symbols]
    if language.name == "markdown":
        spans = list(_sections(lines))
    text_lines = None if spans or structural else MAX_TEXT_LINES
    chunks = chunk_lines(lines, spans, max_chars, text_lines)
    return Outline(language.name, tuple(chunks), tuple(symbols), tuple(references), structural, problem)


def _parse(language: Language, text: str, lines: list[str], seconds: float) -> _Found:
    query = tags_query(language.grammar)
    code = _only_scripts(text) if language.script else text
    # Lone surrogates cannot be encoded; each becomes one byte, so that no line moves.
    data = code.encode("utf-8", "replace")
    plain = readable(language.name, data)
    tree = parse(language.grammar, plain, seconds)
    found = extract(language, query, tree, data, lines)
    if language.conditionals and b"#if" in data:
        hides = language.name == "haskell" and b"\n#el" in data  # its grammar reads the first branch alone
        if tree.root_node.has_error or hides:
            return _by_branches(language, query, plain, data, lines, found, seconds)
    return found


def _by_branches(
    language: Language, query: TagsQuery, plain: bytes, data: bytes, lines: list[str], whole: _Found, seconds: float
) -> _Found:
    """Parse each branch of the conditional groups without the others, and take from it what it alone defines.

    Where a tree has errors, it is mostly because a brace is opened in two branches and closed once.
    """
    symbols: list[Symbol] = []
    references: list[Reference] = []
    left = set(range(len(lines)))
    end = time.monotonic() + seconds
    for number in range(_MAX_BRANCHES):
        text, dropped = one_branch(plain, number)
        if number and not dropped:
            break
        hidden = {row for start, end in dropped for row in range(start, end)}
        shown = left - hidden
        try:
            tree = parse(language.grammar, text, end - time.monotonic())
        except ParseProblem:
            return whole
        found = extract(language, query, tree, data, lines)
        symbols.extend(symbol for symbol in found[0] if symbol.name_line - 1 in shown)
        references.extend(reference for reference in found[1] if reference.line - 1 in shown)
        left &= hidden
        if not left:
            break
    symbols.extend(symbol for symbol in whole[0] if symbol.name_line - 1 in left)
    references.extend(reference for reference in whole[1] if reference.line - 1 in left)
    symbols.sort(key=lambda s: (s.start_line, -s.end_line))
    return symbols, sorted(references, key=lambda r: (r.line, r.name, r.kind))


def _only_scripts(text: str) -> str:
    """Blank out everything but the script blocks, so that lines keep their numbers."""
    blocks: list[tuple[int, int]] = []
    front = _FRONT_MATTER.match(text)
    if front is not None:
        blocks.append(front.span(1))
    position = front.end() if front is not None else 0
    while (start := _SCRIPT_START.search(text, position)) is not None:
        end = _SCRIPT_END.search(text, start.end())
        if end is None:
            break
        blocks.append((start.end(), end.start()))
        position = end.end()
    kept: list[str] = []
    position = 0
    for first, last in blocks:
        kept.append(_blank(text[position:first]))
        kept.append(text[first:last])
        position = last
    kept.append(_blank(text[position:]))
    return "".join(kept)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _sections(lines: Sequence[str]) -> Iterator[Span]:
    """Yield the sections of a markdown text, nested by the level of their headings."""
    headings = list(_headings(lines))
    ends = [len(lines)] * len(headings)
    open_ones: list[int] = []
    for index, (number, level, _) in enumerate(headings):
        while open_ones and headings[open_ones[-1]][1] >= level:
            ends[open_ones.pop()] = number - 1
        open_ones.append(index)
    above: list[tuple[int, str]] = []
    for (number, level, title), end in zip(headings, ends, strict=True):
        while above and above[-1][0] >= level:
            above.pop()
        scope = " > ".join(name for _, name in above)
        above.append((level, title))
        yield Span(number, end, " > ".join(name for _, name in above)[:200], "section", scope[:200])


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and title of every heading outside code and front matter."""
    first = 1
    if lines[0].rstrip() == "---":
        first = next((n + 1 for n, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "...")), 1)
    fence = ""
    for number, line in enumerate(lines[first - 1 :], first):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            yield number, len(heading[1]), heading[2]
        elif number > first and _UNDERLINE.match(line) and _may_be_title(lines[number - 2]):
            yield number - 1, 1 if line[0] == "=" else 2, lines[number - 2].strip()


def _may_be_title(line: str) -> bool:
    """Say whether a line above an underline is its title, and not a table, a list, a quote or a heading."""
    return bool(line.strip()) and not line.lstrip().startswith(("|", "-", ">", "#"))


class _HasLines(Protocol):
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...


_Lines = TypeVar("_Lines", bound=_HasLines)


def chunk_of_line(chunks: Sequence[_Lines], line: int) -> _Lines | None:
    """Return the chunk that holds a line, or None for a blank line between chunks."""
    return next((chunk for chunk in chunks if chunk.start_line <= line <= chunk.end_line), None)
