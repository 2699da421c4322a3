"""The tool that shows the whole: the repo map."""

from __future__ import annotations

from typing import Any

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.tools.answers import DATA_NOTE, Answer, step
from llama_index_codeindex.engine.tools.arguments import RepoMapArguments


def repo_map(codebase: Codebase, arguments: RepoMapArguments) -> Answer:
    """Return a page of the repo map."""
    drawn = codebase.repo_map(arguments.budget, arguments.query, arguments.under, arguments.page)
    answer = Answer(
        note=DATA_NOTE, map=drawn.text, page=drawn.page, has_next=drawn.has_next, generation=drawn.generation
    )
    if drawn.has_next:
        more: dict[str, Any] = {"budget": arguments.budget, "page": arguments.page + 1}
        if arguments.query is not None:
            more["query"] = arguments.query
        if arguments.under:
            more["under"] = list(arguments.under)
        answer["next_step"] = step("repo_map", **more)
    return answer
