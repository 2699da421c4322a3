"""Texts that break parsers: deep, huge, unbalanced, minified, or in no grammar at all."""

from __future__ import annotations

import sys

import pytest

from llama_index_codeindex.engine.syntax.languages import BY_NAME, Language
from llama_index_codeindex.engine.syntax.outline import outline
from tests.syntax.invariants import check

SUFFIXES = (
    "py js ts tsx go java kt cs rs php rb swift dart c cpp m lua ex hs zig sql ml jl r vue json yaml toml".split()
)


def names(name: str, text: str) -> list[str]:
    return [symbol.qualified for symbol in outline(name, text).symbols]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_deep_trees_do_not_recurse(suffix: str) -> None:
    limit = sys.getrecursionlimit()
    for text in (
        "x = a" + ".b()" * 1500 + "\n",  # beyond the limit of the interpreter's own stack
        "x = " + "(" * 3000 + "1" + ")" * 3000 + "\n",
        "x = " + "[" * 1500 + "1" + "]" * 1500 + "\n",
        "type X = " + "A<" * 500 + "B" + ">" * 500 + ";\n",
        "(" * 3000 + "\n",
    ):
        check(f"a.{suffix}", text)
    assert sys.getrecursionlimit() == limit


def test_what_follows_a_deep_tree_is_found() -> None:
    assert names("a.py", "x = a" + ".b()" * 3000 + "\n\n\ndef after(): pass\n") == ["x", "after"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", "".join(f"function f{i}() {{\n" for i in range(2000)) + "}\n" * 2000),
        ("a.java", "".join(f"class F{i} {{\n" for i in range(2000)) + "}\n" * 2000),
        ("a.py", "".join(" " * i + f"class C{i}:\n" for i in range(300)) + " " * 300 + "pass\n"),
        ("a.md", "".join("#" * (i % 6 + 1) + f" Title {i}\n\ntext\n\n" for i in range(2000))),
    ],
)
def test_definitions_may_be_nested_without_end(name: str, text: str) -> None:
    check(name, text)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.js", "function f{}(a,b){{return a+b}}"),
        ("a.ts", "function f{}(a,b){{return a+b}}"),
        ("a.c", "int f{}(int a){{return a;}}"),
    ],
)
def test_a_bundle_on_one_line_keeps_to_its_own_size(name: str, line: str) -> None:
    text = "".join(line.format(i) for i in range(20_000))
    found = check(name, text)
    assert len(found.symbols) == 20_000
    assert {(s.start_line, s.end_line) for s in found.symbols} == {(1, 1)}
    assert sum(len(c.text) for c in found.chunks) + sum(len(s.signature) for s in found.symbols) <= 1.5 * len(text)


def test_huge_comments_literals_and_lines_stay_inside_the_limit() -> None:
    check("a.py", "# note\n" * 3000 + "def f(): pass\n")
    check("a.py", "D = {\n" + "".join(f'    "k{i}": {i},\n' for i in range(5000)) + "}\n")
    check("a.py", f'x = "{"y" * 20_000}"\n' + "z" * 20_000 + "\n" + " " * 20_000 + "\n")
    check("a.txt", ("w" * 20_000 + "\n") * 3)


def test_carriage_returns_alone_are_one_line_within_the_limit() -> None:
    found = check("a.py", "def f():\r    pass\r\rclass A:\r    def g(self): pass\r" * 100)
    assert {chunk.start_line for chunk in found.chunks} == {1}


def test_bytes_and_characters_never_mix() -> None:
    text = "# " + "é計🎉" * 50 + '\nname = "ü"; größe = 2\n\n\ndef área(日本: int): pass  # ✓\nclass Ω: pass\n'
    found = check("a.py", text, 100)
    assert [(s.name, s.name_line) for s in found.symbols] == [("name", 2), ("größe", 2), ("área", 5), ("Ω", 6)]
    assert found.symbols[2].signature == "def área(日本: int): pass # ✓"


def test_lone_surrogates_are_no_error() -> None:
    assert names("a.py", 'x = "\ud800"\ndef f(): pass\n') == ["x", "f"]


def test_errors_cost_only_themselves() -> None:
    assert names("a.py", "def before(): pass\nclass (((:\n  ???\ndef after(): pass\n") == ["before", "after"]
    assert {"A.f", "A.g"} <= set(names("a.java", "class A { void f() { int = ; } void g() {} }\n"))
    assert "last" in names("a.go", "package a\nfunc first() { x := }\nfunc last() {}\n")
    assert "User" in names("a.kt", "val a = Foo<*>::bar as Baz\nclass User\n")
    assert "load" in names("a.kt", "fun f() { for (i in 0..<9) {} }\nfun load() {}\n")


def test_a_sql_function_whose_body_the_grammar_cannot_read_is_still_named() -> None:
    text = "CREATE FUNCTION check_it(b boolean) RETURNS void LANGUAGE plpgsql AS $body$\nBEGIN\n    ASSERT b IS TRUE;\nEND;\n"
    assert names("a.sql", text + "$body$;\nCREATE FUNCTION f(a int) RETURNS void AS 'x' LANGUAGE sql;\n") == [
        "check_it",
        "f",
    ]


def test_a_class_whose_braces_the_grammar_cannot_match_is_still_named() -> None:
    found = outline("a.kt", "class Broken {\n    fun first() { val x = }}}} ${\n    fun second() {}\n")
    assert "Broken" in [s.name for s in found.symbols]


def test_a_parse_that_takes_too_long_falls_back_to_lines_and_says_so() -> None:
    text = "def f(): pass\n" * 2000
    found = outline("a.py", text, parse_seconds=0)
    assert (found.problem, found.structural, found.symbols) == ("the parse took too long", False, ())
    assert "".join(chunk.text for chunk in found.chunks) == text
    assert max(c.end_line - c.start_line + 1 for c in found.chunks) <= 60
    assert len(outline("a.py", text).symbols) == 2000  # the stopped parser left nothing behind


def test_a_missing_grammar_falls_back_to_lines_and_says_so() -> None:
    found = outline("a.qux", "def f(): pass\n", language=Language("quux", "quux"))
    assert (found.problem, found.structural) == ("no grammar for quux", False)
    assert [chunk.text for chunk in found.chunks] == ["def f(): pass\n"]
    without_query = outline("a.qux", "x\n", language=Language("quux", "commonlisp"))
    assert without_query.problem == "no query for commonlisp"


def test_text_needs_no_grammar_and_has_no_problem() -> None:
    found = outline("LICENSE", "Permission is hereby granted\n")
    assert (found.language, found.problem, found.structural) == ("text", "", False)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.rs", "impl A { fn new() {} } impl B { fn new() {} }\n"),
        ("a.py", "def f(): pass; f()\n" * 3),
        ("a.java", "class A { void f(int a) {} void f(String a) {} }\n"),
        ("a.rs", "m!{} m!{}\n"),
    ],
)
def test_equal_definitions_never_share_an_id(name: str, line: str) -> None:
    check(name, line, 40)
    check(name, (line + "\n" * 2) * 400)


def test_rust_impls_on_one_line_keep_their_owners() -> None:
    assert names("a.rs", "impl A { fn new() {} } impl B { fn new() {} }\n") == ["A::new", "B::new"]


def test_vue_lines_are_the_files_lines() -> None:
    text = (
        "<template>\n"
        + "  <p>x</p>\n" * 27
        + "</template>\n"
        + '<script setup lang="ts">\nconst useCart = () => 1\n</script>\n'
    )
    [symbol] = check("a.vue", text).symbols
    assert (symbol.name, symbol.start_line, symbol.kind) == ("useCart", 31, "function")


def test_script_tags_that_never_end_are_read_in_one_pass() -> None:
    check("a.vue", "<script>" * 20_000)
    check("a.svelte", "---\n" * 5000)


def test_a_language_can_be_given() -> None:
    assert [s.name for s in outline("no-suffix", "def f(): pass\n", language=BY_NAME["python"]).symbols] == ["f"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.py", "def f(): pass\n"), ("a.c", "int f(void) { return 1; }\n"), ("a.go", "package f\nfunc f() {}\n")],
)
def test_a_byte_order_mark_hides_nothing(name: str, text: str) -> None:
    assert names(name, "\ufeff" + text) == ["f"]
