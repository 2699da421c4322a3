"""The paths of a generation as one text, in which a part is found without asking every row of a table."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator

_END = "\0"  # no path holds it


class PathTable:
    """Finds files by a part of their path.

    Args:
        files: The id of each file, and its path in the form in which paths are looked up.
    """

    def __init__(self, files: Iterable[tuple[int, str]]) -> None:
        self._ids = array("q")
        self._starts = array("q")
        keys: list[str] = []
        size = 0
        for file_id, key in files:
            self._ids.append(file_id)
            self._starts.append(size)
            keys.append(key)
            size += len(key) + 1
        self._text = _END.join([*keys, ""])

    def holding(self, part: str) -> Iterator[tuple[int, str]]:
        """Yield the id and the path of every file whose path has this part."""
        if not part or _END in part:
            return
        found = self._text.find(part)
        while found >= 0:
            place = bisect_right(self._starts, found) - 1
            end = self._text.index(_END, found)
            yield self._ids[place], self._text[self._starts[place] : end]
            found = self._text.find(part, end)
