"""Where files are cut: along definitions, without losing or repeating a line."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.syntax.chunking import Span, chunk_lines, nest, split_lines
from llama_index_codeindex.engine.syntax.outline import chunk_of_line, outline
from tests.syntax.invariants import check

PROPERTY = settings(deadline=None, derandomize=True, max_examples=100)
_PIECES = st.sampled_from(
    [
        "def f(x):\n",
        "    return 1\n",
        "class Größe:\n",
        "    def m(self): pass\n",
        "@deco\n",
        "# note\n",
        "\n",
        "  \n",
        "x = 1\n",
        "}\n",
        "if (a) {\n",
        "function g() {\n",
        '"""\n',
        "((((\n",
        "\f\n",
        "a\u2028b\n",
        "\r",
        "x" * 90 + "\n",
        "end\n",
        "template <class T>\n",
        "#if A\n",
        "#else\n",
        "#endif\n",
        "- a: 1\n",
        "# Title\n",
        "```\n",
        "    \t",
        "é",
        "\ud800",
        "\x00",
    ]
)
_NAMES = st.sampled_from(
    ["a.py", "a.js", "a.ts", "a.cpp", "a.go", "a.rb", "a.hs", "a.ex", "a.md", "a.yaml", "a.vue", "a.kt", "a.txt"]
)


@PROPERTY
@given(name=_NAMES, pieces=st.lists(_PIECES, max_size=40), max_chars=st.sampled_from([40, 100, 1200]))
def test_any_text_is_covered_exactly_once(name: str, pieces: list[str], max_chars: int) -> None:
    check(name, "".join(pieces), max_chars)


@PROPERTY
@given(
    lines=st.lists(st.text(string.ascii_letters + " {}();", max_size=60), max_size=40),
    spans=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 20)), max_size=12),
    max_chars=st.integers(40, 300),
)
def test_any_spans_leave_every_line_in_one_chunk(
    lines: list[str], spans: list[tuple[int, int]], max_chars: int
) -> None:
    kept = [line + "\n" for line in lines]
    inside = [Span(s, min(s + n, len(kept)), f"n{s}", "function", "") for s, n in spans if s <= len(kept)]
    seen: list[int] = []
    for chunk in chunk_lines(kept, inside, max_chars):
        assert len(chunk.text) <= max_chars
        assert chunk.text == "".join(kept[chunk.start_line - 1 : chunk.end_line])
        seen.extend(range(chunk.start_line, chunk.end_line + 1))
    assert len(seen) == len(set(seen))
    assert {n for n, line in enumerate(kept, 1) if line.strip()} <= set(seen)


def test_a_definition_that_fits_is_never_cut() -> None:
    source = "".join(f"def f{i}():\n" + "".join(f"    x{j} = {j}\n" for j in range(60)) + "\n\n" for i in range(8))
    found = check("a.py", source)
    assert [(c.symbol, c.kind, c.part) for c in found.chunks] == [(f"f{i}", "function", "") for i in range(8)]
    assert [(s.start_line, s.end_line) for s in found.symbols] == [(c.start_line, c.end_line) for c in found.chunks]


def test_small_neighbours_share_a_chunk() -> None:
    found = check("a.py", "import os\n\nLIMIT = 1\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n")
    assert [(c.start_line, c.end_line) for c in found.chunks] == [(1, 11)]


def test_a_big_class_is_its_header_and_its_members() -> None:
    members = "".join(f"    def m{i}(self):\n" + f"        value = {i}\n" * 50 + "\n" for i in range(4))
    found = check("a.py", f'class Box(Base):\n    """{"Doc. " * 100}"""\n\n{members}')
    assert [c.symbol for c in found.chunks] == ["Box", "Box.m0", "Box.m1", "Box.m2", "Box.m3"]
    assert found.chunks[0].context == ""
    assert {(c.scope, c.context) for c in found.chunks[1:]} == {("Box", "class Box(Base):")}
    assert all("class Box" not in c.text for c in found.chunks[1:])


def test_the_pieces_of_a_long_function_say_so_and_know_it() -> None:
    body = "".join(f"    if x{i}:\n        run({i})\n\n" for i in range(80))
    found = check("a.py", f"def long(a,\n         b):\n{body}")
    count = len(found.chunks)
    assert count > 1
    assert [c.part for c in found.chunks] == [f"{n}/{count}" for n in range(1, count + 1)]
    assert {c.symbol for c in found.chunks} == {"long"}
    assert [c.context for c in found.chunks] == ["", *["def long(a,"] * (count - 1)]
    assert all(c.text.startswith("    if") for c in found.chunks[1:])  # cut between statements


def test_what_only_closes_stays_with_what_it_closes() -> None:
    body = "".join(f"  call{i}({{\n    value: {i},\n  }});\n" for i in range(70))
    found = check("a.js", f"function f() {{\n{body}}}\n")
    assert not [c for c in found.chunks if c.text.lstrip()[0] in "})]"]


def test_decorators_and_comments_go_with_their_definition() -> None:
    filler = "".join(f"x{i} = {i}\n" for i in range(130))
    found = check("a.py", f'{filler}\n# About it.\n@app.route("/x")\n@cache\ndef h():\n    return 1\n')
    assert [c.symbol for c in found.chunks if "# About it.\n@app" in c.text and "def h()" in c.text] == ["h"]


def test_a_comment_that_ends_a_block_stays_there() -> None:
    [first, second] = outline("a.py", "def f():\n    pass\n    # still f\ndef g():\n    pass\n").symbols
    assert (first.name, second.name, second.start_line) == ("f", "g", 4)
    [one, two] = outline("a.js", "function f() { } // of f\nfunction g() { }\n").symbols
    assert (one.end_line, two.start_line) == (1, 2)


@pytest.mark.parametrize("name", ["a.py", "a.txt"])
def test_a_leaf_over_the_limit_is_kept_whole(name: str) -> None:
    text = 'x = "' + "A" * 800 + '"\ny = 1\n'
    found = check(name, text, 100)
    assert "".join(c.text for c in found.chunks) == text


def test_long_lines_are_cut_behind_separators() -> None:
    text = " ".join(f"word{i}" for i in range(400))
    found = check("a.txt", text, 100)
    assert "".join(c.text for c in found.chunks) == text
    assert all(c.text.endswith(" ") for c in found.chunks[:-1])
    assert [c.offset for c in found.chunks] == [
        sum(len(c.text) for c in found.chunks[:n]) for n in range(len(found.chunks))
    ]


def test_only_a_newline_ends_a_line() -> None:
    text = 'def alpha():\n    return 1\n\f\ndef beta():\n    x = "a\u2028b\x0b\x85"\n    TARGET = 1\n'
    found = check("a.py", text)
    assert split_lines(text)[5] == "    TARGET = 1\n"
    assert [(s.name, s.start_line, s.end_line) for s in found.symbols] == [("alpha", 1, 2), ("beta", 4, 6)]


def test_text_without_structure_is_cut_after_a_screenful() -> None:
    found = check("notes.txt", "a\n" * 200)
    assert max(c.end_line - c.start_line + 1 for c in found.chunks) <= 60
    assert len(check("a.py", "a\n" * 200).chunks) == 1


def test_the_limit_is_a_knob() -> None:
    text = "".join(f"def f{i}(): pass\n" for i in range(100))
    assert len(check("a.py", text, 200).chunks) > len(check("a.py", text, 2000).chunks)


def test_spans_on_one_line_and_over_each_other_are_put_in_order() -> None:
    spans = [
        Span(1, 3, "a", "", ""),
        Span(3, 5, "b", "", ""),
        Span(3, 3, "c", "", ""),
        Span(7, 9, "d", "", ""),
        Span(8, 20, "e", "", ""),
    ]
    outer = nest(spans)
    assert [(s.symbol, s.start, s.end) for s in outer] == [("a", 1, 3), ("b", 4, 5), ("d", 7, 9), ("e", 10, 20)]
    [one] = nest([Span(4, 4, "x", "", ""), Span(1, 9, "y", "", ""), Span(5, 9, "z", "", "")])
    assert [(s.symbol, s.start, s.end) for s in one.children] == [("x", 4, 4), ("z", 5, 9)]


def test_the_chunk_of_a_line_is_found() -> None:
    chunks = check("a.py", "def f():\n    pass\n" + "\n" * 3 + "x = 1\n" * 300).chunks
    assert chunk_of_line(chunks, 2) == chunks[0]
    assert chunk_of_line(chunks, 10_000) is None


def test_nothing_gives_nothing() -> None:
    for text in ("", "\n", " \n\t\n\f\n"):
        assert outline("a.py", text).chunks == ()
