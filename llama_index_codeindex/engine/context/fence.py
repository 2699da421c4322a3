"""Delimiters that nothing in a repository can forge: a random mark per pack, and labels that stay on one line.

Whoever writes a file cannot know the mark, so no content closes its block or opens another. What a reader would not
see, such as bidirectional controls, Unicode tags and the special tokens of chat templates, is made visible.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Iterable

# 64 random bits: nobody guesses them, and they cost about ten tokens a line.
_MARK_BYTES = 8
_MAX_LABEL = 200

# Characters that take no room, turn the direction of what follows, or end a line for some readers only. Of the
# variation selectors only the one that belongs to emoji stays, because a run of them can carry a hidden text.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\ufe0f(?=\ufe0f)|\r(?!\n)"
)
# Chat templates are text to the servers that fill them: one of these inside a file would end the message it stands in.
_SPECIAL_TOKEN = re.compile(
    r"<(?P<bars>\|[^\s|<>]{1,60}\||｜[^\s｜<>]{1,60}｜)>"
    r"|<(?P<name>/?s|bos|eos|pad|unk|mask|(?:start|end)_of_(?:turn|image)|/?(?:tool_call|tool_response|think))>"
    r"|\[(?P<square>/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT|IMG))\]"
    r"|<<(?P<sys>/?SYS)>>"
)
_NEEDS_QUOTES = re.compile(r"[\s=\"'`]")


def new_mark(texts: Iterable[str]) -> str:
    """Return a random mark that occurs in none of the texts."""
    kept = list(texts)
    while True:
        mark = secrets.token_hex(_MARK_BYTES)
        if not any(mark in text for text in kept):
            return mark


def inert(text: str) -> str:
    """Return a name or path as one line without anything that a template or a reader would take for more."""
    shown = "".join(c if c.isprintable() else _escape(c) for c in visible(text))
    shown = shown.replace("[[", "[\\u{5b}").replace("]]", "]\\u{5d}")
    return shown if len(shown) <= _MAX_LABEL else shown[: _MAX_LABEL - 1] + "…"


def label(text: str) -> str:
    """Return a name or path for a delimiter: on one line, and in quotes where it could be read as several facts."""
    shown = inert(text)
    return '"' + shown.replace('"', "'") + '"' if _NEEDS_QUOTES.search(shown) else shown


def visible(text: str) -> str:
    """Return file content with what a reader would not see, or a chat template would obey, made visible."""
    text = _INVISIBLE.sub(lambda match: _escape(match[0]), text)
    return _SPECIAL_TOKEN.sub(_defused, text)


def _defused(match: re.Match[str]) -> str:
    if match["square"]:
        return f"[¦{match['square']}¦]"
    return f"<¦{(match['bars'] or match['name'] or match['sys']).strip('|｜')}¦>"


def _escape(character: str) -> str:
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if unicodedata.category(character) == "Zs":
        return " "
    return f"\\u{{{ord(character):x}}}"
