"""Cython as the Python grammar reads it: as long, on the same lines, with every name of a definition in its place.

A head `cdef int f(int a, char *b=NULL) except -1:` becomes `def      f(    a,       b=NULL)          :`. What is only
declared becomes `name:0`, which nobody writes otherwise, and a type's name `nonlocal name`. Other declarations keep their
names and values behind a `0;`, so that they start where they did.
"""

from __future__ import annotations

import re

_MARK = re.compile(rb"^[ \t]*(?:(?:cdef|cpdef|ctypedef)\b|(?:from[ \t]+[\w.]+[ \t]+)?cimport\b)", re.MULTILINE)
_NO_CODE = re.compile(
    rb"#[^\n]*|'''(?:[^\\]|\\.)*?(?:'''|\Z)|\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"",
    re.DOTALL,
)
_DECLARES = re.compile(
    rb"[ \t]*((?:(?:cdef|cpdef|ctypedef)\b[ \t]*)?(?:(?:public|readonly|api|inline|packed|extern)\b[ \t]*)*)"
)
_BLOCK = re.compile(rb"(?:from\b.*|nogil[ \t]*)?:[ \t]*\Z")
_TYPE = re.compile(rb"(struct|union|enum(?:[ \t]+(?:class|struct))?|cppclass|class|fused)\b[ \t]*(?:\w+\.)*(\w*)")
_POINTER = re.compile(rb"\([ \t]*\*[* \t]*(?:\w+[ \t]+)*(\w+)")
# What is declared, perhaps with its name in C, its length or its parameters of types.
_NAME = re.compile(rb"(\w+)[ \t]*(?:(?:[\"']_*[\"']|\[_*\])[ \t]*)*\Z")
_DEF = re.compile(rb"[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*(\()")
_PROPERTY = re.compile(rb"[ \t]*(property)[ \t]+\w+[ \t]*:")
_PARAMETER = re.compile(rb"(\w+)[*& \t]*(?:\[_*\][ \t]*)*(?:\b(?:not|or)[ \t]+None[ \t]*)?\Z")
_PLAIN = re.compile(rb"\s*(?:\*{0,2}[ \t]*\w*|/)\s*\Z")
_KEPT = re.compile(rb"[ \t]*(?:pass\b|@|\.\.\.|[\"'])")
_LOOK_BACK = 400
_TO_SPACES = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_ELSEWHERE = tuple(
    (re.compile(pattern, re.MULTILINE), instead)
    for pattern, instead in (
        (rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?(cimport)\b", b"import"),
        (rb"^[ \t]*(include)[ \t]+[\"']", b"0;"),
        (rb"^[ \t]*(DEF)[ \t]+\w", b"0;"),
        (rb"^[ \t]*(IF)\b", b"if"),
        (rb"^[ \t]*(ELIF)\b", b"elif"),
        (rb"^[ \t]*(ELSE)\b", b"else"),
        (rb"^[ \t]*for[ \t]+\w+[ \t]+(from)\b", b" in "),
        (rb"(?:[=(,]|\breturn)[ \t]*(new)[ \t]+\w", b""),
        # <int *> x and &x
        (rb"(?:[=(,\[:+&|<>-]|\b(?:return|and|or|not|in|if|is))[ \t]*(<[ \t]*[A-Za-z_][\w.]*(?:[ \t]+\w+)*[ \t*]*"
         rb"(?:\[[:,\d \t]*\][ \t]*)?>)(?=[ \t]*[\w(&\"'\[<-])", b""),
        (rb"(?:[=(,\[>]|\breturn)[ \t]*(&)(?=[ \t]*[A-Za-z_])", b""),
    )
)  # fmt: skip


def is_cython(data: bytes) -> bool:
    """Say whether a Python source has declarations that only Cython knows."""
    return any(word in data for word in (b"cdef", b"cpdef", b"ctypedef", b"cimport")) and _MARK.search(data) is not None


def readable_cython(data: bytes) -> bytes:
    """Return the bytes to parse, as long as `data`."""
    source = _Source(data)
    source.rewrite()
    return bytes(source.out)


def _without_strings(data: bytes) -> bytes:
    """Return the same bytes with no comment, nothing in a string, and no line end inside a bracket or a string."""
    code = bytearray(data)
    for match in _NO_CODE.finditer(data):
        start, end = match.span()
        if data[start] == 0x23:
            code[start:end] = b" " * (end - start)
        else:
            code[start + 1 : end - 1] = b"_" * (end - start - 2)
    depth = 0
    for match in re.finditer(rb"[(\[{]|[)\]}]|\n[ \t]*(?:(?:cp?def|def|class)[ \t]|@)|\n", bytes(code)):
        mark = match[0]
        if mark in b"([{":
            depth += 1
        elif mark in b")]}":
            depth = max(0, depth - 1)
        elif mark != b"\n":  # a bracket was never closed
            depth = 0
        elif depth:
            code[match.start()] = 0x20
    return bytes(code).replace(b"\r", b" ")


def _flat(code: bytes) -> bytes:
    """Return the same bytes with what is inside brackets replaced."""
    flat = bytearray(code)
    depth = 0
    for index, byte in enumerate(code):
        if byte in b")]}":
            depth = max(0, depth - 1)
        if depth:
            flat[index] = 0x5F
        if byte in b"([{":
            depth += 1
    return bytes(flat)


def _last_name(flat: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """Find the last name of a span. It is not looked for in a long line, which would take the square of its length."""
    return _NAME.search(flat, max(start, end - _LOOK_BACK), end)


class _Source:
    """A source that is being rewritten. Positions are the same in all of its forms."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.code = _without_strings(data)
        self.out = bytearray(data)

    def rewrite(self) -> None:
        blocks: list[list[int]] = []  # the indents of the heads of C blocks, and of their bodies once they are seen
        start = 0
        for line in self.code.split(b"\n"):
            end = start + len(line)
            indent = len(line) - len(line.lstrip(b" \t"))
            if line.strip():
                while blocks and indent <= blocks[-1][0]:
                    blocks.pop()
                if blocks and len(blocks[-1]) == 1:
                    blocks[-1].append(indent)
                in_block = bool(blocks) and indent == blocks[-1][1]
                declares = _DECLARES.match(line)
                if declares is not None and (declares[1][:1] == b"c" or (in_block and not _KEPT.match(line))):
                    if self._declaration(start + indent, start + declares.end(), end):
                        blocks.append([indent])
                elif (head := _DEF.match(line)) is not None:
                    self._parameters(start + head.start(1), end)
                elif (head := _PROPERTY.match(line)) is not None:
                    self._put(start + head.start(1), start + head.end(1), b"class")
            start = end + 1
        for pattern, instead in _ELSEWHERE:
            for match in pattern.finditer(self.code):
                self._put(*match.span(1), instead)

    def _put(self, start: int, end: int, text: bytes = b"") -> None:
        """Write a text over a span, and spaces over what is left of it."""
        self.out[start:end] = self.data[start:end].translate(_TO_SPACES)
        if len(text) <= end - start:
            self.out[start : start + len(text)] = text

    def _declaration(self, first: int, start: int, end: int) -> bool:
        """Rewrite a declaration whose words end at `start`, and say whether it opens a block of C."""
        rest = self.code[start:end]
        if _BLOCK.match(rest):
            self._put(first, end, b"if 1:")
            return True
        if (kind := _TYPE.match(rest)) is not None:
            if rest.rstrip().endswith(b":"):
                self._type(first, start, end, kind)
                return kind[1] in (b"struct", b"union", b"cppclass", b"fused")
            start, rest = start + kind.start(2), rest[kind.start(2) :]
        is_type = self.code.startswith(b"ctypedef", first)
        flat = _flat(rest)
        skipped = flat.find(b")") + 1 if flat.startswith(b"(") else 0  # a type that is a tuple
        head = re.split(rb"[=,]", flat[skipped:], maxsplit=1)[0]
        opening = head.find(b"(") + skipped
        pointer = function = None
        if opening >= skipped and (pointer := _POINTER.match(rest, opening)) is None:
            function = _last_name(flat, skipped, opening)
        if function is not None and not is_type:
            self._function(first, start + function.start(1), start + function.end(1), start + opening, end)
            return False
        name = pointer or function or _last_name(flat, skipped, skipped + len(head))
        if name is None:
            if not rest.rstrip().endswith(b":"):
                self._put(first, end, b"0")
            return False
        at, after = start + name.start(1), start + name.end(1)
        if is_type:
            self._put(first, at, b"nonlocal ")
            self._put(after, end)
            return False
        self._put(first, at, b"0;" if at - first > 1 else b"")
        self._put(after, end if pointer is not None else start + skipped + len(head))
        return False

    def _type(self, first: int, start: int, end: int, kind: re.Match[bytes]) -> None:
        """Rewrite the head of a class, a structure or an enumeration."""
        if not kind[2] or start + kind.start(2) - first < len(b"class "):
            self._put(first, end, b"if 1:")
            return
        at, after = start + kind.start(2), start + kind.end(2)
        self._put(first, at, b"class")
        rest = self.code[after:end]
        bases = re.match(rb"[ \t]*(?:\[[^\]]*\][ \t]*)?\(", rest) if kind[1] in (b"class", b"cppclass") else None
        if bases is not None:
            after += _flat(rest).find(b")") + 1
        self._put(after, self.code.rindex(b":", after, end))

    def _function(self, first: int, at: int, after: int, opening: int, end: int) -> None:
        closing = self._parameters(opening, end)
        colon = self.code.find(b":", closing, end)
        if colon >= 0 and at - first >= len(b"def "):
            self._put(first, at, b"def")
            self._put(after, opening)
            return
        self._put(first, at, b"0;" if at - first > 1 else b"")
        self._put(after, end, b":0")

    def _parameters(self, opening: int, end: int) -> int:
        """Leave only names and values of the parameters, and nothing between them and the colon; return their end."""
        flat = _flat(self.code[opening:end])
        closing = flat.find(b")")
        if closing < 0:
            return end
        inner = self.code[opening + 1 : opening + closing]
        start = opening + 1
        for part in _flat(inner).split(b","):
            self._parameter(start, part)
            start += len(part) + 1
        colon = flat.find(b":", closing)
        if colon >= 0 and b"->" not in flat[closing:colon]:
            self._put(opening + closing + 1, opening + colon)
        return opening + closing + 1

    def _parameter(self, start: int, part: bytes) -> None:
        head, _, value = part.partition(b"=")
        end = start + len(head)
        if value.strip() in (b"*", b"?"):
            self._put(end, end + 1 + len(value))
        if _PLAIN.match(head) or b":" in head:
            return
        if head.strip() == b"...":
            self._put(start, end, b"*_")
            return
        name = _POINTER.search(self.code, start, end) if b"(" in head else None
        at, after = name.span(1) if name is not None else (start, start)
        if name is None and (plain := _PARAMETER.search(head, max(0, len(head) - _LOOK_BACK))):
            at, after = start + plain.start(1), start + plain.end(1)
        self._put(start, at)
        self._put(after, end, b"" if after > at else b"_")
