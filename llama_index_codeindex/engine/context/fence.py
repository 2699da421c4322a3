"""Delimiters that nothing in a repository can forge: a random mark per pack, and labels that stay on one line.

Whoever writes a file cannot know the mark, so no content closes its block or opens another. What a reader would not
see, such as bidirectional controls, Unicode tags and the special tokens of chat templates, is made visible.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Iterable

# 64 random bits: nobody guesses them, and they cost four or five tokens a line.
_MARK_BYTES = 8
_MAX_LABEL = 200

_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_SPECIAL_TOKEN = re.compile(r"<\|([A-Za-z0-9_\- ]{1,40})\|>|<｜([^｜<>\n]{1,40})｜>")


def new_mark(texts: Iterable[str]) -> str:
    """Return a random mark that occurs in none of the texts."""
    kept = list(texts)
    while True:
        mark = secrets.token_hex(_MARK_BYTES)
        if not any(mark in text for text in kept):
            return mark


def label(text: str) -> str:
    """Return a name or path as one line that cannot be taken for a delimiter."""
    shown = "".join(c if c.isprintable() and c not in "[]" else _escape(c) for c in text)
    return shown if len(shown) <= _MAX_LABEL else shown[: _MAX_LABEL - 1] + "…"


def visible(text: str) -> str:
    """Return file content with what a reader would not see, or a chat template would obey, made visible."""
    text = _INVISIBLE.sub(lambda match: _escape(match[0]), text)
    return _SPECIAL_TOKEN.sub(lambda match: f"<¦{match[1] or match[2]}¦>", text)


def _escape(character: str) -> str:
    if character in "[]":
        return "(" if character == "[" else ")"
    if character == "\n":
        return "\\n"
    if unicodedata.category(character) == "Zs":
        return " "
    return f"\\u{{{ord(character):x}}}"
