"""Jupyter notebooks: the sources of the cells, each on the line of the `.ipynb` file where it stands.

Outputs are pictures and tables in base64, and what a program printed: no part of the code, and often private. So all
that is not a cell's source becomes empty lines, which keeps every line number that of the file on disk.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

# A cell whose source is one JSON string stands on one line of the file; its own line ends are shown as this.
LINE_END = " ⏎ "

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^ \t\r\n,\]}]+")

_DECODER = json.JSONDecoder()

_Key = str | int | None


def cell_sources(text: str) -> str | None:
    """Return a notebook's text with all but the cells' sources blanked, or None if it is no notebook.

    Args:
        text: The JSON text of the file.
    """
    try:
        notebook = json.loads(text)
        if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
            return None
        strings = _Scanner(text).strings()
    except (ValueError, RecursionError):
        return None
    lines = [""] * (text.count("\n") + 1)
    line, counted = 0, 0
    for start, value in strings:
        line += text.count("\n", counted, start)
        counted = start
        value = value.removesuffix("\n").removesuffix("\r")
        if lines[line]:
            value = lines[line] + LINE_END + value
        lines[line] = re.sub(r"\r?\n", LINE_END, value)
    return "\n".join(lines)


def _is_source(path: list[_Key]) -> bool:
    """Say whether a string at this place is a cell's source, or one line of it."""
    if isinstance(path[-1], int) and path[-2:-1] in (["source"], ["input"]):
        path = path[:-1]
    if path[-1] not in ("source", "input"):  # the second in code cells of nbformat 3
        return False
    shape = [None if isinstance(name, int) else name for name in path[:-1]]
    return shape in (["cells", None], ["worksheets", None, "cells", None])


@dataclass(slots=True)
class _Scanner:
    """Walks valid JSON without recursion and keeps the place of every source string."""

    text: str
    found: list[tuple[int, str]] = field(default_factory=list)

    def strings(self) -> list[tuple[int, str]]:
        """Return offset and value of the source strings, in order."""
        text = self.text
        path: list[_Key] = []  # one entry for each open container: the key or the index we are at
        position = 0
        expects_key = False
        while True:
            position = _skip(text, position)
            if position >= len(text):
                return self.found
            mark = text[position]
            if mark == "{":
                path.append(None)
                expects_key = True
                position += 1
            elif mark == "[":
                path.append(0)
                position += 1
            elif mark in "}]":
                path.pop()
                expects_key = False
                position += 1
            elif mark == ",":
                position += 1
                last = path[-1]
                if isinstance(last, int):
                    path[-1] = last + 1
                else:
                    expects_key = True
            elif mark == '"':
                value, end = _DECODER.raw_decode(text, position)
                if expects_key:
                    path[-1] = value
                    expects_key = False
                    end = _skip(text, end) + 1  # the colon
                elif path and _is_source(path):
                    self.found.append((position, value))
                position = end
            else:
                scalar = _SCALAR.match(text, position)
                if scalar is None:
                    raise ValueError("not JSON")
                position = scalar.end()


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()
