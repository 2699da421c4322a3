"""The answers of this room as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llama_index_codeindex.engine.context.fence import inert, visible
from llama_index_codeindex.engine.graph.model import Callers, Place, References


def definition_lines(places: Iterable[Place]) -> Iterator[str]:
    """Yield a line for each definition."""
    for place in places:
        where = f"{inert(place.file_path)}:{place.start_line}-{place.end_line}"
        yield f"{where}  {inert(place.symbol)} ({place.kind})  {visible(place.signature)}".rstrip()


def reference_lines(found: References) -> Iterator[str]:
    """Yield a line for each use: where, what kind, how sure, and inside what."""
    for use in found.uses:
        inside = f"  in {inert(use.symbol)}" if use.symbol else ""
        others = len(use.candidates)
        doubt = f"  one of {others}" if others > 1 else ""
        yield f"{inert(use.file_path)}:{use.line}  {use.kind}  {use.confidence}{inside}{doubt}"


def caller_lines(found: Callers) -> Iterator[str]:
    """Yield a line for each caller, further in the further it is away."""
    for caller in found.callers:
        inside = inert(caller.symbol) or "(top of the file)"
        indent = "  " * (caller.depth - 1)
        calls = f" -> {inert(caller.calls.rpartition('#')[2])}" if caller.depth > 1 else ""
        yield f"{indent}{inert(caller.file_path)}:{caller.line}  {inside}{calls}  {caller.confidence}"
    if found.truncated:
        yield "… there are more"
