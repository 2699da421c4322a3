"""Use the tools over the Model Context Protocol: `python examples/mcp_client.py [ROOT] [QUESTION]`.

Coding assistants start the same server: `{"command": "codeindex", "args": ["mcp", "/path/to/repository"]}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent


async def ask(question: str, command: Sequence[str]) -> list[str]:
    """Return the places that answer a question."""
    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        result = await session.call_tool("search_code", {"query": question})
        content = result.content[0]
        assert isinstance(content, TextContent)
        hits = json.loads(content.text)["hits"]
        return [f"{hit['file_path']}:{hit['start_line']}-{hit['end_line']}" for hit in hits]


def main(
    root: str = ".", question: str = "how is a path kept inside the root", command: Sequence[str] | None = None
) -> None:
    """Print the places, best first."""
    server = command or [sys.executable, "-m", "llama_index_codeindex.cli", "mcp", root]
    for place in asyncio.run(ask(question, server)):
        print(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
