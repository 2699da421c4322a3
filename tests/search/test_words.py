"""Text to terms: what is split, kept, folded and stemmed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.syntax.words import count_terms, fold_accents, term_hash, terms, terms_of


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("parseHTMLResponse", ["parsehtmlresponse", "pars", "html", "respons"]),
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("user_id", ["user_id", "user", "id"]),
        ("SCREAMING_SNAKE", ["screaming_snake", "scream", "snake"]),
        ("utf8_decode", ["utf8_decode", "utf", "utf8", "decod"]),
        ("HTTP2Server", ["http2server", "http", "http2", "server"]),
        ("users", ["user"]),
        ("x", []),
        ("404", ["404"]),
    ],
)
def test_an_identifier_is_kept_whole_and_split(word: str, expected: list[str]) -> None:
    found = list(terms_of(word))
    assert [term for term in found if term in expected] == expected


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# 计算加班费", "加班"),
        ("# café naïve", "café"),
        ("# cafe", "café"),
        ("// сохраняет соединения", "соединение"),
        ("# ファイルを読み込む", "ファイル"),
        ("# İSTANBUL ılık", "istanbul"),
        ("# große Straße", "STRASSE"),
        ("kebab-case-name", "kebab"),
        ("ТокенДоступа", "токен"),
        ("# จัดการไฟล์", "ไฟล์"),
    ],
)
def test_both_sides_meet_in_every_script(text: str, wanted: str) -> None:
    assert set(terms(wanted)) & set(terms(text))


def test_operators_have_no_terms_and_do_not_fail() -> None:
    assert terms("-> :: != && ++ <=>") == []


def test_long_noise_has_no_terms() -> None:
    assert terms("A" * 500) == []


def test_accents_fold_but_signs_of_other_scripts_stay() -> None:
    assert fold_accents("Ünïcödé") == "Unicode"
    assert fold_accents("が") == "が"


@given(st.text(max_size=60))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_any_text_gives_terms_that_count_alike(text: str) -> None:
    listed = terms(text)
    counted = count_terms(text)
    assert sum(counted.values()) == len(listed)
    assert all(counted[term] == listed.count(term) for term in counted)


def test_a_term_has_the_same_hash_everywhere() -> None:
    assert term_hash("parse") == 3537208424
