"""`go.mod`. Its grammar is lines of a verb with words, alone or in blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from llama_index_codeindex.engine.facts.documents import Malformed
from llama_index_codeindex.engine.facts.draft import Draft

_VERBS = frozenset("module go toolchain require replace exclude retract tool godebug ignore".split())
_WORD = re.compile(r'"[^"\n]*"|`[^`\n]*`|[^\s"`]+')
_VERSION = re.compile(r"v\d\S*")


def go_mod(text: str, draft: Draft) -> None:
    """Read a `go.mod`. The versions that `replace` puts in place are the resolved ones."""
    replaced: dict[tuple[str, str], str] = {}
    has_module = False
    for line, verb, words, is_indirect in _directives(text):
        if verb == "require":
            if len(words) != 2 or not _VERSION.match(words[1]):
                raise Malformed(f"line {line} requires no module with a version")
            draft.add(words[0], words[1], line, direct=not is_indirect)
        elif verb == "replace":
            _replace(words, line, replaced)
        elif verb in ("go", "toolchain") and words:
            draft.runtime("go" if verb == "go" else "go-toolchain", words[0], line)
        has_module = has_module or verb == "module"
    if not has_module:
        raise Malformed("it names no module")
    draft.facts[:] = [
        replace(
            fact, resolved=replaced.get((fact.name, fact.version)) or replaced.get((fact.name, "")) or fact.resolved
        )
        for fact in draft.facts
    ]


def _replace(words: list[str], line: int, replaced: dict[tuple[str, str], str]) -> None:
    if "=>" not in words or words[0] == "=>" or words[-1] == "=>":
        raise Malformed(f"line {line} replaces nothing")
    arrow = words.index("=>")
    old, new = words[:arrow], words[arrow + 1 :]
    place = new[0] if len(new) == 1 or new[0] != old[0] else ""
    replaced[old[0], old[1] if len(old) > 1 else ""] = " ".join([place, *new[1:]]).strip()


def _directives(text: str) -> Iterator[tuple[int, str, list[str], bool]]:
    """Yield line, verb, words, and whether the line is marked indirect."""
    block = ""
    for number, raw in enumerate(text.splitlines(), 1):
        code, _, comment = raw.partition("//")
        words = [word.strip('"`') for word in _WORD.findall(code)]
        if not words:
            continue
        if words == [")"] and block:
            block = ""
            continue
        is_indirect = comment.strip().split(";")[0].strip() == "indirect"
        if block:
            yield number, block, words, is_indirect
            continue
        verb = words[0].rstrip("(")
        if verb not in _VERBS:
            raise Malformed(f"line {number} is no directive")
        if words[-1] == "(" or words[0].endswith("("):
            block = verb
        elif words[-1] == "()" or words[1:] == ["(", ")"]:
            continue
        else:
            yield number, verb, words[1:], is_indirect
    if block:
        raise Malformed("a block is not closed")
