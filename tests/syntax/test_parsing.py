"""The adapter to tree-sitter: its own test, threads, and what it says when something is missing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from llama_index_codeindex.engine.syntax.outline import outline
from llama_index_codeindex.engine.syntax.parsing import ParseProblem, parse, self_test, tags_query
from tests.syntax.test_samples import SAMPLES, read


def test_the_self_test_passes_where_grammars_are_installed() -> None:
    assert self_test() is True


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ParseProblem, match="no grammar for klingon"):
        parse("klingon", b"")
    with pytest.raises(ParseProblem, match="no grammar for klingon"):
        tags_query("klingon")


def test_a_budget_is_met() -> None:
    with pytest.raises(ParseProblem, match="too long"):
        parse("python", b"def f(): pass\n" * 5000, seconds=0)
    assert not parse("python", b"def f(): pass\n").root_node.has_error


def test_threads_do_not_share_parsers() -> None:
    sources = [read(sample)[:2] for sample in SAMPLES] * 4
    expected = [outline(name, source) for name, source in sources]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda one: outline(*one), sources)) == expected
