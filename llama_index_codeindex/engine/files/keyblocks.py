"""Private-key blocks in ordinary text: found by their markers and by a body that looks like one.

The markers alone are no secret: code that reads or writes keys spells them too, and is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"-{4,5} ?BEGIN (?P<label>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?) ?-{4,5}")

# A key of 16,384 bits takes 13,000 characters, more when every line is a quoted literal.
_MAX_BODY = 30_000

# Real bodies have hundreds of characters; placeholders such as `...` or `<key>` have none of this kind.
_MIN_BODY = 8
_MIN_OPEN_BODY = 32  # without an end marker, less is more likely prose
_SURELY = 200  # after so much of a key, code around the rest of it does not speak against one

# Inside literals, `\n` stands for a line end, itself perhaps escaped once more.
_LINE_END = re.compile(r"(?:\\+[nr])+|\r?\n|\r")
# What literals, comments, quotes and diffs put around a line of the body.
_AROUND = " \t\"'`+,;.\\#*/|>&()-"
_BODY = re.compile(r"[A-Za-z0-9+/=_~:.\\-]*")
_LONG_BODY = re.compile(r"[A-Za-z0-9+/=]{40,}")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Comment|Version|Subject|Hash|Charset|X-[\w-]+): ?\S.*")
_PLAIN_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")


def key_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every private key in a text, in order and without overlap."""
    begin = _BEGIN.search(text)
    while begin is not None:
        following = _BEGIN.search(text, begin.end())
        limit = min(begin.end() + _MAX_BODY, following.start() if following else len(text))
        end = _closed_end(text, begin, limit) or _open_end(text, begin.end(), limit)
        if end is not None:
            yield begin.start(), end
        begin = following


def _closed_end(text: str, begin: re.Match[str], limit: int) -> int | None:
    """Return the end of a block that its end marker closes, if what is between looks like a key."""
    marker = re.compile(r"-{4,5} ?END " + re.escape(begin["label"]) + r" ?-{4,5}")
    end = marker.search(text, begin.end(), limit)
    if end is None:
        return None
    amount = 0
    for line in _LINE_END.split(text[begin.end() : end.start()]):
        stripped = line.strip(_AROUND)
        if _HEADER.fullmatch(stripped):
            continue
        if not _BODY.fullmatch(stripped) and not _LONG_BODY.search(stripped) and amount < _SURELY:
            return None
        amount += sum(map(str.isalnum, stripped))
    return end.end() if amount >= _MIN_BODY else None


def _open_end(text: str, start: int, limit: int) -> int | None:
    """Return the end of a block that was cut off: as far as the lines look like a key's body."""
    position, amount = start, 0
    end = start
    while position < limit:
        cut = _LINE_END.search(text, position, limit)
        stop = cut.start() if cut else limit
        stripped = text[position:stop].strip(_AROUND)
        if _PLAIN_BODY.fullmatch(stripped):
            amount += len(stripped)
            end = stop
        elif stripped and not _HEADER.fullmatch(stripped):
            break
        position = cut.end() if cut else limit
    return end if amount >= _MIN_OPEN_BODY else None
