"""Where the keys of JSON and TOML texts stand: their parsers give values without lines.

Both functions read texts that their parser has already accepted, so that tokens are all there is to look at.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],\n]', re.DOTALL)
# Keys below are never asked for; without a limit the paths of a deeply nested text would need quadratic memory.
_MAX_DEPTH = 12

_TOML_TOKEN = re.compile(
    r"""
      \"{3}(?:[^\\]|\\.)*?\"{3,5} | '{3}.*?'{3,5} | "(?:[^"\\\n]|\\.)*" | '[^'\n]*'
    | \#[^\n]* | [A-Za-z0-9_-]+ | \[\[ | \]\] | [=\[\]{}\n]
    """,
    re.VERBOSE | re.DOTALL,
)


def json_lines(text: str) -> dict[Path, int]:
    """Return the line of every key and list element of a JSON text, by the way to it."""
    found: dict[Path, int] = {}
    way: list[str | int] = []  # the key or index under way, one per open bracket
    closing: list[str] = []
    line, wants_key = 1, False
    for match in _JSON_TOKEN.finditer(text):
        word = match[0]
        if word == "\n":
            line += 1
        elif word in "}]":
            way.pop()
            closing.pop()
            wants_key = False
        elif word == ",":
            wants_key = closing[-1] == "}"
            if not wants_key:
                way[-1] = int(way[-1]) + 1
        elif wants_key:
            way[-1] = json.loads(word)
            wants_key = False
            _note(found, way, line)
        else:  # a value begins
            if closing and closing[-1] == "]":
                _note(found, way, line)
            if word in "{[":
                closing.append("}" if word == "{" else "]")
                way.append("" if word == "{" else 0)
                wants_key = word == "{"
    return found


def _note(found: dict[Path, int], way: list[str | int], line: int) -> None:
    if len(way) <= _MAX_DEPTH:
        found[tuple(way)] = line


@dataclass(slots=True)
class TomlLines:
    """Lines of a TOML text: `keys` by the way to them, `strings` of a key's value with theirs."""

    keys: dict[Path, int] = field(default_factory=dict)
    strings: dict[Path, dict[str, int]] = field(default_factory=dict)


class _TomlScanner:
    """Follows tables, keys and values through the tokens of a TOML text."""

    def __init__(self) -> None:
        self.found = TomlLines()
        self._header: Path = ()
        self._tables: dict[Path, int] = {}  # how many tables an array of tables has so far
        self._parts: list[str] = []
        self._value: Path | None = None
        self._is_array = self._is_header = False
        self._depth = 0

    def scan(self, text: str) -> TomlLines:
        line = 1
        for match in _TOML_TOKEN.finditer(text):
            word = match[0]
            if word == "\n":
                self._end_line(line)
                line += 1
            elif word[0] != "#":
                self._take(word, line)
                line += word.count("\n")
        self._end_line(line)
        return self.found

    def _take(self, word: str, line: int) -> None:
        if self._value is not None:
            self._take_value(word, line)
        elif word in ("[", "[[") and not self._parts:
            self._is_header, self._is_array = True, word == "[["
        elif word == "=":
            self._value = (*self._header, *self._parts)
            self.found.keys[self._value] = line
            for end in range(len(self._header) + 1, min(len(self._value), _MAX_DEPTH)):
                self.found.keys.setdefault(self._value[:end], line)  # `a.b = 1` is where `a` stands, too
        elif word[0] not in "[]{}":
            self._parts.append(_unquoted(word))

    def _take_value(self, word: str, line: int) -> None:
        if word[0] in "[{":
            self._depth += len(word)
        elif word[0] in "]}":
            self._depth -= len(word)
        elif word[0] in "\"'" and self._value is not None:
            self.found.strings.setdefault(self._value, {}).setdefault(_unquoted(word), line)

    def _end_line(self, line: int) -> None:
        if self._depth > 0:
            return
        if self._is_header:
            self._open_table(line)
        self._parts, self._value, self._is_header, self._depth = [], None, False, 0

    def _open_table(self, line: int) -> None:
        way: list[str | int] = []
        for number, part in enumerate(self._parts, 1):
            way.append(part)
            key = tuple(way)
            if number == len(self._parts) and self._is_array:
                self._tables[key] = self._tables.get(key, 0) + 1
            if key in self._tables:
                way.append(self._tables[key] - 1)
        self._header = tuple(way)
        self.found.keys[self._header] = line


def toml_lines(text: str) -> TomlLines:
    """Return where the keys and strings of a TOML text stand."""
    return _TomlScanner().scan(text)


def _unquoted(word: str) -> str:
    for quote in ('"""', "'''", '"', "'"):
        if word.startswith(quote):
            return word[len(quote) : -len(quote)]
    return word
