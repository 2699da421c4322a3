"""Folders that tools fill and that hold nothing written by hand."""

from __future__ import annotations

import os
from collections.abc import Set

# Names that are also used for source (`lib`, `build`, `dist`, `out`, `vendor`) are left to the ignore rules. Tracked
# files in these are read all the same.
CACHE_DIRS = frozenset(
    b"""
    .hg .svn .bzr node_modules bower_components jspm_packages __pycache__ .venv .tox .nox .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .ipynb_checkpoints .eggs .next .nuxt .svelte-kit .parcel-cache .turbo .gradle .terraform
    .dart_tool .stack-work .bloop .metals .zig-cache
    """.split()
)
_MARKS = frozenset((b"CACHEDIR.TAG", b"pyvenv.cfg"))  # cache folders and virtual environments say so themselves
_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


def says_it_is_a_cache(folder: bytes, names: Set[bytes]) -> bool:
    """Say whether a folder with these names in it has a mark of cache folders."""
    if _MARKS.isdisjoint(names):
        return False
    if b"pyvenv.cfg" in names:
        return True
    try:
        with open(os.path.join(folder, b"CACHEDIR.TAG"), "rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False
