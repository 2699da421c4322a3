"""What the tests of the store share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.store.builder import Embedder

Open = Callable[..., Codebase]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open code bases that are closed at the end; their indexes lie in `tmp_path / "cache"`."""
    made: list[Codebase] = []

    def open_codebase(root: Path | str, embedder: Embedder | None = None, **kwargs: object) -> Codebase:
        kwargs.setdefault("cache_dir", tmp_path / "cache")
        made.append(Codebase(root, embedder=embedder, **kwargs))  # type: ignore[arg-type]
        return made[-1]

    yield open_codebase
    for codebase in made:
        codebase.close()
