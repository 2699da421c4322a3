"""Bytes to text: which files are text at all, and in which encoding."""

from __future__ import annotations

import codecs
import re

# Where git, grep and editors look for the NUL that makes a file binary.
_BINARY_WINDOW = 8192

# Below this many non-ASCII bytes statistics guess wildly, and Western text is the likeliest.
_ENOUGH_TO_DETECT = 12

# What detection is given: statistics are settled long before, and it costs milliseconds per kilobyte.
_DETECTION_WINDOW = 1 << 14

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
            data = data[len(mark) :]
            if encoding != "utf-8":
                # A NUL character in the text says that the mark was an accident of binary data.
                text = data.decode(encoding, "replace")
                return None if "\0" in text[:_BINARY_WINDOW] else (text, encoding)
            break
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
        detected = _detect(data)
        if detected is not None:
            return detected
    return data.decode("cp1252", "replace"), "guessed:cp1252"


def _detect(data: bytes) -> tuple[str, str] | None:
    """Return what statistics say of text that is neither UTF-8 nor short, or None for plain Western text."""
    # Lines in ASCII say nothing, and outweigh the others in source code.
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_DETECTION_WINDOW]
    is_latin = len(_HIGH_RUN.findall(lines)) * 2 > len(_HIGH.findall(lines))
    if is_latin and not _is_central_european(lines):
        return None
    from charset_normalizer import from_bytes  # most code is UTF-8, and never gets here

    best = from_bytes(lines, cp_isolation=_CENTRAL_EUROPEAN if is_latin else _OTHER_SCRIPTS).best()
    if best is None or best.encoding == "ascii":
        return None
    try:
        text = data.decode(best.encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    # In some encodings a line end may be half of a character; a guess must not move a line.
    return (text, f"guessed:{best.encoding}") if text.count("\n") == data.count(b"\n") else None


def _is_central_european(lines: bytes) -> bool:
    """Say whether text in Latin script, read as Western, has signs where letters belong (`u¿ytkownik`)."""
    western = lines.decode("cp1252", "replace")
    letters = sum(not char.isascii() and char.isalpha() for char in western)
    return len(_SIGN_AFTER_LETTER.findall(western)) * 5 > letters


_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")  # in Latin script, mostly one letter long
_SIGN_AFTER_LETTER = re.compile("[A-Za-z][¡¢£¤¥¦§¨©¬®¯±²³´¶¸¹¼½¾¿×÷]")
# Only what source code is really found in: of all encodings, some rare one often fits a little better than the right.
_CENTRAL_EUROPEAN = ["cp1250", "iso8859_2", "cp1254", "cp1257"]
_OTHER_SCRIPTS = ["cp1251", "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp1253", "cp1255", "cp1256"]
