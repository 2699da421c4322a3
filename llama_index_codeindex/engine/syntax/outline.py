"""One source to its outline: the language, the symbols, the references and the chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llama_index_codeindex.engine.model import Chunk, Outline, Reference, Symbol
from llama_index_codeindex.engine.syntax.chunking import MAX_CHARS, MAX_TEXT_LINES, Span, chunk_lines, split_lines
from llama_index_codeindex.engine.syntax.languages import Language, detect
from llama_index_codeindex.engine.syntax.parsing import ParseProblem, parse, tags_query
from llama_index_codeindex.engine.syntax.tags import extract

# Raised when chunks or symbols come out otherwise than before, so that indexes are built anew.
SYNTAX_VERSION = 1

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"(=+|-+)\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_SCRIPT = re.compile(r"<script\b[^>]*>(.*?)</script\s*>|\A---[^\S\n]*\n(.*?)\n---", re.DOTALL | re.IGNORECASE)


def outline(path: str, text: str, max_chars: int = MAX_CHARS, language: Language | None = None) -> Outline:
    """Return the outline of a text.

    Args:
        path: The relative path, which tells the language unless it is given.
        text: The text as the gate hands it on.
        max_chars: No chunk has more characters.
        language: The language, where the path does not tell it.
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
            symbols, references, structural = _parse(language, text, lines)
        except ParseProblem as error:
            problem = str(error)
    spans = [Span(s.start_line, s.end_line, s.qualified, s.kind, s.scope) for s in symbols]
    if language.name == "markdown":
        spans = list(_sections(lines))
    text_lines = None if spans or structural else MAX_TEXT_LINES
    chunks = chunk_lines(lines, spans, max_chars, text_lines)
    return Outline(language.name, tuple(chunks), tuple(symbols), tuple(references), structural, problem)


def _parse(language: Language, text: str, lines: list[str]) -> tuple[list[Symbol], list[Reference], bool]:
    query = tags_query(language.grammar)
    if query is None:
        return [], [], False
    code = _only_scripts(text) if language.script else text
    # Lone surrogates cannot be encoded; each becomes one byte, so that no line moves.
    tree = parse(language.grammar, code.encode("utf-8", "replace"))
    symbols, references = extract(language, query, tree.root_node, lines)
    return symbols, references, True


def _only_scripts(text: str) -> str:
    """Blank out everything but the script blocks, so that lines keep their numbers."""
    kept: list[str] = []
    position = 0
    for match in _SCRIPT.finditer(text):
        group = 1 if match[1] is not None else 2
        kept.append(_blank(text[position : match.start(group)]))
        kept.append(match[group])
        position = match.end(group)
    kept.append(_blank(text[position:]))
    return "".join(kept)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _sections(lines: Sequence[str]) -> Iterator[Span]:
    """Yield the sections of a markdown text, nested by the level of their headings."""
    headings: list[tuple[int, int, str]] = []  # line, level, title
    fence = ""
    for number, line in enumerate(lines, 1):
        opened = _FENCE.match(line)
        if opened and (not fence or opened[1] == fence):
            fence = "" if fence else opened[1]
            continue
        if fence:
            continue
        heading = _HEADING.match(line)
        if heading:
            headings.append((number, len(heading[1]), heading[2]))
        elif number > 1 and _UNDERLINE.match(line) and _may_be_title(lines[number - 2]):
            headings.append((number - 1, 1 if line[0] == "=" else 2, lines[number - 2].strip()))
    above: list[tuple[int, str]] = []
    for index, (number, level, title) in enumerate(headings):
        end = next((start - 1 for start, other, _ in headings[index + 1 :] if other <= level), len(lines))
        while above and above[-1][0] >= level:
            above.pop()
        scope = " > ".join(name for _, name in above)
        above.append((level, title))
        yield Span(number, end, " > ".join(name for _, name in above)[:200], "section", scope[:200])


def _may_be_title(line: str) -> bool:
    """Say whether a line above an underline is its title, and not a table, a list, a quote or a heading."""
    return bool(line.strip()) and not line.lstrip().startswith(("|", "-", ">", "#"))


def chunk_of_line(chunks: Sequence[Chunk], line: int) -> Chunk | None:
    """Return the chunk that holds a line, or None for a blank line between chunks."""
    return next((chunk for chunk in chunks if chunk.start_line <= line <= chunk.end_line), None)
