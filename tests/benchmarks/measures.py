"""What is measured of this package. Every task is done in an interpreter of its own: `python -m tests.benchmarks.measures`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.static_model import StaticModel
from llama_index_codeindex.engine.store.options import Progress, RefreshReport
from tests.benchmarks.meters import MB, Figures, peak_mb, resident_mb, serve, summary, timed, waits
from tests.benchmarks.trees import commit, git, python_files

TOP_K = 10
# Files that differ between the branches that are switched.
BRANCH_FILES = 100
_MAP_TOKENS = 2_000


def _open(tree: str, cache: str, model: bool = False) -> Codebase:
    return Codebase(tree, cache, StaticModel() if model else None)


def _index_mb(folder: Path) -> float:
    """Return what an index takes on disk; generations share files by links."""
    files = {(status.st_dev, status.st_ino): status.st_size for path in folder.rglob("*") if (status := path.stat())}
    return sum(files.values()) / MB


def build(tree: str, cache: str, model: bool = False) -> Figures:
    """Build an index where there is none."""
    before = resident_mb()
    codebase = _open(tree, cache, model)
    stages: dict[str, float] = {}
    start = time.perf_counter()

    def note(progress: Progress) -> None:
        stages.setdefault(
            f"{progress.stage} {'starts' if progress.done == 0 else 'goes on'}", time.perf_counter() - start
        )

    spent: list[Figures] = []
    timed(lambda: codebase.refresh(note), spent)
    status = codebase.status()
    codebase.close()
    size = _index_mb(codebase.folder)
    return spent[0] | {
        "files": status.files, "chunks": status.chunks, "imports_mb": before, "peak_mb": peak_mb(), "index_mb": size,
        "stages": stages,
    }  # fmt: skip


def changes(tree: str, cache: str, repeat: int) -> Figures:
    """Refresh an index after each kind of change. The tree is left as it was."""
    root, codebase = Path(tree), _open(tree, cache)
    codebase.refresh()
    files = [path for path in python_files(root) if path.stat().st_size > MB // 1000]
    step = max(1, len(files) // (3 * repeat))
    victims = iter(files[::step])

    def refreshes(prepare: Callable[[int], object], expected: RefreshReport) -> Figures:
        runs: list[Figures] = []
        for number in range(repeat):
            prepare(number)
            reports: list[RefreshReport] = []
            timed(lambda kept=reports: kept.append(codebase.refresh()), runs)  # type: ignore[misc]
            told = (reports[0].added, reports[0].changed, reports[0].removed)
            if told != (expected.added, expected.changed, expected.removed):
                raise RuntimeError(f"The refresh told {told}.")
        return summary(runs)

    def edit(number: int) -> None:
        path = next(victims)
        path.write_bytes(path.read_bytes() + f"\n\ndef added_{number}():\n    return {number}\n".encode())

    def rename(number: int) -> None:
        path = next(victims)
        path.rename(path.with_name(f"renamed_{number}.py"))

    found = {
        "no change": refreshes(lambda _: None, RefreshReport(0)),
        "edit": refreshes(edit, RefreshReport(0, changed=1)),
        "rename": refreshes(rename, RefreshReport(0, added=1, removed=1)),
        "delete": refreshes(lambda _: next(victims).unlink(), RefreshReport(0, removed=1)),
    }
    git(root, "clean", "-qfd")
    git(root, "checkout", "-q", "-f", ".")
    branches = ["main", "other"]
    git(root, "checkout", "-q", "-b", "other")
    changed = files[:: max(1, len(files) // BRANCH_FILES)][:BRANCH_FILES]
    for path in changed:
        path.write_bytes(path.read_bytes() + b"\n\ndef of_the_other_branch():\n    return 1\n")
    commit(root)
    codebase.refresh()
    switched = refreshes(
        lambda number: git(root, "checkout", "-q", branches[number % 2]), RefreshReport(0, changed=len(changed))
    )
    git(root, "checkout", "-q", "-f", "main")
    git(root, "branch", "-q", "-D", "other")
    codebase.refresh()
    codebase.close()
    return found | {"branch switch": switched}


def queries(tree: str, cache: str, questions: dict[str, list[str]], repeat: int, model: bool = False) -> Figures:
    """Ask an index that is open."""
    codebase = _open(tree, cache, model)
    codebase.refresh()
    found = {kind: waits(lambda q: codebase.search(q, top_k=TOP_K), asked) for kind, asked in questions.items()}
    found["pack"] = waits(codebase.pack, questions["prose"])
    found["refs"] = waits(codebase.references, questions["symbol"])
    first: list[Figures] = []
    timed(lambda: codebase.repo_map(_MAP_TOKENS), first)
    budget = count(_MAP_TOKENS + 1)  # another each time: a page that was drawn is kept
    runs: list[Figures] = []
    for _ in range(repeat):
        timed(lambda: codebase.repo_map(next(budget)), runs)
    codebase.close()
    return found | {"map": summary(runs), "first map": summary(first), "peak_mb": peak_mb()}


def together(tree: str, cache: str, questions: Sequence[str], threads: int, seconds: float) -> Figures:
    """Search from many threads at once, each as fast as it can."""
    codebase = _open(tree, cache)
    expected = [len(codebase.search(question, top_k=TOP_K).hits) for question in questions]
    done, problems, ready = [0] * threads, [""] * threads, threading.Barrier(threads + 1)
    until = [0.0]

    def hammer(number: int) -> None:
        ready.wait()
        for position in count(number):
            if time.perf_counter() > until[0]:
                return
            try:
                hits = codebase.search(questions[position % len(questions)], top_k=TOP_K).hits
            except Exception as error:
                problems[number] = type(error).__name__
                continue
            if len(hits) != expected[position % len(questions)]:
                problems[number] = "another answer"
            done[number] += 1

    workers = [threading.Thread(target=hammer, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    start = time.perf_counter()
    until[0] = start + seconds
    ready.wait()
    for worker in workers:
        worker.join()
    spent = time.perf_counter() - start
    chunks = codebase.status().chunks
    codebase.close()
    return {"rate": sum(done) / spent, "errors": sum(map(bool, problems)), "chunks": chunks, "peak_mb": peak_mb()}


def floor(tree: str) -> Figures:
    """Only read every file and parse it, on one thread: what no index of syntax can be faster than."""
    from tree_sitter_language_pack import get_parser

    parser = get_parser("python")
    spent: list[Figures] = []
    timed(lambda: [parser.parse(path.read_bytes()) and None for path in python_files(Path(tree))], spent)
    return spent[0]


if __name__ == "__main__":
    os.environ.pop("GIT_DIR", None)
    serve({"build": build, "changes": changes, "queries": queries, "together": together, "floor": floor})
