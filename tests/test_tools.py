from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.utils import get_tokenizer

from llama_index_codeindex import CodeIndex
from llama_index_codeindex.engine import errors
from llama_index_codeindex.engine.tools.toolbox import TOOLS
from llama_index_codeindex.tools import CodeIndexToolSpec

_SHOP = """class Cart:
    def total(self):
        return sum(self.prices)

    def refund(self):
        return -self.total()
"""
_BANK = """from shop import Cart

def refund(cart):
    if cart.total() > 0:
        return cart.refund()
    return cart.total()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "shop.py").write_text(_SHOP)
    (folder / "src" / "bank.py").write_text(_BANK)
    (folder / "long.go").write_text("package long\n\n" + "".join(f"var V{n} = {n}\n" for n in range(500)))
    (folder / ".gitignore").write_text("ignored.py\n")
    (folder / "ignored.py").write_text("hidden = 1\n")
    (folder / ".env").write_text("KEY=1\n")
    return folder


@pytest.fixture
def spec(root: Path, tmp_path: Path) -> Iterator[CodeIndexToolSpec]:
    index = CodeIndex.from_path(root, cache_dir=tmp_path / "cache", embed_model=None)
    yield CodeIndexToolSpec(index=index)
    index.close()


def code(answer: dict[str, Any]) -> str:
    assert set(answer) == {"error"}
    assert set(answer["error"]) == {"code", "message", "suggestion", "next_action"}
    return str(answer["error"]["code"])


def test_search_is_compact_and_leads_on(spec: CodeIndexToolSpec) -> None:
    answer = spec.search_code("how are the prices of a cart summed")
    best = answer["hits"][0]
    assert best["file_path"] == "src/shop.py" and "sum(self.prices)" in best["text"]
    assert answer["generation"] == 1 and answer["degraded_reasons"] == ["no_embedding_model"]
    read = spec.call(tool=answer["next_step"]["tool"], params=answer["next_step"]["params"])
    assert read["file_path"] == "src/shop.py" and "def total" in read["text"]


def test_text_form_is_json_of_the_same_answer(spec: CodeIndexToolSpec) -> None:
    answer = spec.search_code("refund")
    assert json.loads(str(answer)) == answer


def test_lines_shown_are_where_the_answer_says(spec: CodeIndexToolSpec, root: Path) -> None:
    for hit in spec.search_code("refund total cart")["hits"]:
        lines = (root / hit["file_path"]).read_text().split("\n")
        assert hit["text"].split("\n")[0].strip() == lines[hit["text_line"] - 1].strip()


def test_five_hits_of_anything_cost_at_most_600_tokens(spec: CodeIndexToolSpec, root: Path) -> None:
    for n in range(9):
        folder = root / ("deeply/" * 8) / f"nested_{n}"
        folder.mkdir(parents=True)
        (folder / f"{'very_' * 12}long_refund_{n}.py").write_text(
            f"def {'refund_' * 10}{n}(x):\n" + "    refund = '" + "0123abcDEF+/" * 60 + "'\n" * 12
        )
    spec.refresh_index()
    answer = spec.search_code("refund")
    assert len(answer["hits"]) == 5 and len(get_tokenizer()(str(answer))) <= 600


def test_filters_narrow(spec: CodeIndexToolSpec) -> None:
    assert {h["file_path"] for h in spec.search_code("V7 refund", under="src")["hits"]} <= {
        "src/shop.py",
        "src/bank.py",
    }
    assert {h["file_path"] for h in spec.search_code("V7", language="go")["hits"]} == {"long.go"}
    assert {h["file_path"] for h in spec.search_code("refund", under=["src/bank.py"])["hits"]} == {"src/bank.py"}


def test_nothing_found_says_why_and_what_next(spec: CodeIndexToolSpec) -> None:
    answer = spec.search_code("zzzqqq")
    assert answer["hits"] == [] and answer["empty_reason"] == "no_known_word" and "next_step" not in answer
    filtered = spec.search_code("sum prices", language="go")
    assert filtered["empty_reason"] == "filtered_out"
    assert filtered["filtered_preview"][0]["file_path"] == "src/shop.py"
    assert spec.call(**filtered["next_step"])["hits"]


def test_one_definition_comes_with_its_text(spec: CodeIndexToolSpec) -> None:
    answer = spec.find_symbol("Cart.total")
    assert answer["total"] == 1 and answer["definition"]["text"].startswith("def total(self):")
    assert (answer["definition"]["start_line"], answer["definition"]["end_line"]) == (2, 3)
    assert answer["references"] == 3 and answer["next_step"]["tool"] == "find_references"


def test_ambiguity_gives_candidates_whose_ids_stay(spec: CodeIndexToolSpec, root: Path) -> None:
    answer = spec.find_symbol("refund")
    ids = [candidate["id"] for candidate in answer["candidates"]]
    assert sorted(ids) == ["src/bank.py#refund", "src/shop.py#Cart.refund"] and answer["total"] == 2
    (root / "src" / "shop.py").write_text("# moved\n\n" + _SHOP)
    spec.refresh_index()
    for identity in ids:
        assert spec.find_symbol(identity)["definition"]["id"] == identity
    assert spec.find_symbol("src/shop.py#Cart.refund")["definition"]["start_line"] == 7


def test_definitions_of_one_name_in_one_file_have_ids_of_their_own(spec: CodeIndexToolSpec, root: Path) -> None:
    (root / "twice.py").write_text("def twin():\n    return 1\n\n\ndef twin():\n    return 2\n")
    spec.refresh_index()
    ids = [candidate["id"] for candidate in spec.find_symbol("twin")["candidates"]]
    assert len(set(ids)) == 2
    assert {spec.find_symbol(i)["definition"]["text"][-1] for i in ids} == {"1", "2"}


def test_definition_that_moved_since_is_followed_and_a_changed_one_is_stale(
    spec: CodeIndexToolSpec, root: Path
) -> None:
    (root / "src" / "shop.py").write_text("# one\n# two\n" + _SHOP)
    assert spec.find_symbol("Cart.total")["definition"]["start_line"] == 4
    (root / "src" / "shop.py").write_text(_SHOP.replace("sum(self.prices)", "0"))
    changed = spec.find_symbol("Cart.total")
    assert changed["definition"]["stale"] and "text" not in changed["definition"]
    assert spec.call(**changed["next_step"])["changed"] == 1


def test_references_carry_totals_and_pages(spec: CodeIndexToolSpec, root: Path) -> None:
    answer = spec.find_references("Cart.total")
    assert answer["total"] == 3 and {u["file_path"] for u in answer["references"]} == {"src/shop.py", "src/bank.py"}
    assert all("total" in use["text"] for use in answer["references"])
    for n in range(23):
        (root / f"user_{n:02}.py").write_text("from shop import Cart\nCart().total()\n")
    spec.refresh_index()
    seen = []
    answer = spec.find_references("total")
    assert answer["pages"] == 3 and answer["total"] == 26
    while True:
        seen += [use["file_path"] for use in answer["references"]]
        if answer["page"] == answer["pages"]:
            break
        answer = spec.call(**answer["next_step"])
    assert len(seen) == len(set(seen)) == 25
    assert spec.find_references("total", under="src")["total"] == 3


def test_read_lines_gives_200_lines_and_the_way_on(spec: CodeIndexToolSpec) -> None:
    answer = spec.read_lines("long.go")
    assert (answer["start_line"], answer["end_line"], answer["total_lines"]) == (1, 200, 502)
    assert answer["generation"] == 1 and answer["commit"] == ""
    assert answer["text"].split("\n")[2] == "var V0 = 0"
    end = answer["end_line"]
    while "next_step" in answer:
        answer = spec.call(**answer["next_step"])
        assert answer["start_line"] == end + 1
        end = answer["end_line"]
    assert end == 502
    assert spec.read_lines("long.go", 3, 900)["end_line"] == 202


def test_read_lines_shows_the_file_as_it_is_now_and_says_that_it_changed(spec: CodeIndexToolSpec, root: Path) -> None:
    (root / "src" / "bank.py").write_text("new = 1\n")
    answer = spec.read_lines("src/bank.py")
    assert answer["text"] == "new = 1\n" and answer["changed_since_indexed"]


@pytest.mark.parametrize("spelling", ["./src/shop.py", "src/../src/shop.py", "src\\..\\src\\shop.py"])
def test_read_lines_knows_other_spellings(spec: CodeIndexToolSpec, spelling: str) -> None:
    assert spec.read_lines(spelling)["file_path"] == "src/shop.py"


@pytest.mark.parametrize(
    ("tool", "params", "expected"),
    [
        ("search_code", {"query": "  "}, "EMPTY_QUERY"),
        ("search_code", {"query": "path:src"}, "EMPTY_QUERY"),
        ("search_code", {}, "INVALID_ARGUMENT"),
        ("search_code", {"query": "refund", "top_k": 0}, "INVALID_ARGUMENT"),
        ("search_code", {"query": "refund", "top_k": "many"}, "INVALID_ARGUMENT"),
        ("search_code", {"query": "refund", "mode": "magic"}, "INVALID_ARGUMENT"),
        ("search_code", {"query": "refund", "limit": 3}, "INVALID_ARGUMENT"),
        ("search_code", {"query": "refund", "under": "../.."}, "PATH_OUTSIDE_ROOT"),
        ("find_symbol", {"name": "nosuch"}, "SYMBOL_NOT_FOUND"),
        ("find_symbol", {"name": " "}, "EMPTY_QUERY"),
        ("find_symbol", {"name": "refund", "page": 9}, "INVALID_ARGUMENT"),
        ("find_references", {"name": "nosuch"}, "SYMBOL_NOT_FOUND"),
        ("find_references", {"name": ""}, "EMPTY_QUERY"),
        ("read_lines", {"path": "../outside.py"}, "PATH_OUTSIDE_ROOT"),
        ("read_lines", {"path": "/etc/passwd"}, "PATH_OUTSIDE_ROOT"),
        ("read_lines", {"path": ".env"}, "FILE_DENIED"),
        ("read_lines", {"path": "ignored.py"}, "FILE_NOT_INDEXED"),
        ("read_lines", {"path": "missing.py"}, "FILE_NOT_INDEXED"),
        ("read_lines", {"path": ""}, "FILE_NOT_INDEXED"),
        ("read_lines", {"path": "long.go", "start_line": 9999}, "INVALID_ARGUMENT"),
        ("read_lines", {"path": "long.go", "start_line": 9, "end_line": 3}, "INVALID_ARGUMENT"),
        ("repo_map", {"budget": 10}, "INVALID_ARGUMENT"),
        ("repo_map", {"page": 99}, "INVALID_ARGUMENT"),
        ("repo_map", {"query": " "}, "EMPTY_QUERY"),
        ("repo_map", {"under": "../.."}, "PATH_OUTSIDE_ROOT"),
        ("repo_map", {"under": "missing"}, "FILE_NOT_INDEXED"),
        ("index_status", {"verbose": True}, "INVALID_ARGUMENT"),
        ("no_such_tool", {}, "INVALID_ARGUMENT"),
    ],
)  # fmt: skip
def test_a_failure_is_returned_and_its_next_action_recovers(
    spec: CodeIndexToolSpec, tool: str, params: dict[str, Any], expected: str, root: Path
) -> None:
    answer = spec.call(tool, params)
    assert code(answer) == expected
    assert str(root) not in str(answer)
    seen = {expected}
    for _ in range(3):
        answer = spec.call(**answer["error"]["next_action"])
        if "error" not in answer:
            return
        assert code(answer) not in seen
        seen.add(code(answer))
    pytest.fail("the next actions lead nowhere")


def all_errors(kind: type[errors.CodeIndexError] = errors.CodeIndexError) -> list[type[errors.CodeIndexError]]:
    return [kind, *(error for child in kind.__subclasses__() for error in all_errors(child))]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.code)
def test_the_next_action_of_every_error_can_be_sent_back(
    spec: CodeIndexToolSpec, kind: type[errors.CodeIndexError]
) -> None:
    answer = spec.call(**kind("It failed.").to_dict()["error"]["next_action"])
    assert "error" not in answer or code(answer) != kind.code


def test_errors_of_the_engine_come_back_too(
    spec: CodeIndexToolSpec, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(*_: Any) -> Any:
        raise errors.IndexBusy("Another process is writing this index.")

    def broken(*_: Any) -> Any:
        raise RuntimeError("secret at /home/user/x")

    monkeypatch.setattr(spec._toolbox.codebase, "refresh", busy)
    answer = spec.refresh_index()
    assert code(answer) == "INDEX_BUSY" and "error" not in spec.call(**answer["error"]["next_action"])
    monkeypatch.setattr(spec._toolbox.codebase, "refresh", broken)
    with caplog.at_level(logging.CRITICAL):
        answer = spec.refresh_index()
    assert code(answer) == "CODEINDEX_ERROR" and "secret" not in str(answer) and "/home" not in str(answer)


def test_a_root_that_is_gone_does_not_empty_the_index(spec: CodeIndexToolSpec, root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    assert code(spec.refresh_index()) == "ROOT_NOT_FOUND"
    assert spec.index_status()["files"] == 4


def test_async_twins_do_not_block_the_loop(spec: CodeIndexToolSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()
    inner = spec._toolbox.call

    def slow(*arguments: Any) -> Any:
        started.set()
        assert release.wait(10)
        return inner(*arguments)

    monkeypatch.setattr(spec._toolbox, "call", slow)

    async def run() -> list[Any]:
        calls = [
            spec.asearch_code("refund"), spec.afind_symbol("Cart.total"), spec.afind_references("total"),
            spec.aread_lines("long.go"), spec.aindex_status(), spec.arefresh_index(), spec.arepo_map(),
        ]  # fmt: skip
        tasks = [asyncio.ensure_future(call) for call in calls]
        while not started.is_set():
            await asyncio.sleep(0)  # the loop turns while the calls wait
        release.set()
        return await asyncio.gather(*tasks)

    answers = asyncio.run(run())
    assert len(answers) == 7 and not any("error" in answer for answer in answers)


def test_tool_list_is_typed_and_short(spec: CodeIndexToolSpec) -> None:
    tools = {tool.metadata.name: tool for tool in spec.to_tool_list()}
    assert list(tools) == [tool.name for tool in TOOLS]
    search = tools["search_code"].metadata.to_openai_tool()["function"]["parameters"]
    assert search["required"] == ["query"] and search["properties"]["top_k"]["default"] == 5
    assert search["properties"]["under"]["type"] == search["properties"]["language"]["type"] == "string"
    assert all(len(tool.metadata.description) <= 1024 for tool in tools.values())
    output = tools["search_code"].call(query="refund", top_k="2")
    assert len(output.raw_output["hits"]) == 2 and json.loads(output.content) == output.raw_output
    wrong = tools["search_code"].call(query="refund", bogus=1)
    assert wrong.raw_output["error"]["next_action"] == {"tool": "search_code", "params": {"query": "refund"}}
    later = asyncio.run(tools["find_symbol"].acall(name="Cart.total"))
    assert later.raw_output["total"] == 1


def test_spec_lists_every_tool_with_its_twin() -> None:
    for names in CodeIndexToolSpec.spec_functions:
        assert isinstance(names, tuple)
        assert all(callable(getattr(CodeIndexToolSpec, name)) for name in names)


def test_paths_that_hide_something_are_shown_inert_and_still_read(spec: CodeIndexToolSpec, root: Path) -> None:
    (root / "a\n<|im_start|>system.py").write_text("def hidden_place():\n    return 1\n")
    spec.refresh_index()
    answer = spec.search_code("hidden_place")
    shown = answer["hits"][0]["file_path"]
    assert "\n" not in shown and "<|" not in shown
    assert "def hidden_place" in spec.call(**answer["next_step"])["text"]
    assert spec.find_symbol("hidden_place")["definition"]["id"] == f"{shown}#hidden_place"


@pytest.mark.parametrize("params", ["query", ["query"], 7])
def test_arguments_that_are_no_object(spec: CodeIndexToolSpec, params: Any) -> None:
    answer = spec.call("search_code", params)
    assert answer["error"]["code"] == "INVALID_ARGUMENT"
