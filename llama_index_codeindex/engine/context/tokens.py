"""A cautious count of tokens, for where no tokenizer is at hand."""

from __future__ import annotations

import re

# What the tokenizers of today's models keep apart: encoded data, a capitalised word with the space before it, capitals,
# up to three digits, white space, a run of signs, and every character of other scripts for itself.
_PIECES = re.compile(
    r"(?P<data>(?=[A-Za-z]*[0-9][A-Za-z]*[0-9])[A-Za-z0-9+/=]{12,})|(?P<word> ?[A-Z]?[a-z]+| ?[A-Z]+)"
    r"|(?P<digits>[0-9]{1,3})|(?P<lines>\n+)|(?P<space>[^\S\n]+)|(?P<sign>([!-/:-@\[-`{-~])\7*)|(?P<other>.)",
    re.DOTALL,
)
# Words that everybody writes are one token up to this length; longer ones are cut into pieces of about the next.
_WHOLE_WORD = 7
_WORD_PIECE = 4
# Five letters without a vowel are no word: encoded data and generated names take a token for every two letters.
_UNPRONOUNCEABLE = re.compile(r"[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{5}")
_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# A run of one sign or of white space is one token for about this many of them.
_SIGN_RUN = 8
_SPACE_RUN = 40


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate of a text's tokens: for code about a third above what GPT-4's tokenizer counts."""
    return int(sum(_cost(match) for match in _PIECES.finditer(text)) + 0.999)


def _cost(match: re.Match[str]) -> float:
    piece, kind = match[0], match.lastgroup
    if kind == "word":
        word = piece.strip()
        if _UNPRONOUNCEABLE.search(word):
            return 1 + len(word) * 0.65
        return 1 if len(word) <= _WHOLE_WORD else (len(word) - 1) // _WORD_PIECE
    if kind == "sign":
        # Two neighbouring signs are often one token.
        paired = match.string[match.end() : match.end() + 1] in _SIGNS
        return (0.8 if paired else 1) + (len(piece) - 1) / _SIGN_RUN
    if kind == "data":
        return len(piece) * 0.8
    if kind == "space":
        return 1 + len(piece) // _SPACE_RUN
    if kind == "lines":
        return 1 + len(piece) / 16
    if kind == "digits" or not piece.strip():
        return 1
    return _cost_of_letter(piece)


def _cost_of_letter(letter: str) -> float:
    """Return what a letter costs: common alphabets one token, other scripts up to one a byte."""
    if letter < "\u0700":
        return 1
    if "\u0900" <= letter < "\u1000" or "\u3000" <= letter < "\ua000" or "\uac00" <= letter < "\ud7b0":
        return 2
    return len(letter.encode("utf-8", "surrogatepass"))
