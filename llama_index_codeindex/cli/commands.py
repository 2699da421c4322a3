"""What each command does: it opens the index, asks it, and returns an exit code."""

from __future__ import annotations

import json
import sys
import threading
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from llama_index_codeindex.cli.completion import script
from llama_index_codeindex.cli.output import (
    say,
    show_error,
    show_facts,
    show_hits,
    show_json,
    show_lines,
    show_status,
    tell,
)
from llama_index_codeindex.cli.parser import make_parser
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import IndexBusy, IndexNotWritable, InvalidArgument, SymbolNotFound
from llama_index_codeindex.engine.graph.prose import caller_lines, definition_lines, reference_lines
from llama_index_codeindex.engine.progress import ProgressBar
from llama_index_codeindex.engine.search.query import understand
from llama_index_codeindex.engine.static_model import StaticModel
from llama_index_codeindex.engine.store.options import RefreshReport
from llama_index_codeindex.engine.store.pruning import prune, remove
from llama_index_codeindex.engine.syntax.parsing import self_test

FOUND, NOTHING, FAILED, INTERRUPTED = 0, 1, 2, 130


def _open(arguments: Namespace) -> Codebase:
    """Open the index as it is."""
    return Codebase(
        arguments.root, arguments.cache_dir, _embedder(arguments), allow_broad_root=arguments.allow_broad_root
    )


def _open_fresh(arguments: Namespace) -> Codebase:
    """Open the index and bring it to the state of the files; progress goes to standard error."""
    codebase = _open(arguments)
    try:
        with ProgressBar() as bar:
            codebase.refresh(bar)
    except (IndexBusy, IndexNotWritable) as error:
        if not codebase.generation:
            raise
        tell(f"{error.code}: answering from generation {codebase.generation}. {error.suggestion}")
    return codebase


def _embedder(arguments: Namespace) -> StaticModel | None:
    """Return the packaged model if it is wanted; the command asks no server."""
    if arguments.embed not in ("local", "none"):
        raise InvalidArgument("--embed takes local or none.", suggestion="Use --embed none.")
    return StaticModel() if arguments.embed == "local" else None


def _top_k(arguments: Namespace) -> int:
    try:
        return int(arguments.top_k)
    except ValueError:
        raise InvalidArgument("--top-k takes a whole number.", suggestion="Use --top-k 5.") from None


def _filters(arguments: Namespace) -> dict[str, object]:
    given = {"under": arguments.under, "language": arguments.language}
    return {key: value for key, value in given.items() if value}


def _index(arguments: Namespace) -> int:
    codebase = _open(arguments)
    with ProgressBar() as bar:
        report = codebase.refresh(bar)
    mark = codebase.status()
    if arguments.json:
        changes = {"added": report.added, "changed": report.changed, "removed": report.removed}
        show_json({**changes, "watermark": mark.to_dict()})
    else:
        say(f"{mark.files} files, {mark.chunks} chunks, generation {mark.generation}")
        say(_changes(report))
        if mark.gaps:
            say("not indexed: " + ", ".join(f"{count} {reason}" for reason, count in mark.gaps.items()))
    return FOUND


def _changes(report: RefreshReport) -> str:
    return f"{report.added} added, {report.changed} changed, {report.removed} removed"


def _status(arguments: Namespace) -> int:
    codebase = _open(arguments)
    mark = codebase.status()
    gaps = codebase.gaps() if arguments.gaps else None
    if arguments.json:
        shown: dict[str, Any] = {"watermark": mark.to_dict()}
        if gaps is not None:
            shown["gaps"] = [{"path": gap.path, "reason": gap.reason, "detail": gap.detail} for gap in gaps]
        show_json(shown)
    else:
        show_status(mark, gaps, has_parsers=self_test())
    return FOUND


def _search(arguments: Namespace) -> int:
    result = _open_fresh(arguments).search(arguments.query, _top_k(arguments), arguments.mode, _filters(arguments))
    if arguments.json:
        show_json(result.to_dict())
    else:
        show_hits(result, understand(arguments.query).terms)
    return FOUND if result.hits else NOTHING


def _pack(arguments: Namespace) -> int:
    pack = _open_fresh(arguments).pack(arguments.query, _filters(arguments), max_hits=_top_k(arguments))
    if arguments.json:
        blocks = [
            {"file_path": b.hit.file_path, "start_line": b.start_line, "end_line": b.end_line, "symbol": b.hit.symbol}
            for b in pack.blocks
        ]
        show_json({"text": pack.render(), "excerpts": blocks, "left_out": list(pack.left_out)})
    else:
        sys.stdout.write(pack.render())
    return FOUND if pack.blocks else NOTHING


def _facts(arguments: Namespace) -> int:
    facts = _open_fresh(arguments).facts()
    if arguments.ecosystem:
        facts = facts.of(arguments.ecosystem.lower())
    if arguments.json:
        show_json(facts.to_dict())
    else:
        show_facts(facts, arguments.ecosystem)
    return FOUND if facts.manifests else NOTHING


def _symbol(arguments: Namespace) -> int:
    places = _open_fresh(arguments).definitions(arguments.name)
    if arguments.json:
        show_json({"definitions": [asdict(place) for place in places]})
    else:
        show_lines(definition_lines(places))
    return FOUND if places else NOTHING


def _refs(arguments: Namespace) -> int:
    codebase = _open_fresh(arguments)
    try:
        if arguments.callers:
            calling = codebase.callers(arguments.name, arguments.depth)
            lines, found = caller_lines(calling), calling.to_dict()
        else:
            using = codebase.references(arguments.name)
            lines, found = reference_lines(using), using.to_dict()
    except SymbolNotFound as error:
        show_error(error, as_json=arguments.json)
        return NOTHING
    if arguments.json:
        show_json(found)
    else:
        show_lines(lines)
    return FOUND if found.get("uses") or found.get("callers") else NOTHING


def _map(arguments: Namespace) -> int:
    codebase = _open_fresh(arguments)
    if arguments.svg:
        try:
            with open(arguments.svg, "w", encoding="utf-8") as file:
                file.write(codebase.picture())
        except OSError as error:
            raise InvalidArgument(f"The picture cannot be written: {error.strerror}.") from None
        say('{"svg": true}' if arguments.json else "drawn")
        return FOUND
    drawn = codebase.repo_map(arguments.budget, arguments.query, arguments.under, arguments.page)
    if arguments.json:
        show_json(drawn.to_dict())
    else:
        sys.stdout.write(drawn.text)
    return FOUND if drawn.files else NOTHING


def _watch(arguments: Namespace) -> int:
    codebase = _open_fresh(arguments)

    def on_refresh(report: RefreshReport) -> None:
        if not report.is_noop:
            say_now(f"generation {report.generation}: {_changes(report)}", asdict(report))

    def say_now(text: str, facts: dict[str, Any]) -> None:
        say(json.dumps(facts) if arguments.json else text)  # one line each
        sys.stdout.flush()  # whoever reads a pipe is to see it as it happens

    watcher = codebase.watch(arguments.debounce, on_refresh=on_refresh)
    try:
        say_now(f"watching; generation {codebase.generation}", {"generation": codebase.generation})
        threading.Event().wait()
    finally:
        watcher.stop()
    return FOUND


def _clear(arguments: Namespace) -> int:
    remove(arguments.root, arguments.cache_dir)  # without opening it, as it may be damaged
    say('{"cleared": true}' if arguments.json else "cleared")
    return FOUND


def _prune(arguments: Namespace) -> int:
    removed = prune(arguments.cache_dir)
    if arguments.json:
        show_json({"removed": removed})
    else:
        show_lines([f"removed the index of {root}" for root in removed] or ["every index has its folder"])
    return FOUND


def _mcp(arguments: Namespace) -> int:
    from llama_index_codeindex.mcp_server import serve  # its SDK is an extra

    codebase = _open(arguments)
    try:
        serve(codebase)
    finally:
        codebase.close()
    return FOUND


def _completion(arguments: Namespace) -> int:
    sys.stdout.write(script(make_parser(), arguments.shell))
    return FOUND


COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "index": _index,
    "status": _status,
    "search": _search,
    "pack": _pack,
    "facts": _facts,
    "symbol": _symbol,
    "refs": _refs,
    "map": _map,
    "watch": _watch,
    "clear": _clear,
    "prune": _prune,
    "mcp": _mcp,
    "completion": _completion,
}
