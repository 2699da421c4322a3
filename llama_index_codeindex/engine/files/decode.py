"""Bytes to text: which files are text at all, and in which encoding."""

from __future__ import annotations

import codecs

from charset_normalizer import from_bytes

# Where git, grep and editors look for the NUL that makes a file binary.
_BINARY_WINDOW = 8192

# Below this many non-ASCII bytes statistics guess wildly, and Western text is the likeliest.
_ENOUGH_TO_DETECT = 24

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes) -> tuple[str, str] | None:
    """Return the text and the encoding's name, or None for binary data.

    A byte order mark decides and is dropped. Otherwise it is UTF-8 if that fits, else a guess, named `guessed:…`; bytes
    that fit nothing become replacement characters, so no line is lost and none is added.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    if b"\0" in data[:_BINARY_WINDOW]:
        return None
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return _guess(data)


def _guess(data: bytes) -> tuple[str, str]:
    high = sum(byte > 0x7F for byte in data)
    repaired = data.decode("utf-8", "replace")
    broken = repaired.count("\ufffd")
    if broken * 10 < high:  # UTF-8 with a few bad bytes
        return repaired, "guessed:utf-8"
    if high >= _ENOUGH_TO_DETECT:
        best = from_bytes(data[: 1 << 16]).best()
        if best is not None and best.encoding != "ascii":
            try:
                return data.decode(best.encoding), f"guessed:{best.encoding}"
            except (UnicodeDecodeError, LookupError):
                pass
    return data.decode("cp1252", "replace"), "guessed:cp1252"
