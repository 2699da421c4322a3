from __future__ import annotations

import asyncio
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
_SERVER = (
    "import sys; from llama_index_codeindex.engine.codebase import Codebase; "
    "from llama_index_codeindex.mcp_server import serve; "
    "c = Codebase(sys.argv[1], sys.argv[2]); serve(c); c.close()"
)


@pytest.fixture(autouse=True)
def event_loop_of_the_thread() -> Iterator[None]:
    """Give LlamaIndex's synchronous calls a loop; they would make one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def root(tmp_path: Path) -> str:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "shop.py").write_text("def refund(order):\n    return -order.total\n")
    return str(folder)


def example(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


def test_query_engine(root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("query_engine")(root, "refund", str(tmp_path / "cache"))
    printed = capsys.readouterr().out
    assert "shop.py:1-2  refund" in printed and "generation 1" in printed


def test_chat_engine(root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("chat_engine")(root, ["how is a refund made", "and why"], str(tmp_path / "cache"))
    printed = capsys.readouterr().out
    assert printed.count("text text text text text") == 2 and "  shop.py:1-2" in printed


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the database of LlamaIndex's own memory
def test_agent(root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("agent")(root, "refund", str(tmp_path / "cache"))
    assert capsys.readouterr().out == "See shop.py.\n"


def test_mcp_client(root: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp")
    command = [sys.executable, "-c", _SERVER, root, str(tmp_path / "cache")]
    example("mcp_client")(root, "refund", command)
    assert capfd.readouterr().out.split("\n")[0] == "shop.py:1-2"
