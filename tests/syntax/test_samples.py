"""A sample of every language, with the exact symbols it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from llama_index_codeindex.engine.syntax.languages import LANGUAGES
from llama_index_codeindex.engine.syntax.outline import outline
from tests.syntax.invariants import check

SAMPLES = sorted(Path(__file__).with_name("samples").glob("*.txt"))
_MARK = "==== symbols\n"


def read(sample: Path) -> tuple[str, str, list[str]]:
    """Return the file name, the source and its symbols as `kind qualified start-end`."""
    source, _, listed = sample.read_bytes().decode("utf-8").partition(_MARK)
    return sample.name.removesuffix(".txt"), source, listed.splitlines()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_symbols_of_a_sample_are_exact(sample: Path) -> None:
    name, source, expected = read(sample)
    found = check(name, source)
    assert found.structural
    assert found.problem == ""
    assert [f"{s.kind} {s.qualified} {s.start_line}-{s.end_line}" for s in found.symbols] == expected
    lines = source.split("\n")
    for symbol in found.symbols:
        assert symbol.name.lstrip("#") in lines[symbol.name_line - 1]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("max_chars", [40, 200])
def test_small_chunks_lose_nothing(sample: Path, max_chars: int) -> None:
    name, source, _ = read(sample)
    check(name, source, max_chars)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_windows_line_ends_move_no_symbol(sample: Path) -> None:
    name, source, expected = read(sample)
    found = check(name, source.replace("\n", "\r\n"))
    assert [f"{s.kind} {s.qualified} {s.start_line}-{s.end_line}" for s in found.symbols] == expected


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_what_is_not_ascii_before_a_symbol_moves_nothing(sample: Path) -> None:
    name, source, expected = read(sample)
    first, _, rest = source.partition("\n")
    if not first.startswith(("// ", "# ", "-- ")):
        return
    found = outline(name, f"{first} äöü 計算 🎉\n{rest}")
    assert [f"{s.kind} {s.qualified} {s.start_line}-{s.end_line}" for s in found.symbols] == expected


def test_every_language_with_a_grammar_has_a_sample() -> None:
    sampled = {outline(*read(sample)[:2]).language for sample in SAMPLES}
    assert {language.name for language in LANGUAGES if language.grammar} - sampled == {"notebook"}


def test_references_say_what_is_used_and_how() -> None:
    source = "import os\nfrom a.b import Thing\n\n\nclass Box(Base):\n    def get(self, x: Thing) -> None:\n"
    source += "        helper(self.size())\n"
    assert {(r.name, r.kind, r.line) for r in outline("a.py", source).references} == {
        ("os", "import", 1), ("Thing", "import", 2), ("Base", "inherit", 5), ("Thing", "type", 6), ("helper", "call", 7),
        ("size", "call", 7),
    }  # fmt: skip


def test_words_of_elixir_are_no_calls_unless_a_module_has_them() -> None:
    source = "defmodule A do\n  def f(x) do\n    if x, do: g(x), else: Errors.raise(x)\n  end\nend\n"
    assert [(r.name, r.kind) for r in outline("a.ex", source).references] == [
        ("Errors", "type"), ("g", "call"), ("raise", "call"),
    ]  # fmt: skip


def test_signatures_are_the_line_that_names() -> None:
    [symbol] = outline("a.py", "@cache\ndef  area(\n    x: int,\n) -> int:\n    return x\n").symbols
    assert (symbol.signature, symbol.name_line, symbol.start_line) == ("def area(", 2, 1)
