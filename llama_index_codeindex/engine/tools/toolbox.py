"""All tools of one code base, by name: arguments are checked, and every failure is an answer of one shape."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import CodeIndexError, IndexDamaged, InvalidArgument, action
from llama_index_codeindex.engine.tools import facts, lookup, orientation, reading
from llama_index_codeindex.engine.tools.answers import Answer, failed
from llama_index_codeindex.engine.tools.arguments import (
    Arguments,
    FindReferences,
    FindSymbol,
    NoArguments,
    ReadLines,
    RepoMapArguments,
    SearchCode,
    check,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Args:
        name: Its name.
        description: What a model reads of it; OpenAI admits 1,024 characters.
        arguments: The model of its arguments.
        run: Answers a call.
        read_only: Whether it leaves the index as it is. No tool changes the repository.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Codebase, Any], Answer]
    read_only: bool = True


TOOLS: tuple[Tool, ...] = (
    Tool(
        "search_code",
        "Find the places in the code base that answer a question, define a symbol or lie at a path. Returns the best "
        "places with a few lines of each; follow next_step to read on.",
        SearchCode,
        lookup.search_code,
    ),
    Tool(
        "find_symbol",
        "Find the definition of a function, class, method or constant by its name. If several match, it returns "
        "candidates with ids; call again with the id that is meant.",
        FindSymbol,
        lookup.find_symbol,
    ),
    Tool(
        "find_references",
        "List where a name is called, imported, inherited from or used as a type, and in which function. Confidence says "
        "whether this definition is meant: exact, likely, or only the name matches.",
        FindReferences,
        lookup.find_references,
    ),
    Tool(
        "repo_map",
        "Show the code base at a glance: its folders, and its most used files with their most used symbols and line "
        "numbers. Give a question to see what matters to it.",
        RepoMapArguments,
        orientation.repo_map,
    ),
    Tool(
        "read_lines",
        "Read up to 200 lines of an indexed file as they are now.",
        ReadLines,
        reading.read_lines,
    ),
    Tool(
        "dependency_facts",
        "Say what the code base depends on: declared packages, locked versions and runtimes, with file and line. Without "
        "arguments: totals, and the status of every manifest.",
        facts.DependencyFacts,
        facts.dependency_facts,
    ),
    Tool(
        "index_status",
        "Say which snapshot of the code the index describes, and what it could not use.",
        NoArguments,
        reading.index_status,
    ),
    Tool(
        "refresh_index",
        "Bring the index to the state of the files. Needed only after files changed.",
        NoArguments,
        reading.refresh_index,
        read_only=False,
    ),
)


class Toolbox:
    """Answers calls of tools; it never raises for what a caller sends.

    Args:
        codebase: The code base, which no argument of a tool can change or leave.
        tools: The tools to offer.
    """

    def __init__(self, codebase: Codebase, tools: tuple[Tool, ...] = TOOLS) -> None:
        self.codebase = codebase
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}

    def call(self, name: str, params: Mapping[str, Any] | None = None) -> Answer:
        """Return the answer of a tool, or the error shape: what `next_step` and `next_action` hold can be sent here."""
        try:
            tool = self.tools.get(name)
            if tool is None:
                raise InvalidArgument(
                    "There is no tool of that name.",
                    suggestion=f"Tools are: {', '.join(self.tools)}.",
                    next_action=action("index_status"),
                )
            if params is not None and not isinstance(params, Mapping):
                raise InvalidArgument("The arguments of a tool are an object.", next_action=action("index_status"))
            return tool.run(self.codebase, check(name, tool.arguments, dict(params or {})))
        except CodeIndexError as error:
            return failed(error)
        except sqlite3.DatabaseError:
            logger.exception("The index could not be read.")
            return failed(IndexDamaged("The index could not be read."))
        except Exception as error:
            # An agent gets the one shape whatever happened; the log keeps the rest.
            logger.exception("The tool %s failed.", name)
            return failed(CodeIndexError(f"The tool failed: {type(error).__name__}."))
