"""Notebooks: only the cells' sources pass, each on its own line of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llama_index_codeindex.engine.files.gate import make_source
from llama_index_codeindex.engine.files.notebook import LINE_END, cell_sources
from llama_index_codeindex.engine.model import Gap, Source

IMAGE = "iVBORw0KGgoAAAANSUhEUgAA" * 40

OUTPUTS: list[Any] = [
    {"output_type": "display_data", "data": {"image/png": IMAGE, "text/plain": ["<Figure>"]}, "metadata": {}},
    {"output_type": "display_data", "data": {"image/svg+xml": ["<svg>\n", "</svg>"]}, "metadata": {}},
    {"output_type": "stream", "name": "stdout", "text": ["printed private line\n"]},
    {
        "output_type": "execute_result",
        "data": {"application/json": {"source": ["private source\n"], "cells": [1, None]}},
    },
    {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["private trace\n"]},
    "not even an object",
]

MARKDOWN = ["# Title\n", 'Some *text* with "quotes" and \\ and 中文\n']
CODE = ["import os\n", "\n", "def load(path):\n", "    return path + '\\n\\t'"]


def notebook(**changes: Any) -> dict[str, Any]:
    cells = [
        {"cell_type": "markdown", "metadata": {"source": ["no source\n"]}, "source": MARKDOWN,
         "attachments": {"a.png": {"image/png": IMAGE}}},
        {"cell_type": "code", "execution_count": 1, "metadata": {"tags": ["private tag"]}, "outputs": OUTPUTS, "source": CODE},
        {"cell_type": "raw", "metadata": {}, "source": []},
    ]  # fmt: skip
    return {
        "cells": cells,
        "metadata": {"kernelspec": {"name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    } | changes


@pytest.mark.parametrize("indent", [1, 2, 4, "\t"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_source_line_stands_where_it_stands_in_the_file(indent: int | str, ascii_only: bool) -> None:
    raw = json.dumps(notebook(), indent=indent, ensure_ascii=ascii_only) + "\n"
    made = make_source("a.ipynb", raw.encode())
    assert isinstance(made, Source)
    shown, lines = made.text.split("\n"), raw.split("\n")
    assert len(shown) == len(lines)
    assert [line for line in shown if line] == [line.removesuffix("\n") for line in MARKDOWN + CODE if line != "\n"]
    for text, line in zip(shown, lines, strict=True):
        if text:
            assert json.loads(line.strip().rstrip(",")).removesuffix("\n") == text
    assert "private" not in made.text
    assert IMAGE[:24] not in made.text


def test_old_format_with_worksheets() -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["Title"]},
        {"cell_type": "code", "input": ["x = 1\n", "y = 2"], "outputs": [{"output_type": "pyout", "png": IMAGE}]},
    ]
    raw = json.dumps({"worksheets": [{"cells": cells}, {"cells": []}], "nbformat": 3, "metadata": {}}, indent=1)
    made = cell_sources(raw)
    assert made is not None
    assert [line for line in made.split("\n") if line] == ["Title", "x = 1", "y = 2"]
    assert made.count("\n") == raw.count("\n")


def test_a_source_in_one_string_stays_on_its_line() -> None:
    cells = [
        {"cell_type": "code", "source": "import os\nprint(os)\n", "outputs": []},
        {"cell_type": "code", "source": ""},
    ]
    raw = json.dumps({"cells": cells, "nbformat": 4}, indent=1)
    made = cell_sources(raw)
    assert made is not None
    number = next(number for number, line in enumerate(raw.split("\n")) if "import os" in line)
    assert made.split("\n")[number] == f"import os{LINE_END}print(os)"
    assert made.count("\n") == raw.count("\n")


def test_a_notebook_on_one_line() -> None:
    made = cell_sources(json.dumps(notebook()))
    assert made is not None
    assert "\n" not in made
    assert "def load(path):" in made
    assert "private" not in made
    assert IMAGE[:24] not in made


@pytest.mark.parametrize(
    "raw",
    [
        "", "{", "[]", "null", "3", '"text"', '{"cells": 3}', '{"cells": [', '{"nbformat": 4}', "<<<<<<< HEAD\n{}",
        '{"cells": [{"source": ["a\n"]}]}', "[" * 100_000, '{"cells":' + "[" * 100_000, "{}x", '{"worksheets": {}}',
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_a_gap(raw: str) -> None:
    made = make_source("a.ipynb", raw.encode())
    assert isinstance(made, Gap)
    assert made.reason == "not_evaluated"


@pytest.mark.parametrize(
    "cells",
    [
        [], [None], [[]], ["x"], [{}], [{"source": None}], [{"source": {"a": "b"}}], [{"source": [1, None, ["x"], {"s": "t"}]}],
        [{"outputs": {}, "source": 5}], [{"cells": [{"source": ["nested\n"]}]}],
    ],
)  # fmt: skip
def test_odd_cells_do_no_harm(cells: list[Any]) -> None:
    raw = json.dumps({"cells": cells, "source": ["top\n"], "outputs": ["out\n"]}, indent=1)
    made = cell_sources(raw)
    assert made is not None
    assert made == "\n" * raw.count("\n")


def test_secrets_in_a_cell_are_redacted() -> None:
    token = "gh" + "p_" + "a1B2" * 9
    raw = json.dumps({"cells": [{"source": [f"t = '{token}'\n", "x = 1"]}]}, indent=1)
    made = make_source("a.ipynb", raw.encode())
    assert isinstance(made, Source)
    assert made.redactions == 1
    assert token not in made.text


def test_duplicate_keys_and_escaped_keys() -> None:
    made = cell_sources('{"cells":\n[{"\\u0073ource":\n["a = 1\\n"],\n"source":\n["b = 2"]}]}')
    assert made == "\n\na = 1\n\nb = 2"
