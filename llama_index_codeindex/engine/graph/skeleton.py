"""The skeleton of a code base: its folders with their file counts, as fine as there is room for."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from llama_index_codeindex.engine.context.fence import inert
from llama_index_codeindex.engine.store.relations import Node

# Folders named side by side; what is beyond is counted together.
_MAX_SIBLINGS = 10
# Characters of the skeleton's short names that one token holds, rather fewer than more.
_CHARS_PER_TOKEN = 2.0
_MAX_LANGUAGES = 4


@dataclass(slots=True)
class Folder:
    """A folder: all files below it, those directly in it, and the folders inside."""

    path: str
    count: int = 0
    lines: int = 0
    files: list[Node] = field(default_factory=list)
    children: dict[str, Folder] = field(default_factory=dict)

    def inner(self) -> Folder:
        """Return the first folder below that is more than a corridor to another."""
        folder = self
        while not folder.files and len(folder.children) == 1:
            folder = next(iter(folder.children.values()))
        return folder

    def parts(self) -> list[Folder]:
        """Return the folders inside, largest first, each where its corridor ends."""
        return sorted((child.inner() for child in self.children.values()), key=lambda f: (-f.count, f.path))


def build_tree(nodes: Iterable[Node]) -> Folder:
    """Return the root folder of some files."""
    root = Folder("")
    for node in nodes:
        folder = root
        folder.count += 1
        folder.lines += node.lines
        names = node.path.split("/")
        for depth, name in enumerate(names[:-1], 1):
            folder = folder.children.setdefault(name, Folder("/".join(names[:depth])))
            folder.count += 1
            folder.lines += node.lines
        folder.files.append(node)
    return root


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The text, and the same as pairs of folder and file count."""

    text: str
    folders: tuple[tuple[str, int], ...]


def draw_skeleton(nodes: Sequence[Node], tokens: int) -> Skeleton:
    """Return the skeleton of all files in about so many tokens: the largest folders are opened first."""
    root = build_tree(nodes)
    top = root.inner()
    opened: set[str] = set()
    room = tokens * _CHARS_PER_TOKEN
    heap = [(-top.count, top.path, top)]
    while heap:
        _, path, folder = heapq.heappop(heap)
        shown = folder.parts()[:_MAX_SIBLINGS]
        cost = sum(len(child.path) - len(path) + 6 for child in shown)
        if not shown or (cost > room and opened):
            continue
        room -= cost
        opened.add(path)
        for child in shown:
            heapq.heappush(heap, (-child.count, child.path, child))
    spoken = Counter(node.language for node in nodes).most_common()
    spoken.sort(key=lambda entry: (-entry[1], entry[0]))
    languages = ", ".join(f"{name} {count}" for name, count in spoken[:_MAX_LANGUAGES])
    listed: list[tuple[str, int]] = []
    inside = _inside(top, opened, listed)
    prefix = f"{inert(top.path)}/ " if top.path else ""
    text = f"{len(nodes)} files, {root.lines} lines: {languages}"
    return Skeleton(text + (f"\nfolders: {prefix}{inside}" if inside else ""), tuple(listed))


def _inside(folder: Folder, opened: set[str], listed: list[tuple[str, int]]) -> str:
    if folder.path not in opened:
        return ""
    parts = folder.parts()
    texts = []
    for part in parts[:_MAX_SIBLINGS]:
        listed.append((part.path, part.count))
        name = part.path[len(folder.path) :].lstrip("/")
        inside = _inside(part, opened, listed)
        texts.append(f"{inert(name)}/ {part.count}" + (f" ({inside})" if inside else ""))
    rest = len(parts) - _MAX_SIBLINGS
    return ", ".join(texts) + (f", +{rest}" if rest > 0 else "")
