"""git's wildmatch, translated to regular expressions over bytes.

git matches paths as bytes and has corners that no glob library shares: `?` is one byte, a class never matches `/`,
an unclosed class or a trailing backslash matches nothing, and `**` means "any depth" only as a whole path part.

A plain translation would let a hostile rule such as `*a*a*a*a*b` take exponential time. But between two stars it is
enough to try the leftmost match: whatever a later star reaches from further right, it reaches from there too. So
patterns with many stars become chains of atomic steps, written as a look-ahead and a back-reference to what it saw.

No expression matches a NUL byte, which no path has: so many paths, joined by NULs, can be searched at once.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# What a star comes to where it may match a slash.
STAR = rb"[^\0]*"

_WILDCARDS = b"*?[\\"

# With fewer stars the plain form is at worst quadratic in a path's length, and twice as fast in the common case.
_ATOMIC_FROM = 3

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


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a pattern: one byte (`greedy` alone), a star inside a path part, or a star that crosses parts."""

    kind: str  # "one", "star" or "deep"
    greedy: bytes
    lazy: bytes = b""


@lru_cache(maxsize=8192)  # nested ignore files repeat each other's lines
def translate(pattern: bytes, *, path: bool) -> bytes | None:
    """Return the regular expression whose `fullmatch` agrees with git, or None when the pattern can match nothing.

    Args:
        pattern: The pattern, without a leading `!` and without the trailing `/`.
        path: Whether `*`, `?` and classes stop at `/`, as git has it for patterns with a slash.
    """
    parts = _parse(pattern, path=path)
    if parts is None:
        return None
    if sum(part.kind != "one" for part in parts) < _ATOMIC_FROM:
        return b"".join(part.greedy for part in parts)
    return _Chain().deep(parts)


@lru_cache(maxsize=8192)
def compile_expression(expression: bytes, ignore_case: bool = False) -> re.Pattern[bytes]:
    """Compile what `translate` returned."""
    return re.compile(expression, re.IGNORECASE if ignore_case else 0)


def is_plain(expression: bytes) -> bool:
    """Say whether an expression has no named groups, so that it can be an alternative among others."""
    return b"(?P<" not in expression


def _parse(pattern: bytes, *, path: bool) -> list[_Part] | None:
    parts: list[_Part] = []
    position, length = 0, len(pattern)
    while position < length:
        byte = pattern[position : position + 1]
        position += 1
        if byte == b"\\":
            if position == length:
                return None
            parts.append(_Part("one", re.escape(pattern[position : position + 1])))
            position += 1
        elif byte == b"?":
            parts.append(_Part("one", rb"[^/\0]" if path else rb"[^\0]"))
        elif byte == b"*":
            first = position - 1
            while pattern[position : position + 1] == b"*":
                position += 1
            if not path:
                parts.append(_Part("star", STAR, STAR + b"?"))
            elif position - first == 1 or not _is_whole_part(pattern, first, position):
                parts.append(_Part("star", rb"[^/\0]*", rb"[^/\0]*?"))
            elif pattern[position : position + 1] == b"/":
                parts.append(_Part("deep", rb"(?:[^\0]*/)?", rb"(?:[^\0]*?/)??"))
                position += 1
            else:
                parts.append(_Part("deep", STAR, STAR + b"?"))
        elif byte == b"[":
            parsed = _parse_class(pattern, position, path=path)
            if parsed is None:
                return None
            expression, position = parsed
            parts.append(_Part("one", expression))
        else:
            parts.append(_Part("one", re.escape(byte)))
    return parts


class _Chain:
    """Joins parts into an expression that never goes back behind a star that has found its place."""

    def __init__(self) -> None:
        self.groups = 0

    def deep(self, parts: list[_Part]) -> bytes:
        """Join parts with stars that cross slashes: what lies between two of them is one step."""
        head, rest = _split(parts, "deep")
        out = self._stars(head)
        for index, (star, chunk) in enumerate(rest):
            inner = self._stars(chunk)
            is_last = index == len(rest) - 1
            out += star.greedy + inner if is_last else self._atomic(star.lazy + inner)
        return out

    def _stars(self, parts: list[_Part]) -> bytes:
        """Join parts with stars inside a path part."""
        head, rest = _split(parts, "star")
        out = b"".join(part.greedy for part in head)
        for index, (star, chunk) in enumerate(rest):
            inner = b"".join(part.greedy for part in chunk)
            is_last = index == len(rest) - 1
            out += star.greedy + inner if is_last else self._atomic(star.lazy + inner)
        return out

    def _atomic(self, expression: bytes) -> bytes:
        self.groups += 1
        name = b"g%d" % self.groups
        return b"(?=(?P<" + name + b">" + expression + b"))(?P=" + name + b")"


def _split(parts: Iterable[_Part], kind: str) -> tuple[list[_Part], list[tuple[_Part, list[_Part]]]]:
    """Return the parts before the first star of a kind, and each such star with the parts after it."""
    head: list[_Part] = []
    rest: list[tuple[_Part, list[_Part]]] = []
    for part in parts:
        if part.kind == kind:
            rest.append((part, []))
        else:
            (rest[-1][1] if rest else head).append(part)
    return head, rest


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
    members.discard(0)
    if path:
        members.discard(0x2F)
    if not members:
        return b"(?!)", position + 1
    return b"[" + b"".join(re.escape(bytes((m,))) for m in sorted(members)) + b"]", position + 1
