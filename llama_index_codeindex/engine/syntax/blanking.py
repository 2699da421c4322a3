"""What a grammar cannot read: blanked out before the parse, byte for byte, so that nothing moves.

A C++ grammar sees `class EXPORT_API Box {` as a function, loses what follows a lone `BEGIN_NAMESPACE`, and cannot match a
brace that is opened in two branches and closed once. Only the parser is given the blanked bytes; names, signatures and
chunks come from the file as it is.
"""

from __future__ import annotations

import re

from llama_index_codeindex.engine.syntax.cython import is_cython, readable_cython

# A macro's name as nearly everyone writes it, perhaps with arguments.
_MACRO = rb"[A-Z][A-Z0-9_]{2,}(?:[ \t]*\((?:[^()\n]|\([^()\n]*\))*\))?"
_ARGUMENTS = rb"<[^;{}()\n]{0,200}>"

_PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # class EXPORT_API Box : public Base {
        rb"\b(?:class|struct|union|enum(?:[ \t]+(?:class|struct))?)[ \t]+((?:" + _MACRO + rb"[ \t]+)+)"
        rb"(?=(?!final\b)[A-Za-z_][\w:]*(?:<[^;{}()]{0,200}>)?\s*(?:\bfinal\s*)?(?::(?!:)|\{))",
        # EXPORT template <…>, API static int f(…), DEPRECATED("…") void g(…)
        rb"^[ \t]*((?:" + _MACRO + rb"[ \t]+)+)(?=(?:template|class|struct|union|enum|inline|static|constexpr|explicit|"
        rb"namespace|virtual|friend|extern|typedef|using|auto|void|bool|const|unsigned|int|char|~\w)\b)",
        # API Result name(…), template <…> API std::vector<Result> Box<T>::name(…): three words before the parenthesis, of
        # which the first is no type
        rb"^[ \t]*(?:template[ \t]*<[^;{}()\n]{0,200}>[ \t]*)?((?:" + _MACRO + rb"[ \t]+)+)(?=(?:const[ \t]+)?"
        rb"(?!(?:const|volatile)\b)[A-Za-z_][\w:]*(?:" + _ARGUMENTS + rb"(?:::\w+)*)?(?:[ \t]+|[ \t]*[*&]+[ \t]*)"
        rb"(?:[A-Za-z_]\w*(?:" + _ARGUMENTS + rb")?::)*(?:operator[^\w\s(]{1,3}|[A-Za-z_]\w*)[ \t]*\("
        # API Box<T>::Box(…)
        rb"|(?:\w+::)*([A-Za-z_]\w*)(?:" + _ARGUMENTS + rb")?::~?\2[ \t]*\()",
        # int f() const NOEXCEPT {
        rb"\)[ \t]*(?:const[ \t]*)?\b(" + _MACRO + rb"[ \t]*)(?=\{)",
    )
)
# A macro that is alone on its line and is neither an argument, nor the last enumerator, nor the name of a function.
_ALONE = re.compile(rb"^[ \t]*(" + _MACRO + rb")[ \t]*(?=(?://[^\n]*|/\*[^\n]*\*/[ \t]*)?\r?$)", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*[^\n]*?\*/")
_OPENS = re.compile(rb"\s*(?:[{})\],=?:+*|&<>.-]|/(?![/*]))")
# What an `#if` asks may be anything, as in `__has_include(<x.h>)`.
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(?:el)?if\b((?:[^\n\\/]|\\\r?\n|\\|/(?![/*]))+)", re.MULTILINE)
_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE
)
# An enumeration with its type, as Apple's headers write it: `typedef NS_ENUM(NSInteger, Kind) {`
_APPLE_ENUM = re.compile(
    rb"\b(?:NS|CF)_(?:CLOSED_|ERROR_)?(?:ENUM|OPTIONS)[ \t]*(\([\w \t]+,[ \t]*)\w+[ \t]*(\))(?=\s*\{)"
)
_TO_SPACES = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_MACRO_LETTERS = re.compile(rb"[A-Z]{3}")


# The Kotlin grammar takes the words before `class` for an infix call where an annotation stands above them, and fails at
# `Type<*>::member` and `a..<b`.
_KOTLIN_WORDS = re.compile(
    rb"^[ \t]*(?:(?:public|private|internal|protected|expect|actual|abstract|open|final|sealed|data|inner|value|annotation)"
    rb"[ \t]+)+(?=class\b)|<\*>(?=::)|(?<=\.\.)<",
    re.MULTILINE,
)
_STRING = rb'"(?:[^"\\\n]|\\.)*"'
# An annotation with named arguments, alone on its lines, is an expression to the grammar; a comment does no harm.
_KOTLIN_ANNOTATION = re.compile(
    rb"^[ \t]*(@[\w.:]+\((?:[^()\"=]|"
    + _STRING
    + rb")*=(?:[^()\"]|"
    + _STRING
    + rb"|\((?:[^()\"]|"
    + _STRING
    + rb")*\))*\))"
    rb"(?=[ \t]*\r?$)",
    re.MULTILINE,
)


# Where a body follows `by f(x)`, the grammar takes it for the call's last argument, and fails where it has an `override`.
_KOTLIN_DELEGATE = re.compile(
    rb"^(?:[^\n\"]*(?<!:)\b(?:class|object)\b|[ \t]*\))[^\n{}]*:[^\n{}]*[ \t]"
    rb"(by[ \t]+[\w.]+(?:\((?:[^()\n]|\([^()\n]*\))*\))?)(?=[ \t]*\{)",
    re.MULTILINE,
)
# A string that starts like an arithmetic command; the grammar loses its end.
_BASH_STRING = re.compile(rb'"\(\(')
# A prototype that ends like the variable `$)`, and an arrow that ends a replacement.
_PERL_PROTOTYPE = re.compile(rb"sub[ \t]+[\w:]+[ \t]*(\([$@%&*;\\]*\$\))")
_PERL_ARROW = re.compile(rb"(->)(?<=\$\d->)(?=/[a-z]*[ \t]*;)")


def readable(language: str, data: bytes) -> bytes:
    """Return the bytes to parse: as long as `data`, with others where the grammar would stumble."""
    if language in ("c", "cpp", "objc"):
        return _blank_macros(data)
    if language == "kotlin":
        return _readable_kotlin(data)
    if language == "python":
        return readable_cython(data) if is_cython(data) else data
    if language == "bash":
        return _BASH_STRING.sub(b'"__', data)
    if language == "perl":
        return _blank_groups(_PERL_ARROW, _blank_groups(_PERL_PROTOTYPE, data))
    return data


def _blank_groups(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    """Return the same bytes with the first group of every match replaced by spaces."""
    blanked: bytearray | None = None
    for match in pattern.finditer(data):
        if blanked is None:
            blanked = bytearray(data)
        start, end = match.span(1)
        blanked[start:end] = b" " * (end - start)
    return data if blanked is None else bytes(blanked)


def _readable_kotlin(data: bytes) -> bytes:
    words = _KOTLIN_WORDS.sub(lambda match: b" " * len(match[0]), data)
    readable = bytearray(_blank_groups(_KOTLIN_DELEGATE, words) if b" by " in data else words)
    for match in _KOTLIN_ANNOTATION.finditer(data):
        start, end = match.span(1)
        readable[start:end] = data[start:end].translate(_TO_SPACES)
        while b"\n" in data[end - 2 : end]:  # the closing parenthesis may be alone on its line
            end -= 1
        readable[start : start + 2], readable[end - 2 : end] = b"/*", b"*/"
    return bytes(readable)


def _blank_macros(data: bytes) -> bytes:
    """Return the same bytes with the macros and conditions that would break the parse replaced by spaces."""
    spans = [match.span(1) for match in _CONDITION.finditer(data)] if b"#" in data else []
    conditions = len(spans)
    if _MACRO_LETTERS.search(data) is not None:
        spans.extend(match.span(1) for pattern in _PATTERNS for match in pattern.finditer(data))
        for match in _ALONE.finditer(data):
            if _ends_statement(data, match.start()) and not _OPENS.match(data, match.end()):
                spans.append(match.span(1))
    blanked = bytearray(data)
    for number, (start, end) in enumerate(spans):
        blanked[start:end] = data[start:end].translate(_TO_SPACES)
        if number < conditions and end - start > 1:
            blanked[start + 1] = ord("1")
    for match in _APPLE_ENUM.finditer(data) if b"_ENUM" in data or b"_OPTIONS" in data else ():
        start, end = match.span()
        blanked[start : match.end(1)] = b"enum".ljust(match.end(1) - start)
        blanked[match.start(2) : end] = b" "
    return bytes(blanked)


def one_branch(data: bytes, number: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the same bytes with one branch of every conditional group, and the rows of the branches left out.

    It is the branch of that number, or the last where there are fewer; `#if 0` counts as none. Rows count from 0, and the
    second of a pair is not included.
    """
    blanked = bytearray(data)
    dropped: list[tuple[int, int]] = []
    groups: list[list[tuple[int, int]]] = []  # the branches of each open group
    starts: list[int] = []  # where the branch that is being read starts in each
    for match in _DIRECTIVE.finditer(data):
        word, start, end = match[1], match.start(), match.end()
        blanked[start:end] = data[start:end].translate(_TO_SPACES)
        if word.startswith(b"if"):
            groups.append([])
            starts.append(-end if word == b"if" and match[2].strip() == b"0" else end)
            continue
        if not groups:
            continue
        if starts[-1] < 0:
            dropped.append((-starts[-1], start))
        else:
            groups[-1].append((starts[-1], start))
        starts[-1] = end
        if word == b"endif":
            branches = groups.pop()
            starts.pop()
            kept = min(number, len(branches) - 1)
            dropped.extend(branch for index, branch in enumerate(branches) if index != kept)
    for start, end in dropped:
        blanked[start:end] = data[start:end].translate(_TO_SPACES)
    return bytes(blanked), _rows(data, dropped)


def _rows(data: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    rows = []
    row, position = 0, 0
    for start, end in sorted(spans):
        row += data.count(b"\n", position, start)
        position = start
        rows.append((row, row + data.count(b"\n", start, end)))
    return rows


def _ends_statement(data: bytes, position: int) -> bool:
    """Say whether a new statement starts at a line: what is before it ended one, or is a comment or a directive."""
    while position > 0:
        start = data.rfind(b"\n", 0, position - 1) + 1
        line = _COMMENT.sub(b"", data[start:position]).strip() or data[start:position].strip()
        if line:
            if line.startswith((b"#", b"//", b"*", b"/*")) or line.endswith(b"*/"):
                return not line.endswith(b"\\")
            return line.endswith((b";", b"}", b"{", b":", b">")) or _ALONE.fullmatch(line) is not None
        position = start
    return True
