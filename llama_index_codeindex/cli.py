"""The `codeindex` command. It stands on the engine alone, so that it starts in a fraction of a second."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from io import TextIOWrapper
from typing import Any

from llama_index_codeindex import __version__
from llama_index_codeindex.completion import SHELLS, script
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.context.fence import inert, visible
from llama_index_codeindex.engine.context.windows import best_window
from llama_index_codeindex.engine.errors import (
    CodeIndexError,
    IndexBusy,
    IndexNotWritable,
    InvalidArgument,
    SymbolNotFound,
)
from llama_index_codeindex.engine.facts.model import Facts
from llama_index_codeindex.engine.graph.prose import caller_lines, definition_lines, reference_lines
from llama_index_codeindex.engine.graph.repomap import DEFAULT_BUDGET
from llama_index_codeindex.engine.model import SearchResult
from llama_index_codeindex.engine.progress import ProgressBar
from llama_index_codeindex.engine.search.query import understand
from llama_index_codeindex.engine.static_model import StaticModel
from llama_index_codeindex.engine.store.options import RefreshReport
from llama_index_codeindex.engine.syntax.chunking import split_lines
from llama_index_codeindex.engine.syntax.parsing import self_test
from llama_index_codeindex.engine.watch import DEBOUNCE

FOUND, NOTHING, FAILED, INTERRUPTED = 0, 1, 2, 130

_EXAMPLES = {
    "index": [".", "~/src/project --embed local"],
    "status": [".", ". --gaps", ". --json"],
    "search": [
        '. "how are retries decided"',
        ". UserService --json",
        '. "lang:python path:src/ open connection" --top-k 10',
        ". cache --under src/store --language rust",
    ],
    "pack": ['. "where is the cache invalidated"', '. "where is the cache invalidated" --top-k 3'],
    "facts": [".", ". --ecosystem npm --json"],
    "symbol": [". UserService.save", ". src/users.py#UserService.save"],
    "refs": [". UserService.save", ". UserService.save --callers --depth 3"],
    "map": [". --budget 4000", '. --query "how are retries decided"', ". --svg map.svg"],
    "watch": [".", ". --debounce 2"],
    "clear": ["."],
    "mcp": ["/path/to/repository"],
    "completion": ["bash > ~/.local/share/bash-completion/completions/codeindex", "fish | source"],
}
_SHOWN_IN_GENERAL = ("search", "pack", "refs", "map", "status")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 found or done, 1 nothing found, 2 an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of any script on any terminal
    arguments = _parser().parse_args(argv)
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()  # here, where what goes wrong with it is still told
        return code
    except CodeIndexError as error:
        _print_error(error, as_json=arguments.json)
        return FAILED
    except BrokenPipeError:
        # The reader went away; keep the interpreter from complaining about it at exit.
        _drop_output()
        return FOUND
    except OSError as error:
        _drop_output()
        print(f"OUTPUT_FAILED: The answer cannot be written: {error.strerror}.", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("interrupted; the last generation is kept", file=sys.stderr)
        return INTERRUPTED


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that the interpreter does not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="codeindex", description="Search a code base by question, symbol or path.",
        epilog=_examples(*_SHOWN_IN_GENERAL), formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"codeindex {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    index = _command(commands, "index", _index, "build the index, or bring it to the state of the files")
    index.add_argument("--allow-broad-root", action="store_true", help="index a home directory or a file system's root")

    status = _command(commands, "status", _status, "show which snapshot of the code the index describes")
    status.add_argument("--gaps", action="store_true", help="list what is not in the index, and why")

    search = _command(commands, "search", _search, "find the places that answer a question")
    _add_query(search)
    search.add_argument("--mode", default="all", help="all, meaning, path or symbol (default: %(default)s)")

    pack = _command(commands, "pack", _pack, "print exactly what a model would be given")
    _add_query(pack)

    facts = _command(commands, "facts", _facts, "list declared packages, locked versions and runtimes")
    facts.add_argument("--ecosystem", default="", help="only this one, for example npm or pypi")

    symbol = _command(commands, "symbol", _symbol, "find the definitions of a name")
    _add_name(symbol)

    refs = _command(commands, "refs", _refs, "list where a name is used, and how sure that is")
    _add_name(refs)
    refs.add_argument("--callers", action="store_true", help="what calls it, instead of every use")
    refs.add_argument("--depth", type=int, default=1, help="how many calls deep (default: %(default)s)")

    drawn = _command(commands, "map", _map, "print the most used files and symbols under a budget of tokens")
    drawn.add_argument("--budget", type=int, default=DEFAULT_BUDGET, help="tokens a page costs (default: %(default)s)")
    drawn.add_argument("--query", type=_as_text, help="a question that the map is to be about")
    drawn.add_argument("--under", action="append", default=[], help="a file or folder that it is to be about")
    drawn.add_argument("--page", type=int, default=1, help="which page (default: %(default)s)")
    drawn.add_argument("--svg", metavar="FILE", help="draw a picture of the whole into this file instead")

    watch = _command(commands, "watch", _watch, "keep the index fresh until interrupted")
    watch.add_argument(
        "--debounce", type=float, default=DEBOUNCE, help="seconds without a change (default: %(default)s)"
    )

    clear = _command(commands, "clear", _clear, "remove the index of this folder")
    clear.set_defaults(embed="none")

    _command(
        commands, "mcp", _mcp, "serve the tools to agents over the Model Context Protocol, on standard input and output"
    )
    completion = commands.add_parser(
        "completion", help="print a completion script for a shell", epilog=_examples("completion"),
        description="Print a completion script for a shell.", formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    completion.set_defaults(run=_completion, json=False)
    return parser


def _command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=_examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.add_argument("root", metavar="ROOT", help="the folder of the code base")
    command.add_argument("--cache-dir", help="where indexes are kept (default: the user's cache folder)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--embed", default="none", help="none: words alone (default); local: the packaged model, too")
    command.set_defaults(run=run, allow_broad_root=False)
    return command


def _examples(*commands: str) -> str:
    """Return examples of commands, as the end of a help text."""
    return "\n".join(["examples:", *(f"  codeindex {name} {rest}" for name in commands for rest in _EXAMPLES[name])])


def _as_text(argument: str) -> str:
    """Return an argument as UTF-8, which terminals send whatever the locale says."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _add_query(command: argparse.ArgumentParser) -> None:
    command.add_argument("query", type=_as_text, metavar="QUERY", help="a question, a symbol or a path")
    command.add_argument("--top-k", default="5", help="how many hits at most (default: %(default)s)")
    command.add_argument(
        "--under", action="append", default=[], help="only below this folder, or matching this pattern"
    )
    command.add_argument("--language", action="append", default=[], help="only this language")


def _add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", type=_as_text, metavar="NAME", help="a name, qualified or not, or path#name")


def _open(arguments: argparse.Namespace) -> Codebase:
    """Open the index and bring it to the state of the files; progress goes to standard error."""
    codebase = Codebase(
        arguments.root, arguments.cache_dir, _embedder(arguments), allow_broad_root=arguments.allow_broad_root
    )
    try:
        with ProgressBar() as bar:
            codebase.refresh(bar)
    except (IndexBusy, IndexNotWritable) as error:
        if not codebase.generation:
            raise
        print(f"{error.code}: answering from generation {codebase.generation}. {error.suggestion}", file=sys.stderr)
    return codebase


def _embedder(arguments: argparse.Namespace) -> StaticModel | None:
    """Return the packaged model if it is wanted; the command asks no server."""
    if arguments.embed not in ("local", "none"):
        raise InvalidArgument("--embed takes local or none.", suggestion="Use --embed none.")
    return StaticModel() if arguments.embed == "local" else None


def _index(arguments: argparse.Namespace) -> int:
    codebase = Codebase(
        arguments.root, arguments.cache_dir, _embedder(arguments), allow_broad_root=arguments.allow_broad_root
    )
    with ProgressBar() as bar:
        report = codebase.refresh(bar)
    mark = codebase.status()
    if arguments.json:
        changes = {"added": report.added, "changed": report.changed, "removed": report.removed}
        _print_json({**changes, "watermark": mark.to_dict()})
    else:
        print(f"{mark.files} files, {mark.chunks} chunks, generation {mark.generation}")
        print(f"{report.added} added, {report.changed} changed, {report.removed} removed")
        if mark.gaps:
            print("not indexed: " + ", ".join(f"{count} {reason}" for reason, count in mark.gaps.items()))
    return FOUND


# Examples of each kind of gap that a terminal shows.
_SHOWN_GAPS = 20


def _status(arguments: argparse.Namespace) -> int:
    codebase = Codebase(arguments.root, arguments.cache_dir, _embedder(arguments))
    mark = codebase.status()
    gaps = codebase.gaps() if arguments.gaps else []
    if arguments.json:
        shown: dict[str, Any] = {"watermark": mark.to_dict()}
        if arguments.gaps:
            shown["gaps"] = [{"path": gap.path, "reason": gap.reason, "detail": gap.detail} for gap in gaps]
        _print_json(shown)
        return FOUND
    for key, value in mark.to_dict().items():
        if key != "gaps" and value not in ("", 0, 0.0):
            print(f"{key.replace('_', ' '):20} {value}")
    if not self_test():
        print(f"{'parsers':20} none works; files are cut by lines")
    for reason, count in mark.gaps.items():
        print(f"{'gap: ' + reason.replace('_', ' '):20} {count}")
    for reason in mark.gaps if arguments.gaps else ():
        print(f"{reason.replace('_', ' ')}:")
        paths = [gap for gap in gaps if gap.reason == reason]
        for gap in paths[:_SHOWN_GAPS]:
            print(f"  {inert(gap.path)}{' (' + gap.detail + ')' if gap.detail else ''}")
        if len(paths) > _SHOWN_GAPS:
            print(f"  … {len(paths) - _SHOWN_GAPS} more; --json lists them all")
    return FOUND


def _search(arguments: argparse.Namespace) -> int:
    result = _open(arguments).search(arguments.query, _top_k(arguments), arguments.mode, _filters(arguments))
    if arguments.json:
        _print_json(result.to_dict())
    else:
        _print_hits(result, understand(arguments.query).terms)
    return FOUND if result.hits else NOTHING


def _pack(arguments: argparse.Namespace) -> int:
    pack = _open(arguments).pack(arguments.query, _filters(arguments), max_hits=_top_k(arguments))
    if arguments.json:
        blocks = [
            {"file_path": b.hit.file_path, "start_line": b.start_line, "end_line": b.end_line, "symbol": b.hit.symbol}
            for b in pack.blocks
        ]
        _print_json({"text": pack.render(), "excerpts": blocks, "left_out": list(pack.left_out)})
    else:
        sys.stdout.write(pack.render())
    return FOUND if pack.blocks else NOTHING


def _symbol(arguments: argparse.Namespace) -> int:
    places = _open(arguments).definitions(arguments.name)
    if arguments.json:
        _print_json({"definitions": [asdict(place) for place in places]})
    else:
        print("\n".join(definition_lines(places)) or "nothing found")
    return FOUND if places else NOTHING


def _refs(arguments: argparse.Namespace) -> int:
    codebase = _open(arguments)
    try:
        if arguments.callers:
            calling = codebase.callers(arguments.name, arguments.depth)
            lines, found = caller_lines(calling), calling.to_dict()
        else:
            using = codebase.references(arguments.name)
            lines, found = reference_lines(using), using.to_dict()
    except SymbolNotFound as error:
        _print_error(error, as_json=arguments.json)
        return NOTHING
    if arguments.json:
        _print_json(found)
    else:
        print("\n".join(lines) or "nothing found")
    return FOUND if found.get("uses") or found.get("callers") else NOTHING


def _map(arguments: argparse.Namespace) -> int:
    codebase = _open(arguments)
    if arguments.svg:
        try:
            with open(arguments.svg, "w", encoding="utf-8") as file:
                file.write(codebase.picture())
        except OSError as error:
            raise InvalidArgument(f"The picture cannot be written: {error.strerror}.") from None
        print(json.dumps({"svg": True}) if arguments.json else "drawn")
        return FOUND
    drawn = codebase.repo_map(arguments.budget, arguments.query, arguments.under, arguments.page)
    if arguments.json:
        _print_json(drawn.to_dict())
    else:
        sys.stdout.write(drawn.text)
    return FOUND if drawn.files else NOTHING


def _watch(arguments: argparse.Namespace) -> int:
    codebase = _open(arguments)

    def say(report: RefreshReport) -> None:
        if not report.is_noop:
            changes = f"{report.added} added, {report.changed} changed, {report.removed} removed"
            print(f"generation {report.generation}: {changes}", flush=True)

    watcher = codebase.watch(arguments.debounce, on_refresh=say)
    try:
        print(f"watching; generation {codebase.generation}", flush=True)
        threading.Event().wait()
    finally:
        watcher.stop()
    return FOUND


def _facts(arguments: argparse.Namespace) -> int:
    facts = _open(arguments).facts()
    if arguments.ecosystem:
        facts = facts.of(arguments.ecosystem.lower())
    if arguments.json:
        _print_json(facts.to_dict())
    else:
        _print_facts(facts)
    return FOUND if facts.manifests else NOTHING


def _print_facts(facts: Facts) -> None:
    for ecosystem, totals in facts.totals().items():
        counts = ", ".join(f"{'unknown' if totals[key] is None else totals[key]} {key}" for key in ("direct", "locked"))
        print(_bold(ecosystem) + f"  {counts}  ({totals['known']})")
    for runtime in facts.runtimes:
        print(f"{inert(runtime.file_path)}:{runtime.line}  {inert(runtime.name)} {inert(runtime.version)}")
    for fact in facts.facts:
        if fact.direct and not fact.locked:
            resolved = f" = {inert(fact.resolved)}" if fact.resolved not in ("", fact.version) else ""
            version = f"{inert(fact.name)} {inert(fact.version)}".rstrip()
            print(f"{inert(fact.file_path)}:{fact.line}  {version}{resolved}  {fact.scope}")
    for manifest in facts.manifests:
        if manifest.status != "parsed":
            print(f"{inert(manifest.file_path)}  {manifest.status.replace('_', ' ')}: {inert(manifest.reason)}")
    if not facts.manifests:
        print("nothing found (no manifests)")


def _clear(arguments: argparse.Namespace) -> int:
    Codebase(arguments.root, arguments.cache_dir).clear()
    print(json.dumps({"cleared": True}) if arguments.json else "cleared")
    return FOUND


def _completion(arguments: argparse.Namespace) -> int:
    sys.stdout.write(script(_parser(), arguments.shell))
    return FOUND


def _mcp(arguments: argparse.Namespace) -> int:
    from llama_index_codeindex.mcp_server import serve  # its SDK is an extra

    codebase = Codebase(
        arguments.root, arguments.cache_dir, _embedder(arguments), allow_broad_root=arguments.allow_broad_root
    )
    try:
        serve(codebase)
    finally:
        codebase.close()
    return FOUND


def _top_k(arguments: argparse.Namespace) -> int:
    try:
        return int(arguments.top_k)
    except ValueError:
        raise InvalidArgument("--top-k takes a whole number.", suggestion="Use --top-k 5.") from None


def _filters(arguments: argparse.Namespace) -> dict[str, object]:
    given = {"under": arguments.under, "language": arguments.language}
    return {key: value for key, value in given.items() if value}


# Lines of a hit that a terminal shows, around what matched; the whole hit is one editor jump away.
_SHOWN_LINES = 8


def _print_hits(result: SearchResult, wanted: Sequence[str]) -> None:
    for hit in result.hits:
        name = f"  {inert(hit.symbol)}" if hit.symbol else ""
        stale = "  (changed since indexed)" if hit.stale else ""
        print(_bold(f"{inert(hit.file_path)}:{hit.start_line}-{hit.end_line}") + name + stale)
        lines = split_lines(hit.text)
        window = best_window(lines, hit.start_line, wanted, _SHOWN_LINES, hit.focus_line)
        if window.start > hit.start_line:
            print("    …")
        for line in lines[window.start - hit.start_line : window.end - hit.start_line + 1]:
            print("    " + visible(line.rstrip())[:160])
        if window.end < hit.end_line:
            print("    …")
    if not result.hits:
        print(f"nothing found ({result.empty_reason.replace('_', ' ')})")
    if result.degraded:
        print(f"degraded: {', '.join(result.degraded_reasons)}", file=sys.stderr)


def _bold(text: str) -> str:
    use = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\033[1m{text}\033[0m" if use else text


def _print_json(value: dict[str, Any]) -> None:
    # ASCII only: names of any script survive every terminal's and pipe's encoding.
    print(json.dumps(value, indent=2))


def _print_error(error: CodeIndexError, *, as_json: bool) -> None:
    if as_json:
        _print_json(error.to_dict())
    else:
        print(f"{error.code}: {error.message}\n{error.suggestion}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
