"""What words, fusion and filters must get right, asked end to end and without a model."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import PathOutsideRoot
from llama_index_codeindex.engine.model import Hit
from tests.conftest import MakeTree
from tests.search.helpers import ask, places, retriever

ACCENTS = {
    "a.py": "# café naïve\ndef brew():\n    return 1\n",
    "b.py": "# 计算加班费\ndef pay():\n    return 2\n",
    "c.py": "# проверка пароля\ndef check():\n    return 3\n",
}


@pytest.mark.parametrize(
    ("query", "path"),
    [("café", "a.py"), ("cafe", "a.py"), ("NAÏVE", "a.py"), ("加班", "b.py"), ("пароль", "c.py")],
)
def test_comments_of_every_script_are_found(query: str, path: str) -> None:
    assert ask(ACCENTS, query) == [path]


def test_every_part_of_an_identifier_finds_it() -> None:
    files = {
        "a.py": "def parseHTMLResponse(raw):\n    return raw\n",
        "b.py": "def utf8_decode(raw):\n    return raw\n",
        "c.css": ".kebab-case-name { color: red; }\n",
        "d.py": "def unrelated():\n    return None\n",
    }
    for query, path in (
        ("parse", "a.py"), ("html", "a.py"), ("response", "a.py"), ("utf8", "b.py"), ("decode", "b.py"), ("kebab", "c.css"),
    ):  # fmt: skip
        assert ask(files, query)[0] == path, query


@pytest.mark.parametrize("query", ["->", "::", "!=", "(((", "?"])
def test_operators_have_no_word_to_look_for(query: str) -> None:
    result = retriever({"only.cpp": "int only(A* a) { return a->b != C::d; }\n"}).search(query)
    assert (result.hits, result.empty_reason) == ([], "no_tokens")


def test_words_of_the_language_are_not_dropped_from_code() -> None:
    files = {"a.py": "def pick(x):\n    if x:\n        return x\n", "b.py": "def other(y):\n    return y\n"}
    assert ask(files, "if") == ["a.py"]
    assert ask({"a.py": "# into the void\n", "b.py": "x = 1\n"}, "the") == ["a.py"]


def test_no_hit_is_there_for_nothing() -> None:
    files = {f"f{i}.py": f"def thing_{i}():\n    return {i}\n" for i in range(30)} | {
        "t.py": "def target():\n    pass\n"
    }
    nodes = retriever(files, top_k=20).retrieve("target qwertyzzz")
    assert [node.node.metadata["file_path"] for node in nodes] == ["t.py"]
    assert all((node.score or 0) > 0 for node in nodes)


def test_both_sides_are_stemmed_and_the_whole_identifier_is_kept() -> None:
    files = {"one.py": "def connection():\n    pass\n", "many.py": "def connections():\n    pass\n"}
    assert set(ask(files, "connections")) == set(ask(files, "connection")) == {"one.py", "many.py"}
    assert ask(files, "connection")[0] == "one.py"
    assert ask(files, "connections")[0] == "many.py"
    # A stem that nobody wrote is no identifier.
    assert ask({"a.py": "def processing_pipeline():\n    pass\n"}, "processing_pipeline")[0] == "a.py"


def shown(hits: list[Hit]) -> list[tuple[str, int, float]]:
    return [(hit.file_path, hit.start_line, round(hit.score, 9)) for hit in hits]


def test_an_index_that_is_opened_again_answers_the_same(tree: MakeTree, tmp_path: Path) -> None:
    root = tree(ACCENTS | {"d.py": "def getUserById(user_id):\n    return user_id\n", "e.py": "users = connections\n"})
    queries = ("user", "getUserById", "cafe", "加班", "connection", "пароль", "return")
    first = Codebase(root, tmp_path / "c")
    first.refresh()
    before = [shown(first.search(query).hits) for query in queries]
    first.close()
    assert all(before)
    again = Codebase(root, tmp_path / "c")
    assert [shown(again.search(query).hits) for query in queries] == before
    code = (
        "import sys; from llama_index_codeindex.engine.codebase import Codebase\n"
        "c = Codebase(sys.argv[1], sys.argv[2])\n"
        "print([[(h.file_path, h.start_line, round(h.score, 9)) for h in c.search(q).hits] for q in sys.argv[3:]])\n"
    )
    for seed in ("1", "2"):  # ties must not follow the hashes of a process
        told = subprocess.run(
            [sys.executable, "-c", code, str(root), str(tmp_path / "c"), *queries],
            capture_output=True, check=True, env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1", "HOME": str(tmp_path)},
        )  # fmt: skip
        assert told.stdout.decode().strip() == repr(before)


def test_equal_code_twice_in_one_file_is_two_places() -> None:
    twin = f"def shared():\n    return 'same text {'x' * 1000}'\n"  # too long to share a chunk
    nodes = retriever({"a.py": f"{twin}\n\n{twin}"}).retrieve("shared same text")
    assert len({node.node.metadata["start_line"] for node in nodes}) == len(nodes) == 2


def test_lanes_that_agree_put_a_place_first_and_once() -> None:
    files = {
        "retry.py": "def retry_policy():\n    '''retry policy'''\n",
        **{f"n{i}.py": f"def other_{i}():\n    '''retry {'retry ' * i}'''\n" for i in range(8)},
    }
    nodes = retriever(files, top_k=20).retrieve("retry_policy")
    paths = [node.node.metadata["file_path"] for node in nodes]
    assert paths[0] == "retry.py" and paths.count("retry.py") == 1
    assert set(nodes[0].node.metadata["lanes"]) == {"symbol", "lexical"}


def test_ties_do_not_follow_the_order_of_the_files() -> None:
    text = "def tied():\n    return 'tie'\n"
    for order in itertools.permutations(("c.py", "a.py", "b.py")):
        assert ask(dict.fromkeys(order, text), "tied tie") == ["a.py", "b.py", "c.py"]


def test_a_name_that_is_defined_everywhere_is_found_behind_a_filter() -> None:
    many = "".join(f"def process():\n    pass\n\n\ndef procession_{i}():\n    pass\n\n\n" for i in range(60))
    files = {f"a/f{i}.py": many for i in range(60)} | {"b/only.py": "def process():\n    pass\n"}
    files |= {"b/longer.py": "def procession_of_so_many():\n    pass\n"}
    found = retriever(files, filters={"under": "b"}, mode="symbol")
    assert places(found.retrieve("process")) == ["b/only.py"]
    assert places(found.retrieve("procession")) == ["b/longer.py"]


@pytest.fixture
def folders(tree: MakeTree, tmp_path: Path) -> Codebase:
    files = {"src/a.py": "match = 1\n", "src/deep/b.py": "match = 2\n", "lib/c.py": "match = 3\n"}
    codebase = Codebase(tree(files), tmp_path / "c")
    codebase.refresh()
    return codebase


SRC = {"src/a.py", "src/deep/b.py"}


@pytest.mark.parametrize(
    ("under", "expected"),
    [
        ("{root}/src", SRC), ("{root}/src/", SRC), ("{root}/./src/../src", SRC), ("{root}", SRC | {"lib/c.py"}),
        ("{root}/src/*.py", {"src/a.py"}), ("./src", SRC), ("./src/*.py", {"src/a.py"}), ("src\\deep", {"src/deep/b.py"}),
        ("src\\deep\\b.*", {"src/deep/b.py"}), ("./src//deep", {"src/deep/b.py"}), ("src/*.py", {"src/a.py"}),
    ],
)  # fmt: skip
def test_a_filter_in_any_spelling_means_the_same(folders: Codebase, under: str, expected: set[str]) -> None:
    given = under.format(root=folders.root)
    hits = folders.search("match", filters={"under": given}).hits
    assert {hit.file_path for hit in hits} == expected
    assert len(hits) == len(expected)  # no place twice
    left = {hit.file_path for hit in folders.search("match", filters={"exclude": [given]}).hits}
    if given != str(folders.root) and "/../" not in given and "//" not in given:  # patterns are not normalised further
        assert left == {"src/a.py", "src/deep/b.py", "lib/c.py"} - expected


def test_a_root_behind_a_link_may_be_spelled_either_way(folders: Codebase, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folders.root)
    assert {hit.file_path for hit in folders.search("match", filters={"under": f"{tmp_path}/link/src"}).hits} == SRC


def test_an_absolute_path_outside_stays_an_error(folders: Codebase) -> None:
    for under in (str(folders.root.parent), str(folders.root) + "-other/src", "/etc"):
        with pytest.raises(PathOutsideRoot):
            folders.search("match", filters={"under": under})
