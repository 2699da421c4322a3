"""What a question asks for."""

from __future__ import annotations

import pytest

from llama_index_codeindex.engine.errors import EmptyQuery
from llama_index_codeindex.engine.search.query import name_parts, understand


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("getUserById", "symbol"),
        ("session", "symbol"),
        ("Stack.Push", "symbol"),
        ("Box::get", "symbol"),
        ("foo->bar", "symbol"),
        ("Foo#bar", "symbol"),
        ("foo()", "symbol"),
        ("empty?", "symbol"),
        ("src/app/main.go", "path"),
        ("main.go", "path"),
        ("src/", "path"),
        ("how are flags parsed", "prose"),
        ("C++", "prose"),
        ("->", "prose"),
    ],
)
def test_shape(text: str, shape: str) -> None:
    assert understand(text).shape == shape


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("where does parse_args call FlagSet", ("parse_args", "FlagSet")),
        ("what does close() do", ("close",)),
        ("who uses `retry` here", ("retry",)),
        ("fmt::arg named arguments", ("fmt::arg",)),
        ("handling of and/or logic", ()),
        ("process in b.py", ()),
        ("how is g used", ("g",)),
    ],
)
def test_names_in_prose(text: str, names: tuple[str, ...]) -> None:
    assert understand(text).names == names


def test_stop_words_go_unless_nothing_else_is_left() -> None:
    assert understand("how is the cache invalidated").terms == ("cach", "invalid")
    assert understand("if").terms == ("if",)


def test_filter_words_leave_the_question() -> None:
    query = understand("path:src/ lang:C++ open connection")
    assert query.text == "open connection"
    assert query.path_filters == ("src/",)
    assert query.languages == ("cpp",)


def test_quoted_phrases_are_kept() -> None:
    assert understand('the "not a valid flag" message').phrases == ("not a valid flag",)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "path:src lang:go"])
def test_nothing_to_ask_is_an_error(text: str) -> None:
    with pytest.raises(EmptyQuery):
        understand(text)


def test_qualified_names_split_at_every_separator() -> None:
    assert name_parts("a::b.c->d#e") == ["a", "b", "c", "d", "e"]
