"""The arguments of the tools. One model each: checked here, shown to models as JSON Schema by MCP and LlamaIndex."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from llama_index_codeindex.engine.errors import InvalidArgument, action
from llama_index_codeindex.engine.model import Mode

MAX_READ_LINES = 200
_MAX_TOP_K = 50  # an answer of more is not compact whatever its lines are


def _as_tuple(value: object) -> object:
    if value is None or value == "":
        return ()
    return (value,) if isinstance(value, str) else value


# One text is what models write; a list is accepted, but a union in the schema confuses small models.
Under = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_tuple),
    WithJsonSchema(
        {"type": "string", "description": "Only below this folder, or matching this pattern: src/ or *.py."}
    ),
]
Language = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_tuple),
    WithJsonSchema({"type": "string", "description": "Only this language, for example python."}),
]


class Arguments(BaseModel):
    """What every tool's arguments have in common."""

    model_config = ConfigDict(extra="forbid", str_max_length=4000)


class NoArguments(Arguments):
    """For a tool that takes none."""


class SearchCode(Arguments):
    """Arguments of `search_code`."""

    query: str = Field(description="A question in words, a symbol such as `Session.get`, or a path.")
    top_k: int = Field(default=5, ge=1, le=_MAX_TOP_K, description="How many places at most.")
    mode: Mode = Field(default="all", description="all, or only: meaning, path, symbol.")
    under: Under = Field(default_factory=tuple)
    language: Language = Field(default_factory=tuple)


class FindSymbol(Arguments):
    """Arguments of `find_symbol`."""

    name: str = Field(description="A name, qualified or not, or an id that an earlier answer gave.")
    under: Under = Field(default_factory=tuple)
    language: Language = Field(default_factory=tuple)
    page: int = Field(default=1, ge=1, description="Which page of the candidates.")


class FindReferences(Arguments):
    """Arguments of `find_references`."""

    name: str = Field(description="A name, or an id that an earlier answer gave.")
    under: Under = Field(default_factory=tuple)
    page: int = Field(default=1, ge=1, description="Which page of the files.")


class RepoMapArguments(Arguments):
    """Arguments of `repo_map`."""

    budget: int = Field(default=1000, ge=50, le=20_000, description="How many tokens the map may cost.")
    query: str | None = Field(
        default=None, description="A question that the map is to be about; the whole without one."
    )
    under: Under = Field(default_factory=tuple)
    page: int = Field(default=1, ge=1, description="Which page of the map.")


class ReadLines(Arguments):
    """Arguments of `read_lines`."""

    path: str = Field(description="A path relative to the root, as answers show it.")
    start_line: int = Field(default=1, ge=1, description="The first line, counted from 1.")
    end_line: int | None = Field(
        default=None, ge=1, description=f"The last line, at most {MAX_READ_LINES} lines on; by default that many."
    )


def check(tool: str, model: type[Arguments], given: dict[str, Any]) -> Arguments:
    """Return the arguments, checked; a number written as text is accepted.

    Raises:
        InvalidArgument: One is missing, unknown or out of range. The next action is the call without what was wrong, or
            the index's status when it cannot be mended.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
    wrong = {str(problem["loc"][0]) for problem in problems if problem["loc"]}
    message = "; ".join(f"{_place(problem)}{problem['msg']}" for problem in problems[:3])
    kept = {key: value for key, value in given.items() if key not in wrong}
    try:
        model.model_validate(kept)
        mended = action(tool, **kept)
    except ValidationError:
        mended = action("index_status")
    known = ", ".join(model.model_fields) or "none"
    raise InvalidArgument(f"{tool}: {message}.", suggestion=f"Its arguments are: {known}.", next_action=mended)


def _place(problem: Any) -> str:
    return f"{problem['loc'][0]}: " if problem["loc"] else ""
