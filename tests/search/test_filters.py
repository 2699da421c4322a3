"""Filters hold inside every lane, before anything is ranked."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from llama_index_codeindex.engine.errors import InvalidArgument, PathOutsideRoot
from llama_index_codeindex.engine.search.filters import Filters
from tests.search.helpers import ask, retriever

MANY = {f"a/f{i}.py": f"def strong_match_{i}():\n    '''strong match strong match'''\n" for i in range(200)} | {
    "b/weak.py": "def other():\n    x = 'something long before a match'\n    return x\n",
    "b/deep/more.go": "package deep\n\nfunc Match() int { return 1 }\n",
    "c/test_match.py": "def test_match():\n    assert match\n",
}


def test_a_weak_match_in_the_filter_is_found() -> None:
    assert "b/weak.py" in ask(MANY, "strong match", filters={"under": "b"})
    assert all(path.startswith("b/") for path in ask(MANY, "strong match", filters={"under": "b"}))


@pytest.mark.parametrize("under", ["b", "b/", "./b", "b/./", "b\\"])
def test_a_folder_in_any_spelling(under: str) -> None:
    assert set(ask(MANY, "match", filters={"under": under})) == {"b/weak.py", "b/deep/more.go"}


def test_a_prefix_is_a_folder_and_not_a_part_of_a_name() -> None:
    files = {"lib/a.py": "match = 1\n", "library/b.py": "match = 2\n"}
    assert ask(files, "match", filters={"under": "lib"}) == ["lib/a.py"]


def test_a_pattern_a_language_a_category_and_a_kind() -> None:
    assert ask(MANY, "match", filters={"under": "*.go"}) == ["b/deep/more.go"]
    assert ask(MANY, "match", filters={"language": "go"}) == ["b/deep/more.go"]
    assert ask(MANY, "match", filters={"category": "test"}) == ["c/test_match.py"]
    assert "c/test_match.py" not in ask(MANY, "match", top_k=50, filters={"exclude": ["c/"]})
    assert ask({"a.py": "class Match:\n    x = 1\n" + "    y = 'long'\n" * 120, "b.py": "def match(): pass\n"}, "match",
               filters={"symbol_kind": "function"}) == ["b.py"]  # fmt: skip


def test_filter_words_in_the_question() -> None:
    assert ask(MANY, "path:b/ lang:go match") == ["b/deep/more.go"]


def test_what_a_filter_took_away_is_said() -> None:
    taken = retriever(MANY, filters={"language": "rust"}).search("match")
    assert taken.empty_reason == "filtered_out" and len(taken.filtered_preview) == 3
    assert retriever(MANY, filters={"language": "rust"}).search("qwertyzzz").empty_reason == "no_known_word"


def test_unknown_keys_and_wrong_values_are_errors() -> None:
    with pytest.raises(InvalidArgument, match="'folder'"):
        retriever(MANY, filters={"folder": "b"})
    with pytest.raises(InvalidArgument, match="'under'"):
        retriever(MANY, filters={"under": 3})
    with pytest.raises(InvalidArgument, match="'author'"):
        retriever(MANY, filters=MetadataFilters(filters=[MetadataFilter(key="author", value="x")]))


@pytest.mark.parametrize("under", ["../x", "/etc", "b/../../x"])
def test_a_filter_never_leaves_the_root(under: str) -> None:
    with pytest.raises(PathOutsideRoot):
        ask(MANY, "match", filters={"under": under})


def test_nested_metadata_filters() -> None:
    go_or_weak = MetadataFilters(
        condition=FilterCondition.OR,
        filters=[
            MetadataFilter(key="language", value="go"),
            MetadataFilters(
                condition=FilterCondition.AND,
                filters=[
                    MetadataFilter(key="file_path", value="weak", operator=FilterOperator.TEXT_MATCH),
                    MetadataFilter(key="start_line", value=5, operator=FilterOperator.LT),
                ],
            ),
        ],
    )
    assert set(ask(MANY, "match", filters=go_or_weak)) == {"b/weak.py", "b/deep/more.go"}
    not_go = MetadataFilters(condition=FilterCondition.NOT, filters=[MetadataFilter(key="language", value="go")])
    assert "b/deep/more.go" not in ask(MANY, "match", top_k=200, filters=not_go)


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        (FilterOperator.EQ, "go", True),
        (FilterOperator.NE, "go", False),
        (FilterOperator.IN, ["go", "c"], True),
        (FilterOperator.NIN, ["go"], False),
        (FilterOperator.ANY, ["go"], True),
        (FilterOperator.ALL, ["go", "c"], False),
        (FilterOperator.CONTAINS, "g", True),
        (FilterOperator.TEXT_MATCH_INSENSITIVE, "GO", True),
        (FilterOperator.IS_EMPTY, None, False),
        (FilterOperator.GTE, "go", True),
        (FilterOperator.LTE, "gn", False),
    ],
)
def test_every_operator(operator: FilterOperator, value: object, expected: bool) -> None:
    from llama_index_codeindex.metadata_filters import matches

    filters = MetadataFilters(filters=[MetadataFilter(key="language", value=value, operator=operator)])
    assert matches(filters, {"language": "go"}) is expected


@pytest.mark.parametrize("given", ["src", ["src"], 7])
def test_filters_that_are_no_mapping(given: Any) -> None:
    with pytest.raises(InvalidArgument, match="mapping"):
        Filters.parse(given)
