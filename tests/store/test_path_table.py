"""A part of a path is found wherever it is, and never across two paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llama_index_codeindex.engine.store.path_table import PathTable

PATHS = st.text(st.sampled_from("ab/.\né"), min_size=1, max_size=6)


@given(st.lists(PATHS, unique=True, max_size=12), st.text(st.sampled_from("ab/.\né\0"), max_size=3))
def test_finds_what_asking_each_path_finds(paths: list[str], part: str) -> None:
    found = list(PathTable(enumerate(paths)).holding(part))
    assert found == [(number, path) for number, path in enumerate(paths) if part and part in path]
