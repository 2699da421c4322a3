"""git's wildmatch, translated to regular expressions over bytes.

git matches paths as bytes and has corners that no glob library shares: `?` is one byte, a class never matches `/`,
an unclosed class or a trailing backslash matches nothing, and `**` means "any depth" only as a whole path part.
"""

from __future__ import annotations

import re
import string

_WILDCARDS = b"*?[\\"

_CLASSES: dict[bytes, bytes] = {
    b"alnum": (string.ascii_letters + string.digits).encode(),
    b"alpha": string.ascii_letters.encode(),
    b"blank": b" \t",
    b"cntrl": bytes(range(32)) + b"\x7f",
    b"digit": string.digits.encode(),
    b"graph": bytes(range(33, 127)),
    b"lower": string.ascii_lowercase.encode(),
    b"print": bytes(range(32, 127)),
    b"punct": string.punctuation.encode(),
    b"space": b" \t\n\r\v\f",
    b"upper": string.ascii_uppercase.encode(),
    b"xdigit": string.hexdigits.encode(),
}


def literal_length(pattern: bytes) -> int:
    """Return how many leading bytes of `pattern` stand for themselves."""
    for position, byte in enumerate(pattern):
        if byte in _WILDCARDS:
            return position
    return len(pattern)


def compile_wildmatch(pattern: bytes, *, path: bool, ignore_case: bool = False) -> re.Pattern[bytes] | None:
    """Return the expression whose `fullmatch` agrees with git, or None when the pattern can match nothing.

    Args:
        pattern: The pattern, without a leading `!` and without the trailing `/`.
        path: Whether `*`, `?` and classes stop at `/`, as git has it for patterns with a slash.
        ignore_case: git's `core.ignorecase`.
    """
    out: list[bytes] = []
    position, length = 0, len(pattern)
    any_byte = b"[^/]" if path else b"."
    while position < length:
        byte = pattern[position : position + 1]
        position += 1
        if byte == b"\\":
            if position == length:
                return None
            out.append(re.escape(pattern[position : position + 1]))
            position += 1
        elif byte == b"?":
            out.append(any_byte)
        elif byte == b"*":
            first = position - 1
            while pattern[position : position + 1] == b"*":
                position += 1
            if not path:
                out.append(b".*")
            elif position - first > 1 and _is_whole_part(pattern, first, position):
                if pattern[position : position + 1] == b"/":
                    out.append(b"(?:.*/)?")
                    position += 1
                else:
                    out.append(b".*")
            else:
                out.append(b"[^/]*")
        elif byte == b"[":
            parsed = _parse_class(pattern, position, path=path)
            if parsed is None:
                return None
            expression, position = parsed
            out.append(expression)
        else:
            out.append(re.escape(byte))
    return re.compile(b"".join(out), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _is_whole_part(pattern: bytes, first: int, after: int) -> bool:
    """Say whether the run of stars `pattern[first:after]` stands alone between slashes or ends."""
    before_ok = first == 0 or pattern[first - 1 : first] == b"/"
    rest = pattern[after:]
    return before_ok and (not rest or rest.startswith((b"/", b"\\/")))


def _parse_class(pattern: bytes, position: int, *, path: bool) -> tuple[bytes, int] | None:
    """Translate a class whose `[` was just read; None when it never closes or names an unknown class."""
    negated = pattern[position : position + 1] in (b"!", b"^")
    position += negated
    members: set[int] = set()
    previous = 0  # the last single member, which may start a range
    first = True
    while True:
        if position >= len(pattern):
            return None
        byte = pattern[position]
        if byte == 0x5D and not first:  # ]
            break
        first = False
        position += 1
        if byte == 0x5C:  # backslash
            if position >= len(pattern):
                return None
            byte = pattern[position]
            position += 1
            members.add(byte)
            previous = byte
        elif byte == 0x2D and previous and position < len(pattern) and pattern[position] != 0x5D:  # a-b
            last = pattern[position]
            position += 1
            if last == 0x5C:
                if position >= len(pattern):
                    return None
                last = pattern[position]
                position += 1
            members.update(range(previous, last + 1))
            previous = 0
        elif byte == 0x5B and pattern[position : position + 1] == b":":  # [:name:]
            close = pattern.find(b"]", position + 1)
            if close < 0:
                return None
            if close - position >= 2 and pattern[close - 1 : close] == b":":
                named = _CLASSES.get(pattern[position + 1 : close - 1])
                if named is None:
                    return None
                members.update(named)
                previous = 0
                position = close + 1
            else:  # no ":]", so the bracket is an ordinary member
                members.add(byte)
                previous = byte
        else:
            members.add(byte)
            previous = byte
    if negated:
        members = set(range(256)) - members
    if path:
        members.discard(0x2F)
    if not members:
        return b"(?!)", position + 1
    return b"[" + b"".join(re.escape(bytes((m,))) for m in sorted(members)) + b"]", position + 1
