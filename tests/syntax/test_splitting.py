"""Splitting any text: pieces inside the limits that joined give the original."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.syntax.splitting import Limits, split_oversized

_PIECES = st.sampled_from(["a", "bb ", "\n", "\n\n", "f(x);", "  ", "é", "\r\n", "x" * 30, "\u2028", "🎉", "}\n"])


def tokens(text: str) -> int:
    return len(re.findall(r"\w+|\W", text))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    pieces=st.lists(_PIECES, max_size=120),
    max_chars=st.integers(1, 200),
    max_lines=st.none() | st.integers(1, 8),
    max_tokens=st.none() | st.integers(1, 60),
)
def test_pieces_are_inside_the_limits_and_joined_give_the_text(
    pieces: list[str], max_chars: int, max_lines: int | None, max_tokens: int | None
) -> None:
    text = "".join(pieces)
    limits = Limits(max_chars, max_lines, max_tokens, tokens)
    split = split_oversized(text, limits)
    assert "".join(split) == text
    assert all(limits.admit(piece) for piece in split)


def test_every_limit_changes_the_pieces() -> None:
    text = "".join(f"line {n}\n" for n in range(40))
    whole = split_oversized(text, Limits(1000))
    assert whole == [text]
    by_chars = split_oversized(text, Limits(100))
    by_lines = split_oversized(text, Limits(1000, max_lines=3))
    by_tokens = split_oversized(text, Limits(1000, max_tokens=20, count_tokens=tokens))
    assert max(map(len, by_chars)) <= 100 < max(map(len, whole))
    assert max(piece.count("\n") for piece in by_lines) <= 3
    assert max(map(tokens, by_tokens)) <= 20
    assert len({len(by_chars), len(by_lines), len(by_tokens), 1}) == 4


def test_cuts_prefer_statements_to_lines_and_lines_to_characters() -> None:
    text = "def f():\n    a = 1\n    b = 2\n\ndef g():\n    c = 3\n    d = 4\n"
    assert split_oversized(text, Limits(50)) == [text[: text.index("def g")], text[text.index("def g") :]]
    assert split_oversized("word " * 40, Limits(48)) == [
        "word " * 9,
        "word " * 9,
        "word " * 9,
        "word " * 9,
        "word " * 4,
    ]
    assert split_oversized("x" * 10, Limits(4)) == ["xxxx", "xxxx", "xx"]


def test_a_token_limit_without_a_tokenizer_is_no_limit() -> None:
    assert split_oversized("a b c", Limits(100, max_tokens=1)) == ["a b c"]


@pytest.mark.parametrize("limit", [1, 7])
def test_one_character_is_always_taken(limit: int) -> None:
    assert split_oversized("abc", Limits(limit, max_tokens=1, count_tokens=lambda text: 9 if text else 0)) == [
        "a",
        "b",
        "c",
    ]
