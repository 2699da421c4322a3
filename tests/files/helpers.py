"""Small helpers that say what a walk found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from llama_index_codeindex.engine.files.walk import WalkOptions, walk
from llama_index_codeindex.engine.model import Gap, SourceFile

Content = str | bytes


def write(root: Path, files: Mapping[str, Content] | list[str]) -> None:
    """Write files below a folder; a list of paths gives each a line of its own."""
    contents: Mapping[str, Content] = {path: f"# {path}\n" for path in files} if isinstance(files, list) else files
    for path, content in contents.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())


def walked(root: Path, options: WalkOptions | None = None) -> tuple[set[str], dict[str, str]]:
    """Return the admitted paths, without ignore files, and the reasons of the gaps; no path may come twice."""
    found = list(walk(root.resolve(), options))
    assert len({item.path for item in found}) == len(found)
    files = {item.path for item in found if isinstance(item, SourceFile)}
    gaps: dict[str, str] = {item.path: item.reason for item in found if isinstance(item, Gap)}
    return {path for path in files if os.path.basename(path) not in (".gitignore", ".codeindexignore")}, gaps


def admitted(root: Path, options: WalkOptions | None = None) -> set[str]:
    """Return the admitted paths, without ignore files."""
    return walked(root, options)[0]
