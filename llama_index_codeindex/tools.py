"""The tools of an index for LlamaIndex agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from llama_index_codeindex.engine.tools.answers import Answer
from llama_index_codeindex.engine.tools.toolbox import TOOLS, Toolbox

if TYPE_CHECKING:
    from llama_index_codeindex.indices import CodeIndex


class CodeIndexToolSpec(BaseToolSpec):
    """Tools over one index, for `FunctionAgent`, `ReActAgent` and `AgentWorkflow`.

    Every method returns a dictionary whose text form is compact JSON. A failure is returned, never raised:
    `{"error": {"code", "message", "suggestion", "next_action"}}`. What `next_step` and `next_action` hold can be given to
    `call` as it is.

    Args:
        index: The index; no argument of a tool can leave its root.
    """

    spec_functions: list[SPEC_FUNCTION_TYPE] = [(tool.name, f"a{tool.name}") for tool in TOOLS]  # noqa: RUF012

    def __init__(self, index: CodeIndex) -> None:
        self._toolbox = Toolbox(index.codebase)

    def call(self, tool: str, params: Mapping[str, Any] | None = None) -> Answer:
        """Return the answer of a tool by its name."""
        return self._toolbox.call(tool, params)

    async def acall(self, tool: str, params: Mapping[str, Any] | None = None) -> Answer:
        """Return the answer of a tool by its name, without blocking the event loop."""
        return await asyncio.to_thread(self._toolbox.call, tool, params)

    def search_code(
        self,
        query: str,
        top_k: int = 5,
        mode: str = "all",
        under: str | list[str] | None = None,
        language: str | list[str] | None = None,
    ) -> Answer:
        """Find the places that answer a question, define a symbol or lie at a path."""
        return self.call("search_code", _given(query=query, top_k=top_k, mode=mode, under=under, language=language))

    async def asearch_code(
        self,
        query: str,
        top_k: int = 5,
        mode: str = "all",
        under: str | list[str] | None = None,
        language: str | list[str] | None = None,
    ) -> Answer:
        """Find the places that answer a question, define a symbol or lie at a path."""
        params = _given(query=query, top_k=top_k, mode=mode, under=under, language=language)
        return await self.acall("search_code", params)

    def find_symbol(
        self,
        name: str,
        under: str | list[str] | None = None,
        language: str | list[str] | None = None,
        page: int = 1,
    ) -> Answer:
        """Find the definition of a name, or candidates with ids when several match."""
        return self.call("find_symbol", _given(name=name, under=under, language=language, page=page))

    async def afind_symbol(
        self,
        name: str,
        under: str | list[str] | None = None,
        language: str | list[str] | None = None,
        page: int = 1,
    ) -> Answer:
        """Find the definition of a name, or candidates with ids when several match."""
        return await self.acall("find_symbol", _given(name=name, under=under, language=language, page=page))

    def find_references(self, name: str, under: str | list[str] | None = None, page: int = 1) -> Answer:
        """List where a name is used."""
        return self.call("find_references", _given(name=name, under=under, page=page))

    async def afind_references(self, name: str, under: str | list[str] | None = None, page: int = 1) -> Answer:
        """List where a name is used."""
        return await self.acall("find_references", _given(name=name, under=under, page=page))

    def repo_map(
        self, budget: int = 1000, query: str | None = None, under: str | list[str] | None = None, page: int = 1
    ) -> Answer:
        """Show the most used files with their most used symbols, as a whole or around a question."""
        return self.call("repo_map", _given(budget=budget, query=query, under=under, page=page))

    async def arepo_map(
        self, budget: int = 1000, query: str | None = None, under: str | list[str] | None = None, page: int = 1
    ) -> Answer:
        """Show the most used files with their most used symbols, as a whole or around a question."""
        return await self.acall("repo_map", _given(budget=budget, query=query, under=under, page=page))

    def read_lines(self, path: str, start_line: int = 1, end_line: int | None = None) -> Answer:
        """Read up to 200 lines of an indexed file."""
        return self.call("read_lines", _given(path=path, start_line=start_line, end_line=end_line))

    async def aread_lines(self, path: str, start_line: int = 1, end_line: int | None = None) -> Answer:
        """Read up to 200 lines of an indexed file."""
        return await self.acall("read_lines", _given(path=path, start_line=start_line, end_line=end_line))

    def dependency_facts(self, package: str | None = None, ecosystem: str | None = None, page: int = 1) -> Answer:
        """Say what the code base depends on: packages, versions and runtimes, with file and line."""
        return self.call("dependency_facts", _given(package=package, ecosystem=ecosystem, page=page))

    async def adependency_facts(
        self, package: str | None = None, ecosystem: str | None = None, page: int = 1
    ) -> Answer:
        """Say what the code base depends on: packages, versions and runtimes, with file and line."""
        return await self.acall("dependency_facts", _given(package=package, ecosystem=ecosystem, page=page))

    def index_status(self) -> Answer:
        """Say which snapshot of the code the index describes."""
        return self.call("index_status")

    async def aindex_status(self) -> Answer:
        """Say which snapshot of the code the index describes."""
        return await self.acall("index_status")

    def refresh_index(self) -> Answer:
        """Bring the index to the state of the files."""
        return self.call("refresh_index")

    async def arefresh_index(self) -> Answer:
        """Bring the index to the state of the files."""
        return await self.acall("refresh_index")

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """Return the tools, each with typed arguments; a model's wrong arguments come back as the error shape.

        Args:
            spec_functions: Which tools; all by default.
            func_to_metadata_mapping: Replaces descriptions, by the tool's name.
        """
        wanted = [entry if isinstance(entry, str) else entry[0] for entry in spec_functions or self.spec_functions]
        given = func_to_metadata_mapping or {}
        return [self._tool(name, given.get(name)) for name in wanted]

    def _tool(self, name: str, metadata: ToolMetadata | None) -> FunctionTool:
        known = self._toolbox.tools[name]
        metadata = metadata or ToolMetadata(name=name, description=known.description, fn_schema=known.arguments)
        run, arun = self._functions(name)
        return FunctionTool.from_defaults(fn=run, async_fn=arun, tool_metadata=metadata)

    def _functions(self, name: str) -> tuple[Callable[..., Answer], Callable[..., Any]]:
        def run(**params: Any) -> Answer:
            return self.call(name, params)

        async def arun(**params: Any) -> Answer:
            return await self.acall(name, params)

        run.__name__, arun.__name__ = name, f"a{name}"
        return run, arun


def _given(**params: Any) -> dict[str, Any]:
    """Return the parameters that were given: an error then quotes no defaults back."""
    return {key: value for key, value in params.items() if value is not None}
