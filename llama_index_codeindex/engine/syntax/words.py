"""Text to terms, the same way on both sides: for what is indexed and for what is asked.

An identifier is kept whole and split into its parts: `parseHTMLResponse` gives `parsehtmlresponse`, `pars`, `html` and
`respons`. Parts are stemmed, wholes are not. Accents are folded, and scripts written without spaces give overlapping
pairs, so that every language finds its comments.
"""

from __future__ import annotations

import re
import string
import threading
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache

import Stemmer

# Raised when the same text gives other terms than before, so that indexes are built anew.
WORDS_VERSION = 1

# What is longer is no word that anyone will ask for: hashes, encoded data, minified names.
MAX_WORD = 64

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)*")  # the same for what is ASCII, in two thirds of the time
_WORD_BYTES = (string.ascii_letters + string.digits + "_").encode()
# Keeps what is in words or in characters of several bytes.
_BETWEEN_WORDS = bytes(byte if byte in _WORD_BYTES or byte > 0x7F else 0x20 for byte in range(256))
_PART = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])"  # HTML in HTMLResponse
    r"|[A-Z]?[a-z]+"
    r"|[A-Z]+"
    r"|[0-9]+"
    r"|[^\W_a-zA-Z0-9]+"
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0002ffff]+"
)

# A repository of 600,000 lines has 85,000 words made of 30,000 parts; these memories take about 25 and 10 MB when full.
_KEPT_PIECES = 1 << 17
_KEPT_WORDS = 1 << 16

_local = threading.local()  # a stemmer must not be used by two threads at once

# English function words. They are dropped from questions only, and never when nothing else is left.
STOP_WORDS = frozenset(
    """
    a about an and any are as at be been being but by can could did do does doing done each for from get gets got had
    has have having here how i if in into is it its itself just let like made make makes many may me might more most
    much must my no not now of off on once one only or other our out over own same shall she should so some such than
    that the their them then there these they this those through to too under until up us use used uses using very via
    was we were what when where whether which while who whom whose why will with within without would you your
    all also across between both during after before against
    """.split()
)


def words(text: str) -> list[str]:
    """Return the raw words of a text: identifiers with their underscores, numbers, runs of any script."""
    return _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(text)


def split_words(text: str) -> list[str]:
    """Return pieces of a text that hold its words and little else, in a third of the time of `words`."""
    return text.encode("utf-8", "surrogatepass").translate(_BETWEEN_WORDS).decode("utf-8", "surrogatepass").split()


def count_terms(text: str) -> Counter[str]:
    """Return how often each term occurs in a text."""
    counted: Counter[str] = Counter()
    for word, count in Counter(words(text)).items():
        for term in terms_of(word):
            counted[term] += count
    return counted


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions."""
    return [term for word in words(text) for term in terms_of(word)]


@lru_cache(maxsize=_KEPT_WORDS)
def terms_of(word: str) -> tuple[str, ...]:
    """Return the terms of one raw word: the whole if it has parts, then the stems of its parts."""
    return _terms_of(word)


def _terms_of(word: str) -> tuple[str, ...]:
    if len(word) > MAX_WORD and not _UNSPACED.search(word):
        return ()
    if not word.isascii():
        return _terms_of_any_script(word)
    return _terms_of_identifier(word)


def _terms_of_identifier(word: str) -> tuple[str, ...]:
    parts = _PART.findall(word)
    lowered = word.lower()
    if len(parts) == 1:
        return (stem(lowered),) if len(lowered) > 1 else ()
    found = [lowered]
    # Short digit runs belong to the letters before them (utf8, http2, base64): both forms are found.
    for index, part in enumerate(parts):
        low = part.lower()
        if len(low) > 1:
            found.append(stem(low))
        if low.isdigit() and index and parts[index - 1].isalpha() and len(parts) > 2:
            found.append(parts[index - 1].lower() + low)
    return tuple(found)


def _terms_of_any_script(word: str) -> tuple[str, ...]:
    found: list[str] = []
    position = 0
    for match in _UNSPACED.finditer(word):
        found.extend(_folded_terms(word[position : match.start()]))
        run = unicodedata.normalize("NFC", match[0])
        found.extend(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        position = match.end()
    found.extend(_folded_terms(word[position:]))
    return tuple(found)


def _folded_terms(word: str) -> tuple[str, ...]:
    if not word:
        return ()
    # The case is what splits camelCase, so accents go first.
    folded = fold_accents(word)
    if folded.isascii():
        return _terms_of_identifier(folded)
    parts = _case_parts(folded)
    if len(parts) > 1:
        return (folded.casefold(), *(stem(part.casefold()) for part in parts if len(part) > 1))
    return (stem(folded.casefold()),)


def _case_parts(word: str) -> list[str]:
    """Split at underscores and where a capital follows a small letter, in any script."""
    split = "".join("_" + c if c.isupper() and at and word[at - 1].islower() else c for at, c in enumerate(word))
    return [part for part in split.split("_") if part]


def fold_accents(text: str) -> str:
    """Return a text without the accents of its Latin, Greek and Cyrillic letters; `ı` counts as `i`."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ı", "i").replace("İ", "I").replace("ß", "ss"))
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))


@lru_cache(maxsize=_KEPT_WORDS)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: Russian for Cyrillic letters, else English."""
    if word.isdigit():
        return word
    is_cyrillic = "\u0400" <= word[0] <= "\u04ff"
    if not word.isascii() and not is_cyrillic:
        return word
    name = "russian" if is_cyrillic else "english"
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    stemmer = stemmers.get(name)
    if stemmer is None:
        stemmer = stemmers[name] = Stemmer.Stemmer(name, 0)
    return str(stemmer.stemWord(word))


def term_hash(term: str) -> int:
    """Return the 32-bit number that stands for a term in a stored bag of words; the same on every machine."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


class KnownWords(dict[str, bytes]):
    """The terms of pieces of text as their hashes, four bytes each; `texts` has the term of each hash.

    A dictionary that fills itself, because millions of pieces are looked up and a call for each would take most of the time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[int, str] = {}
        self._hashes: dict[str, bytes] = {}

    def __missing__(self, piece: str) -> bytes:
        packed = b""
        for word in words(piece):
            for term in _terms_of(word):
                known = self._hashes.get(term)
                if known is None:
                    value = term_hash(term)
                    self.texts[value] = term
                    known = self._hashes[term] = value.to_bytes(4, "little")
                packed += known
        self[piece] = packed
        return packed

    def trim(self) -> None:
        """Forget everything once it is too much; not between looking up pieces and asking for their terms."""
        if len(self) > _KEPT_PIECES:
            self.clear()
            self.texts.clear()
            self._hashes.clear()
