from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_codeindex.engine.graph.treemap import Box, squarify
from tests.graph.conftest import Indexed
from tests.graph.samples import PYTHON, TYPESCRIPT

SVG = "{http://www.w3.org/2000/svg}"


def boxes(root: ElementTree.Element, kind: str) -> list[Box]:
    found = []
    for rect in root.iter(f"{SVG}rect"):
        if rect.get("class", "").split(" ")[0] == kind:
            found.append(Box(*(float(rect.attrib[key]) for key in ("x", "y", "width", "height"))))
    return found


def overlap(one: Box, other: Box) -> float:
    width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    height = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return min(width, height)


def test_everything_is_inside_and_no_files_overlap(indexed: Indexed) -> None:
    root = ElementTree.fromstring(indexed(PYTHON | TYPESCRIPT).picture())
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    files = boxes(root, "file")
    assert len(files) == 9
    for box in files + boxes(root, "folder"):
        assert box.x >= 0 and box.y >= 0 and box.x + box.width <= width + 0.02 and box.y + box.height <= height + 0.02
    assert all(overlap(a, b) <= 0.02 for n, a in enumerate(files) for b in files[:n])
    numbers = [
        float(n) for p in root.iter(f"{SVG}path") if p.get("class") for n in re.findall(r"[\d.]+", p.attrib["d"])
    ]
    assert numbers and max(numbers) <= width
    largest = max(files, key=lambda box: box.width * box.height)
    assert largest.width * largest.height > 0


def test_arrows_are_titled_with_who_uses_whom(indexed: Indexed) -> None:
    root = ElementTree.fromstring(indexed(PYTHON).picture())
    titles = {path[0].text for path in root.iter(f"{SVG}path") if path.get("class") == "arrow"}
    assert "shop/cart.py uses shop/money.py" in titles
    assert "shop/money.py uses shop/cart.py" not in titles


def test_it_is_one_file_without_scripts_and_hostile_names_are_text(indexed: Indexed) -> None:
    codebase = indexed({"<script>&'\".py": "x = 1\n", "a]]><b/c.py": "y = 2\n"})
    picture = codebase.picture()
    root = ElementTree.fromstring(picture)
    assert not [element for element in root.iter() if element.tag.endswith(("script", "image", "a", "foreignObject"))]
    assert picture.count("http") == 1  # the name space
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert any(title is not None and title.startswith("<script>&'\".py: ") for title in titles)
    assert codebase.picture() == picture


def test_an_empty_index_can_be_drawn(indexed: Indexed) -> None:
    assert ElementTree.fromstring(indexed({}).picture()).tag == f"{SVG}svg"


@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=60),
    st.floats(1, 2000),
    st.floats(1, 2000),
)
def test_a_treemap_fills_its_box_in_proportion(sizes: list[int], width: float, height: float) -> None:
    sizes.sort(reverse=True)
    placed = squarify(sizes, Box(10, 20, width, height))
    assert sum(box.width * box.height for box in placed) == pytest.approx(width * height, rel=1e-6)
    for size, box in zip(sizes, placed, strict=True):
        assert box.width * box.height == pytest.approx(width * height * size / sum(sizes), rel=1e-4, abs=1e-6)
        assert box.x >= 10 - 1e-6 and box.x + box.width <= 10 + width + 1e-6
        assert box.y >= 20 - 1e-6 and box.y + box.height <= 20 + height + 1e-6
