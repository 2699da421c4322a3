"""The samples, compared with what universal-ctags finds in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llama_index_codeindex.engine.syntax.outline import outline
from tests.syntax import ctags
from tests.syntax.test_samples import SAMPLES, read

pytestmark = pytest.mark.skipif(not ctags.available(), reason="universal-ctags with JSON output is not installed")

# What ctags claims and is not so, or is no definition here; each read in the sample.
WRONG = {
    "elixir.ex": {"Fake"},  # an example in a doc string
    "haskell.hs": {"Data", "class", "infixr"},  # words of the language
    "javascript.js": {"Foo"},  # `Foo.prototype.bar = …` defines no Foo
    "julia.jl": {"Base"},  # `Base.:(==)` defines an operator
    "kotlin.kt": {"Companion"},  # a companion without a name
    "lua.lua": {'M["keyed"]'},  # the table is no part of the name
    "objc.m": {"FitWhole", "void"},  # the last word of a typedef, where its name is elsewhere
    "ocaml.ml": {"Ocaml"},  # made from the file's name
    "ocaml_interface.mli": {"Ocaml_interface"},
}


def plain(name: str) -> str:
    """Return a name as both sides write it: the last part, without quotes and spaces."""
    name = name.rstrip(":")  # ctags names Objective-C methods by their selector
    name = re.sub(r"(?<=\w)\{[^{}]*\}$", "", name)  # and Julia's constructors with their parameters
    last = re.split(r"(?<=\w)(?:::|[.:])", name)[-1] if name[:1].isalnum() else name
    return re.sub(r"[\s\"'`()\[\]#]", "", last)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_what_ctags_finds_is_found(sample: Path, tmp_path: Path) -> None:
    name, source, _ = read(sample)
    path = tmp_path / name
    path.write_text(source, "utf-8")
    found = outline(name, source)
    tags = ctags.definitions(found.language, path)
    if tags is None:
        pytest.skip(f"ctags does not know {found.language}")
    ours = {(plain(s.name), line) for s in found.symbols for line in range(s.start_line, s.end_line + 1)}
    missing = {(tag, line) for tag, line in tags if (plain(tag), line) not in ours and tag not in WRONG.get(name, ())}
    assert missing == set()
