"""Tools that read files and the index's own state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.context.fence import inert, visible
from llama_index_codeindex.engine.context.tokens import estimate_tokens
from llama_index_codeindex.engine.context.windows import narrow_line
from llama_index_codeindex.engine.errors import FileNotIndexed, InvalidArgument, action
from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.jail import relative_path
from llama_index_codeindex.engine.model import Source
from llama_index_codeindex.engine.store.catalog import FileRow
from llama_index_codeindex.engine.store.contents import path_key
from llama_index_codeindex.engine.syntax.chunking import split_lines
from llama_index_codeindex.engine.tools.answers import DATA_NOTE, Answer, step
from llama_index_codeindex.engine.tools.arguments import MAX_READ_LINES, NoArguments, ReadLines

# A page of ordinary code has about 2,000 tokens; more than twice that is data.
_MAX_TOKENS = 4000
_LINE_CHARS = 400


def read_lines(codebase: Codebase, arguments: ReadLines) -> Answer:
    """Return lines of an indexed file as they are now."""
    with codebase.store.read() as view:
        file = known_file(codebase, view.catalog.files(), arguments.path)
        generation, commit = view.generation, view.meta.get("commit", "")
    source = codebase.gate.read(file.path)
    if not isinstance(source, Source):
        raise FileNotIndexed(f"{inert(file.path)!r} cannot be read any more.")
    lines = split_lines(source.text)
    start = arguments.start_line
    if start > len(lines):
        raise InvalidArgument(
            f"The file has {len(lines)} lines.",
            next_action=action("read_lines", path=inert(file.path), start_line=max(1, len(lines) - MAX_READ_LINES + 1)),
        )
    last = arguments.end_line or start + MAX_READ_LINES - 1
    if last < start:
        raise InvalidArgument(
            "end_line lies before start_line.",
            next_action=action("read_lines", path=inert(file.path), start_line=last, end_line=start),
        )
    end = min(last, start + MAX_READ_LINES - 1, len(lines))
    text, end = _text(lines, start, end)
    answer = Answer(
        note=DATA_NOTE, file_path=inert(file.path), start_line=start, end_line=end, total_lines=len(lines),
        generation=generation, commit=commit,
    )  # fmt: skip
    if source.content_hash != file.hash:
        answer["changed_since_indexed"] = True
    answer["text"] = text
    if end < len(lines):
        following = min(end + MAX_READ_LINES, len(lines))
        answer["next_step"] = step("read_lines", path=inert(file.path), start_line=end + 1, end_line=following)
    return answer


def _text(lines: list[str], start: int, end: int) -> tuple[str, int]:
    """Return the text of the lines, and the last line that has room."""
    kept: list[str] = []
    tokens = 0
    for number in range(start, end + 1):
        line = visible(narrow_line(lines[number - 1].replace("\r\n", "\n"), _LINE_CHARS, ()))
        tokens += estimate_tokens(line)
        if kept and tokens > _MAX_TOKENS:
            return "".join(kept), number - 1
        kept.append(line)
    return "".join(kept), end


def known_file(codebase: Codebase, files: Mapping[str, FileRow], path: str) -> FileRow:
    """Return the indexed file that a caller names, in any spelling of its path, shown or real.

    Raises:
        PathOutsideRoot: The path leaves the root.
        FileDenied: The file is never read.
        FileNotIndexed: The index does not hold it.
    """
    relative = relative_path(path, codebase.root)
    for candidate in (path, relative):
        if candidate in files:
            return files[candidate]
    composed = path_key(relative)
    for file in files.values():
        if inert(file.path) == path or path_key(file.path) == composed:
            return file
    if relative and is_denied(relative):
        codebase.gate.require(relative)
    raise FileNotIndexed(f"{inert(relative)!r} is not in the index.", next_action=_instead(relative, files))


def _instead(relative: str, files: Mapping[str, FileRow]) -> dict[str, Any]:
    """Return what to do about an unknown path: read the one file of that name, or look for new files."""
    name = relative.rsplit("/", 1)[-1].casefold()
    same = [file.path for file in files.values() if file.path.rsplit("/", 1)[-1].casefold() == name]
    return action("read_lines", path=inert(same[0])) if len(same) == 1 else action("refresh_index")


def index_status(codebase: Codebase, _: NoArguments) -> Answer:
    """Return the watermark without what is empty."""
    mark = codebase.status().to_dict()
    shown = {key: value for key, value in mark.items() if value not in ("", {}, 0.0) or key in ("generation", "files")}
    shown.pop("parser_fingerprint", None)
    answer = Answer({key: inert(value) if isinstance(value, str) else value for key, value in shown.items()})
    if not mark["generation"] or mark["state"] != "current":
        answer["next_step"] = step("refresh_index")
    return answer


def refresh_index(codebase: Codebase, _: NoArguments) -> Answer:
    """Refresh the index and say what was new."""
    report = codebase.refresh()
    mark = codebase.status()
    answer = Answer(
        added=report.added, changed=report.changed, removed=report.removed, generation=mark.generation,
        state=mark.state, files=mark.files,
    )  # fmt: skip
    if report.embedding_problem:
        answer["degraded_reasons"] = [report.embedding_problem.lower()]
    return answer
