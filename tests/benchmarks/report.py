"""What a run says of itself, and its table."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from tests.benchmarks.meters import REPOSITORY, Figures
from tests.benchmarks.peers import PEERS

_PACKAGES = ("llama-index-codeindex", "tree-sitter", "tree-sitter-language-pack", "numpy", "wordllama")
# The kinds of questions, and how the table names them.
_SEARCHES = {kind: f"search, {kind}" for kind in ("prose", "symbol", "path")}
_ASKED = {**_SEARCHES, "pack": "context pack", "refs": "references of a name"}
# What was asked for, in the units of the table.
_ASKED_BUILD_MB, _ASKED_LARGE_MB, _ASKED_GROWTH = 250, 1_000, 1.3


def about(*, is_given: bool) -> Figures:
    """Return which code ran on what kind of machine; nothing that tells whose it is."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "is_changed": bool(_git("status", "--porcelain", "--", "llama_index_codeindex")),
        "source": "folders that were given" if is_given else "the standard library and the installed packages",
        "versions": versions,
        "machine": {
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9) if hasattr(os, "sysconf") else 0,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
    }  # fmt: skip


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.strip()


def table(results: Figures) -> str:
    """Return everything as Markdown."""
    parts = [_machine(results), _sizes(results["sizes"]), _memory(results)]
    if "peers" in results:
        parts.append(_peers(results["peers"]))
    for title, key, make in (("With the packaged model", "model", _model), ("Many at once", "together", _together)):
        if key in results:
            found = results[key]
            parts.append(f"## {title}\n\n" + (_lacking(found) if "missing" in found else make(found)))
    return "\n".join(parts)


def _lacking(found: Figures) -> str:
    return f"Not measured: there is no {found['missing']} here.\n"


def _machine(results: Figures) -> str:
    machine = results["machine"]
    mark = ", with changes" if results["is_changed"] else ""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    return (
        f"Commit {results['commit']}{mark}; {machine['cores']} cores, {machine['memory_gb']} GB, {machine['platform']}, "
        f"Python {machine['python']}; {versions}. The trees are {results['source']}; larger trees have copies of them in "
        "which the names differ.\n"
    )


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"


def _percentiles(found: Figures) -> str:
    return " / ".join(f"{found[share]:.1f}" for share in ("p50", "p95", "p99"))


def _row(name: str, sizes: Sequence[Figures], cell: Callable[[Figures], str]) -> list[str]:
    return [name, *(cell(size) for size in sizes)]


def _sizes(sizes: Sequence[Figures]) -> str:
    def wait(key: str, part: str) -> Callable[[Figures], str]:
        return lambda size: _seconds(size[key][part]["wall"])

    first = sizes[0]
    rows = [
        _row("lines of code", sizes, lambda s: f"{s['lines']:,}"),
        _row("chunks", sizes, lambda s: f"{s['chunks']:,}"),
        _row("index on disk, and the code", sizes, lambda s: f"{s['index_mb']:.0f} MB, {s['mb']:.0f} MB"),
        _row("cold build", sizes, lambda s: f"{_seconds(s['build']['wall'])} ({s['build']['runs']} runs)"),
        _row("… CPU of all processes", sizes, lambda s: _seconds(s["build"]["cpu"])),
        *(_row(f"refresh, {name}", sizes, wait("changes", name)) for name in ("no change", "edit", "rename", "delete")),
        _row("refresh, 100 files of another branch", sizes, wait("changes", "branch switch")),
        _row("`codeindex search` in a new process", sizes, wait("commands", "search")),
        *(
            _row(f"{name} (ms: p50 / p95 / p99)", sizes, lambda s, k=key: _percentiles(s["queries"][k]))  # type: ignore[misc]
            for key, name in _ASKED.items()
        ),
        _row("map, index open", sizes, wait("queries", "map")),
        _row("… the first of a process", sizes, wait("queries", "first map")),
        _row("`codeindex map` in a new process", sizes, wait("commands", "map")),
    ]
    note = (
        f"\nMedians: {first['changes']['edit']['runs']} runs of every refresh and new process, as many builds as it says, "
        f"{first['queries']['prose']['runs']} questions of each kind, each asked once. Hits asked for: 10.\n"
    )
    return "## Sizes\n\n" + _grid(["", *(f"{size['files']:,} files" for size in sizes)], rows) + note


def _memory(results: Figures) -> str:
    sizes = results["sizes"]
    first = sizes[0]

    def grown(key: str) -> Callable[[Figures], str]:
        return lambda s: f"{s['build'][key] / s['files'] / (first['build'][key] / first['files']):.2f}"

    rows = [
        _row("build: this process beyond its imports", sizes, lambda s: _mb(s["build"]["peak_mb"] - s["build"]["imports_mb"])),
        _row("build: this process", sizes, lambda s: _mb(s["build"]["peak_mb"])),
        _row("build: with its workers", sizes, lambda s: _mb(s["build"]["family_peak_mb"])),
        _row("questions and maps", sizes, lambda s: _mb(s["queries"]["peak_mb"])),
        _row("build time per file, first = 1", sizes, grown("wall")),
        _row("build CPU per file, first = 1", sizes, grown("cpu")),
        _row("index per file, first = 1", sizes,
             lambda s: f"{s['index_mb'] / s['files'] / (first['index_mb'] / first['files']):.2f}"),
    ]  # fmt: skip
    asked = (
        f"\nPeaks of resident memory. Asked: at most {_ASKED_BUILD_MB} MB beyond the imports at the first size, less than "
        f"{_ASKED_LARGE_MB:,} MB at 50,000 files, and at most {_ASKED_GROWTH} times the cost per file. {_limit(results)}\n"
    )
    return "## Memory and growth\n\n" + _grid(["", *(f"{size['files']:,} files" for size in sizes)], rows) + asked


def _mb(value: float) -> str:
    return f"{value:,.0f} MB"


def _limit(results: Figures) -> str:
    found = results.get("limited", {"limit_mb": 0, "missing": "finished run"})
    if "missing" in found:
        return f"A build inside a limit of memory was not measured: it needs {found['missing']}."
    if "failed" in found:
        return f"The first size does not build inside {found['limit_mb']} MB."
    return f"Inside a limit of {found['limit_mb']} MB the first size builds in {_seconds(found['wall'])}."


def _peers(found: Figures) -> str:
    ours = found["ours"]
    rows = [["ours, lexical", *["1"] * 4, f"{ours['chunks']:,}"]]
    lacking = ""
    for key, name in {**PEERS, "floor": "only reading and parsing, one thread"}.items():
        peer = found[key]
        if "missing" in peer:
            lacking += f"\n{name} was not measured: there is no `{peer['missing']}` in the peers' interpreter.\n"
            continue
        cells = [f"{peer['build'][part] / ours['build'][part]:.2f}" for part in ("wall", "cpu")]
        if "queries" in peer:
            cells.append(f"{peer['queries']['prose']['p50'] / ours['queries']['prose']['p50']:.2f}")
            memory = [one["peak_mb"] - one["imports_mb"] for one in (peer, ours)]
            cells += [f"{memory[0] / memory[1]:.2f}", f"{peer['chunks']:,}"]
        rows.append([name, *cells, *["–"] * (5 - len(cells))])
    head = ["", "build, time", "build, CPU", "a question in prose, p50", "memory of a build", "chunks"]
    note = (
        f"\nRatios to ours at {found['files']:,} files; below 1 the peer takes less. {ours['runs']} rounds, everything in "
        "turn. semble has a model that answers at once with random vectors, so that only its own work counts; ours "
        "is lexical and uses a process for every core, the peers use one. Memory: the main process beyond its imports.\n"
    )
    return "## Beside the peers\n\n" + _grid(head, rows) + note + lacking


def _model(found: Figures) -> str:
    built, asked = found["build"], found["queries"]
    rows = [
        ["cold build", _seconds(built["wall"])],
        ["… CPU of all processes", _seconds(built["cpu"])],
        ["index on disk", _mb(built["index_mb"])],
        ["build: this process beyond its imports", _mb(built["peak_mb"] - built["imports_mb"])],
        *([f"{name} (ms: p50 / p95 / p99)", _percentiles(asked[kind])] for kind, name in _SEARCHES.items()),
    ]
    return _grid(["", f"{found['files']:,} files"], rows)


def _together(found: Figures) -> str:
    rows = [
        [name, f"{one['rate']:.0f}", str(one["errors"])]
        for name, one in found.items() if isinstance(one, dict) and "rate" in one
    ]  # fmt: skip
    return _grid([f"{found['chunks']:,} chunks", "searches per second", "errors"], rows)
