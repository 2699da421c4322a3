"""How answers look: lines for a terminal, JSON for a program. Everything that the command writes, it writes here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from llama_index_codeindex.engine.context.fence import inert, visible
from llama_index_codeindex.engine.context.windows import best_window
from llama_index_codeindex.engine.errors import CodeIndexError
from llama_index_codeindex.engine.syntax.chunking import split_lines

if TYPE_CHECKING:
    from llama_index_codeindex.engine.facts.model import Facts
    from llama_index_codeindex.engine.model import Gap, SearchResult, Watermark

# Examples of each kind of gap that a terminal shows.
_SHOWN_GAPS = 20
# Lines of a hit that a terminal shows, around what matched; the whole hit is one editor jump away.
_SHOWN_LINES = 8


def say(text: str) -> None:
    """Write a line of the answer."""
    sys.stdout.write(text + "\n")


def tell(text: str) -> None:
    """Write a line beside the answer."""
    sys.stderr.write(text + "\n")


def show_json(value: dict[str, Any], stream: TextIO | None = None) -> None:
    """Write JSON; in ASCII only: names of any script survive every terminal's and pipe's encoding."""
    (stream or sys.stdout).write(json.dumps(value, indent=2) + "\n")


def show_error(error: CodeIndexError, *, as_json: bool, stream: TextIO | None = None) -> None:
    """Write an error: as JSON where the answer would be, unless a stream is named; as text beside it."""
    if as_json:
        show_json(error.to_dict(), stream)
    else:
        tell(f"{error.code}: {error.message}\n{error.suggestion}")


def show_lines(lines: Iterable[str]) -> None:
    """Write lines, or that there are none."""
    say("\n".join(lines) or "nothing found")


def drop_output() -> None:
    """Send what is still to be written nowhere, so that the interpreter does not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_status(mark: Watermark, gaps: Sequence[Gap] | None, *, has_parsers: bool) -> None:
    """Write a watermark, with examples of its gaps if they are given."""
    for key, value in mark.to_dict().items():
        if key != "gaps" and value not in ("", 0, 0.0):
            say(f"{key.replace('_', ' '):20} {value}")
    if not mark.generation:
        say(f"{'index':20} not built yet; `codeindex index` builds it")
    if not has_parsers:
        say(f"{'parsers':20} none works; files are cut by lines")
    for reason, count in mark.gaps.items():
        say(f"{'gap: ' + reason.replace('_', ' '):20} {count}")
    for reason in mark.gaps if gaps is not None else ():
        say(f"{reason.replace('_', ' ')}:")
        paths = [gap for gap in gaps or () if gap.reason == reason]
        for gap in paths[:_SHOWN_GAPS]:
            say(f"  {inert(gap.path)}{' (' + gap.detail + ')' if gap.detail else ''}")
        if len(paths) > _SHOWN_GAPS:
            say(f"  … {len(paths) - _SHOWN_GAPS} more; --json lists them all")


def show_hits(result: SearchResult, wanted: Sequence[str]) -> None:
    """Write hits, each with the lines around what matched."""
    for hit in result.hits:
        name = f"  {inert(hit.symbol)}" if hit.symbol else ""
        stale = "  (changed since indexed)" if hit.stale else ""
        say(_bold(f"{inert(hit.file_path)}:{hit.start_line}-{hit.end_line}") + name + stale)
        lines = split_lines(hit.text)
        window = best_window(lines, hit.start_line, wanted, _SHOWN_LINES, hit.focus_line)
        if window.start > hit.start_line:
            say("    …")
        for line in lines[window.start - hit.start_line : window.end - hit.start_line + 1]:
            say("    " + visible(line.rstrip())[:160])
        if window.end < hit.end_line:
            say("    …")
    if not result.hits:
        say(f"nothing found: {result.explanation}")
    for hit in result.filtered_preview:
        say(
            f"  without the filters: {inert(hit.file_path)}:{hit.start_line}-{hit.end_line}  {inert(hit.symbol)}".rstrip()
        )
    if result.degraded:
        tell(f"degraded: {', '.join(result.degraded_reasons)}")


def show_facts(facts: Facts, wanted: str = "") -> None:
    """Write what manifests and lock files declare, of one ecosystem if it is named."""
    for ecosystem, totals in facts.totals().items():
        counts = ", ".join(f"{'unknown' if totals[key] is None else totals[key]} {key}" for key in ("direct", "locked"))
        say(_bold(ecosystem) + f"  {counts}  ({totals['known']})")
    for runtime in facts.runtimes:
        say(f"{inert(runtime.file_path)}:{runtime.line}  {inert(runtime.name)} {inert(runtime.version)}")
    for fact in facts.facts:
        if fact.direct and not fact.locked:
            resolved = f" = {inert(fact.resolved)}" if fact.resolved not in ("", fact.version) else ""
            version = f"{inert(fact.name)} {inert(fact.version)}".rstrip()
            say(f"{inert(fact.file_path)}:{fact.line}  {version}{resolved}  {fact.scope}")
    for manifest in facts.manifests:
        if manifest.status != "parsed":
            say(f"{inert(manifest.file_path)}  {manifest.status.replace('_', ' ')}: {inert(manifest.reason)}")
    if not facts.manifests:
        say("nothing found: no manifest" + (f" of the ecosystem {wanted!r}" if wanted else ""))


def _bold(text: str) -> str:
    use = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\033[1m{text}\033[0m" if use else text
