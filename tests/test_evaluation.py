"""Measuring retrieval: the metrics, question files, and questions made of docstrings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from llama_index_codeindex import CodeIndex
from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.evaluation import (
    Question,
    Target,
    evaluate,
    load_questions,
    ndcg,
    questions_from_docstrings,
    save_questions,
)
from tests.conftest import MakeTree


def test_ndcg_is_the_formula() -> None:
    assert ndcg([1]) == 1.0
    assert ndcg([2]) == pytest.approx(1 / math.log2(3))
    assert ndcg([1, 0]) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert ndcg([0]) == ndcg([11]) == ndcg([]) == 0.0


def test_a_target_is_met_by_overlap() -> None:
    target = Target("a.py", 5, 8)
    assert target.is_met_by("a.py", 8, 20)
    assert not target.is_met_by("a.py", 9, 20)
    assert not target.is_met_by("b.py", 5, 8)
    assert Target("a.py").is_met_by("a.py", 900, 901)


def test_questions_survive_a_file(tmp_path: Path) -> None:
    questions = [Question("wo?", (Target("straße.py", 1, 2), Target("b.py")))]
    save_questions(questions, tmp_path / "q.json")
    assert load_questions(tmp_path / "q.json") == questions
    (tmp_path / "q.json").write_text('[{"query": "a", "targets": ["x.py"]}]')
    assert load_questions(tmp_path / "q.json") == [Question("a", (Target("x.py"),))]


@pytest.mark.parametrize("text", ["", "{", '[{"query": "a"}]', '[{"query": "a", "targets": [3]}]', "[1]"])
def test_a_file_of_another_form_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(InvalidArgument):
        load_questions(tmp_path / "q.json")


SOURCE = '''\
"""A module."""


class Cache:
    """Keep values."""

    def evict(self):
        """
        Remove the value that was used longest ago.

        More.
        """
        self.values.popitem(last=False)


@decorated
def short():
    """Too short."""
'''


def test_docstrings_become_questions_and_leave_the_copy(tree: MakeTree, tmp_path: Path) -> None:
    root = tree(
        {"cache.py": SOURCE, "tests/test_cache.py": 'def test_x():\n    """Check that nothing at all breaks."""\n'}
    )
    questions = questions_from_docstrings(root, tmp_path / "copy")
    assert questions == [Question("Remove the value that was used longest ago", (Target("cache.py", 7, 13),))]
    copy = (tmp_path / "copy/cache.py").read_text()
    assert len(copy.splitlines()) == len(SOURCE.splitlines())
    assert "longest ago" not in copy
    compile(copy, "cache.py", "exec")
    with pytest.raises(InvalidArgument):
        questions_from_docstrings(root, tmp_path / "copy")


def test_an_index_is_measured(tree: MakeTree, tmp_path: Path) -> None:
    index = CodeIndex.from_path(
        tree({"a.py": "def evict_oldest():\n    pass\n", "b.py": "def unrelated():\n    pass\n"}),
        cache_dir=tmp_path / "cache", embed_model=None,
    )  # fmt: skip
    asked = [Question("evict the oldest", (Target("a.py", 1, 2),)), Question("qwertyzzz", (Target("b.py"),))]
    found = evaluate(index.as_retriever(similarity_top_k=10), asked)
    assert found.to_dict() == {"questions": 2, "ndcg": 0.5, "mrr": 0.5, "hit_rate": {1: 0.5, 3: 0.5, 5: 0.5, 10: 0.5}}
    with pytest.raises(InvalidArgument):
        evaluate(index.as_retriever(), [])
