"""Texts that are no code: markdown by headings, data by top-level keys, notebooks, and everything else by lines."""

from __future__ import annotations

from llama_index_codeindex.engine.syntax.outline import outline
from tests.syntax.invariants import check


def spans(name: str, text: str, max_chars: int = 80) -> list[tuple[str, str, int, int]]:
    return [(c.symbol, c.scope, c.start_line, c.end_line) for c in check(name, text, max_chars).chunks]


FILLER = "some words that fill a line of text up to here\n"


def test_markdown_is_cut_at_its_headings() -> None:
    text = f"intro\n\n# One\n\n{FILLER}\n## Two\n{FILLER}\n```sh\n# no heading\n```\n\n# Three\n{FILLER}"
    assert spans("a.md", text, 120) == [
        ("", "", 1, 1),
        ("One", "", 3, 5),
        ("One > Two", "One", 7, 12),
        ("Three", "", 14, 15),
    ]


def test_underlined_headings_and_longer_fences() -> None:
    text = f"Title\n=====\n{FILLER}\nSub\n---\n{FILLER}\n````md\n```\n# inside\n```\n## inside\n````\n"
    text += f"\n| a |\n|---|\n---\n  # Next\n{FILLER}"
    assert {symbol for symbol, *_ in spans("a.md", text)} == {"Title", "Title > Sub", "Next"}


def test_front_matter_is_no_heading() -> None:
    text = f"---\ntitle: x\n---\n\n# One\n{FILLER}{FILLER}"
    assert {symbol for symbol, *_ in spans("a.md", text)} == {"", "One"}


def test_a_section_that_fits_is_one_chunk_without_blank_ends() -> None:
    [chunk] = check("a.md", "# One\n\ntext\n\n\n").chunks
    assert (chunk.symbol, chunk.kind, chunk.text) == ("One", "section", "# One\n\ntext\n")


def test_data_is_cut_by_top_level_keys() -> None:
    body = "".join(f'    "k{i}": {i},\n' for i in range(6)).rstrip(",\n")
    text = '{\n  "first": {\n' + body + '\n  },\n  "second": {\n' + body + "\n  }\n}\n"
    found = spans("a.json", text, 120)
    assert [symbol for symbol, *_ in found if symbol] == ["first", "second"]
    yaml = "".join(f"key{i}:\n" + "".join(f"  a{j}: 1\n" for j in range(9)) for i in range(3))
    assert [symbol for symbol, *_ in spans("a.yml", yaml, 120)] == ["key0", "key1", "key2"]
    toml = "".join(f"[table{i}]\n" + "".join(f"a{j} = 1\n" for j in range(9)) for i in range(3))
    assert [symbol for symbol, *_ in spans("a.toml", toml, 120)] == ["table0", "table1", "table2"]


def test_other_text_is_cut_at_blank_lines() -> None:
    text = ("word\n" * 9 + "\n") * 6
    assert [(start - 1) % 10 for _, _, start, _ in spans("a.txt", text, 120)] == [0] * 6


def test_json_that_is_broken_is_still_text() -> None:
    found = check("a.ipynb", '{"cells": [ {"source": ["x = 1\\n"')
    assert "".join(chunk.text for chunk in found.chunks) == '{"cells": [ {"source": ["x = 1\\n"'
    assert outline("a.json", "{,,,").chunks[0].text == "{,,,"
