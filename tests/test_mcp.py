from __future__ import annotations

import asyncio
import builtins
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import MissingExtra
from llama_index_codeindex.engine.tools.toolbox import TOOLS
from llama_index_codeindex.mcp_server import serve

T = TypeVar("T")

# A child process that also fails if the server needs LlamaIndex.
_SERVER = """
import sys
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.mcp_server import serve
codebase = Codebase(sys.argv[1], sys.argv[2])
serve(codebase)
codebase.close()
sys.exit(7 if "llama_index.core" in sys.modules else 0)
"""


def command(root: Path, cache: Path) -> list[str]:
    return [sys.executable, "-W", "error", "-c", _SERVER, str(root), str(cache)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "shop.py").write_text("def refund(order):\n    return order.total\n")
    (folder / ".env").write_text("KEY=1\n")
    (tmp_path / "outside.py").write_text("outside = 1\n")
    return folder


def with_session(root: Path, cache: Path, use: Callable[[Any], Awaitable[T]]) -> T:
    pytest.importorskip("mcp")
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def run() -> T:
        program, *arguments = command(root, cache)
        server = StdioServerParameters(command=program, args=arguments)
        # The client's default is whatever standard error was when it was imported, which a test runner may have closed.
        with open(os.devnull, "w", encoding="utf-8") as errors:
            async with stdio_client(server, errlog=errors) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                return await use(session)

    return asyncio.run(run())


def test_tools_over_stdio_with_the_official_client(root: Path, tmp_path: Path) -> None:
    async def use(session: Any) -> dict[str, Any]:
        listed = (await session.list_tools()).tools
        answers: dict[str, Any] = {}
        for name, params in (
            ("search_code", {"query": "refund of an order"}),
            ("read_lines", {"path": "shop.py"}),
            ("index_status", {}),
            ("outside", {"path": "x"}),
        ):
            result = await session.call_tool(name, params)
            answers[name] = (result.isError, json.loads(result.content[0].text))
        denied = []
        for path in ("../outside.py", str(root.parent / "outside.py"), ".env"):
            result = await session.call_tool("read_lines", {"path": path})
            denied.append((result.isError, json.loads(result.content[0].text)["error"]["code"]))
        (root / "new.py").write_text("def brand_new():\n    return 1\n")
        await session.call_tool("refresh_index", {})
        found = await session.call_tool("find_symbol", {"name": "brand_new"})
        return {"tools": listed, "answers": answers, "denied": denied, "found": json.loads(found.content[0].text)}

    seen = with_session(root, tmp_path / "cache", use)
    tools = {tool.name: tool for tool in seen["tools"]}
    assert list(tools) == [tool.name for tool in TOOLS]
    assert tools["search_code"].annotations.readOnlyHint is True
    assert tools["refresh_index"].annotations.readOnlyHint is False
    assert not any(tool.annotations.destructiveHint or tool.annotations.openWorldHint for tool in tools.values())
    # No tool takes a root.
    assert not any("root" in tool.inputSchema["properties"] for tool in tools.values())
    failed, search = seen["answers"]["search_code"]
    assert not failed and search["hits"][0]["file_path"] == "shop.py"
    assert seen["answers"]["read_lines"][1]["text"].startswith("def refund")
    assert seen["answers"]["index_status"][1]["generation"] == 1
    assert seen["answers"]["outside"][0] and seen["answers"]["outside"][1]["error"]["code"] == "INVALID_ARGUMENT"
    assert seen["denied"] == [(True, "PATH_OUTSIDE_ROOT"), (True, "PATH_OUTSIDE_ROOT"), (True, "FILE_DENIED")]
    assert seen["found"]["definition"]["file_path"] == "new.py"


def test_server_ends_with_its_input_and_never_loads_llama_index(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    import subprocess

    done = subprocess.run(command(root, tmp_path / "cache"), input=b"", capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()


def test_without_the_sdk_the_extra_is_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_mcp(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "mcp":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_mcp)
    codebase = Codebase(root, tmp_path / "cache")
    with pytest.raises(MissingExtra) as raised:
        serve(codebase)
    codebase.close()
    assert "llama-index-codeindex[mcp]" in raised.value.suggestion
