from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from tests.conftest import MakeTree

Indexed = Callable[[Mapping[str, str]], Codebase]


@pytest.fixture
def indexed(tree: MakeTree, tmp_path: Path) -> Iterator[Indexed]:
    """Write files and index them."""
    made: list[Codebase] = []

    def make(files: Mapping[str, str]) -> Codebase:
        codebase = Codebase(tree(files), tmp_path / "cache")
        codebase.refresh()
        made.append(codebase)
        return codebase

    yield make
    for codebase in made:
        codebase.close()
