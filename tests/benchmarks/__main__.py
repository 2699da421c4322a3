"""Run the benchmark: `python -m tests.benchmarks`, or `--quick` for a first look in two minutes."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from llama_index_codeindex.engine.static_model import is_packaged_model_installed
from tests.benchmarks.meters import MB, REPOSITORY, Figures, call, run, summary
from tests.benchmarks.peers import PEERS
from tests.benchmarks.plots import draw
from tests.benchmarks.report import about, table
from tests.benchmarks.trees import ask_about, default_sources, make_tree, python_files

_HERE = Path(__file__).parent
_PICTURES = REPOSITORY / "notebooks" / "docs" / "pages" / "pictures"
_MEASURES, _PEERS = "tests.benchmarks.measures", "tests.benchmarks.peers"
_SIZES = (1_500, 10_000, 50_000)
# Many at once ask an index of about so many chunks.
_SHARED_CHUNKS = 6_000
_THREADS, _PROCESSES = 128, 4
_LIMIT_MB = 512
# A refresh waits for files that were written a moment ago, until a further change of them would show in their times.
_SETTLED = 3.0
# systemd starts the build in a group of its own, with no more memory than this.
_LIMITED = ("systemd-run", "--quiet", "--scope", f"--property=MemoryMax={_LIMIT_MB}M", "--property=MemorySwapMax=0")


class Benchmark:
    """One run of everything.

    Args:
        work: A folder for trees and indexes.
        sources: Where the code comes from.
        peer_python: An interpreter that has the peers.
        is_quick: Fewer repetitions.
    """

    def __init__(self, work: Path, sources: Sequence[Path], peer_python: str, *, is_quick: bool) -> None:
        self._work = work
        self._sources = sources
        self._peer_python = peer_python
        self._is_quick = is_quick
        self._repeat = 5 if is_quick else 7
        self._caches = 0

    def _cache(self) -> str:
        self._caches += 1
        return str(self._work / f"cache_{self._caches}")

    def _builds(self, count: int) -> int:
        if self._is_quick:
            return 1
        return 5 if count <= 2_000 else 1

    def _questions(self, root: Path, count: int) -> dict[str, list[str]]:
        return asdict(ask_about(root, 60 if self._is_quick else 200 if count <= 20_000 else 100))

    def _tree(self, count: int) -> Path:
        root = self._work / f"tree_{count}"
        if not root.exists():
            make_tree(root, count, self._sources)
            time.sleep(_SETTLED)
        return root

    def size(self, count: int) -> Figures:
        """Measure everything that is asked of an index, on a tree of so many files."""
        _say(f"{count} files: the tree")
        root = self._tree(count)
        found: Figures = {"files": count, "mb": 0.0, "lines": 0}
        for path in python_files(root):
            text = path.read_bytes()
            found["mb"] += len(text) / MB
            found["lines"] += text.count(b"\n")
        questions = self._questions(root, count)
        builds = []
        for number in range(self._builds(count)):
            _say(f"{count} files: build {number + 1}")
            cache = self._cache()
            builds.append(call(_MEASURES, "build", {"tree": str(root), "cache": cache}))
        found |= {"chunks": builds[-1]["chunks"], "indexed": builds[-1]["files"], "index_mb": builds[-1]["index_mb"]}
        found["build"] = summary(builds) | _memory(builds) | {"stages": builds[-1]["stages"]}
        _say(f"{count} files: questions")
        where = {"tree": str(root), "cache": cache}
        found["queries"] = call(_MEASURES, "queries", where | {"questions": questions, "repeat": self._repeat})
        found["commands"] = {
            "search": self._command(root, cache, "search", questions["prose"]),
            "map": self._command(root, cache, "map", []),
        }
        _say(f"{count} files: changes")
        found["changes"] = call(_MEASURES, "changes", where | {"repeat": self._repeat})
        return found

    def _command(self, root: Path, cache: str, name: str, questions: Sequence[str]) -> Figures:
        """Run the command line in new processes, as a user does."""
        command = [sys.executable, "-m", "llama_index_codeindex", name, str(root), "--cache-dir", cache]
        taken, peaks = [], []
        for number in range(self._repeat):
            _, seconds, peak = run([*command, *questions[number : number + 1]])
            taken.append({"wall": seconds, "cpu": 0.0})
            peaks.append(peak)
        return summary(taken) | {"family_peak_mb": max(peaks)}

    def with_model(self, count: int) -> Figures:
        """Measure an index with the vectors of the packaged model."""
        if not is_packaged_model_installed():
            return {"missing": "wordllama"}
        _say(f"{count} files: the packaged model")
        root, cache = self._tree(count), self._cache()
        where = {"tree": str(root), "cache": cache, "model": True}
        built = call(_MEASURES, "build", where)
        questions = self._questions(root, count)
        asked = call(_MEASURES, "queries", where | {"questions": questions, "repeat": self._repeat})
        return {"build": built, "queries": asked, "files": count}

    def together(self, chunks_per_file: float) -> Figures:
        """Measure many that search at once: threads on one index, then processes."""
        _say("many at once")
        root, cache = self._tree(round(_SHARED_CHUNKS / chunks_per_file)), self._cache()
        where = {"tree": str(root), "cache": cache}
        call(_MEASURES, "build", where)
        job = where | {"questions": ask_about(root, 60).prose, "seconds": 3.0 if self._is_quick else 10.0}
        alone = call(_MEASURES, "together", job | {"threads": 1})
        threads = call(_MEASURES, "together", job | {"threads": _THREADS})
        with ThreadPoolExecutor(_PROCESSES) as pool:
            jobs = [pool.submit(call, _MEASURES, "together", job | {"threads": 1}) for _ in range(_PROCESSES)]
            each = [job.result() for job in jobs]
        processes = {"rate": sum(one["rate"] for one in each), "errors": sum(one["errors"] for one in each)}
        return {"chunks": alone["chunks"], "one thread": alone, f"{_THREADS} threads": threads,
                f"{_PROCESSES} processes": processes}  # fmt: skip

    def limited(self, count: int) -> Figures:
        """Build where no more than a limit can be had, if this machine lets us set one."""
        _say("a build within a limit of memory")
        for prefix in (_LIMITED, (*_LIMITED, "--user")):
            try:
                run([*prefix, "true"])
            except (OSError, RuntimeError):
                continue
            try:
                built = call(
                    _MEASURES, "build", {"tree": str(self._tree(count)), "cache": self._cache()}, prefix=prefix
                )
            except RuntimeError as error:
                return {"limit_mb": _LIMIT_MB, "failed": str(error)[-200:]}
            return {"limit_mb": _LIMIT_MB, "wall": built["wall"]}
        # A limit of the address space would be another thing: it counts files that are mapped and never read.
        return {"limit_mb": _LIMIT_MB, "missing": "systemd-run, and the right to use it"}

    def beside(self, count: int) -> Figures:
        """Measure the peers and the floor, each in turn, so that what else the machine does meets them all."""
        root = self._tree(count)
        questions = self._questions(root, count)
        rounds: dict[str, list[Figures]] = {}
        for number in range(1 if self._is_quick else 3):
            _say(f"{count} files: peers, round {number + 1}")
            ours = {"tree": str(root), "cache": self._cache()}
            built = call(_MEASURES, "build", ours)
            asked = call(_MEASURES, "queries", ours | {"questions": questions, "repeat": 1})
            rounds.setdefault("ours", []).append(built | {"build": built, "queries": asked})
            rounds.setdefault("floor", []).append({"build": call(_MEASURES, "floor", {"tree": str(root)})})
            for name in PEERS:
                given = {"tree": str(root), "questions": questions}
                rounds.setdefault(name, []).append(call(_PEERS, name, given, python=self._peer_python))
        return {"files": count} | {name: _typical(runs) for name, runs in rounds.items()}


def _typical(runs: Sequence[Figures]) -> Figures:
    """Return the run with the median time of building."""
    if "missing" in runs[0]:
        return {"missing": runs[0]["missing"]}
    ordered = sorted(runs, key=lambda one: one["build"]["wall"])
    typical = ordered[len(ordered) // 2]
    return {key: typical[key] for key in ("build", "queries", "chunks", "imports_mb", "peak_mb", "family_peak_mb")
            if key in typical} | {"runs": len(runs)}  # fmt: skip


def _memory(builds: Sequence[Figures]) -> Figures:
    return {key: max(one[key] for one in builds) for key in ("imports_mb", "peak_mb", "family_peak_mb")}


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def main() -> None:
    """Measure, and write JSON, a table and pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="the smallest size only, with few repetitions; nothing is drawn"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", help=f"numbers of files (default: {' '.join(map(str, _SIZES))})"
    )
    parser.add_argument("--tree", type=Path, action="append", help="a folder of Python code to grow the trees from")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has the peers")
    parser.add_argument("--out", type=Path, help="the JSON, beside which the table goes; --quick keeps none without")
    parser.add_argument("--work", type=Path, help="a folder for trees and indexes (default: one that is removed)")
    parser.add_argument(
        "--sizes-only", action="store_true", help="leave the rest of the JSON as it is, and other sizes"
    )
    parser.add_argument("--draw", action="store_true", help="only write the table and the pictures of the last run")
    arguments = parser.parse_args()
    out: Path = arguments.out or _HERE / "results.json"
    if not arguments.draw:
        sizes = sorted(arguments.sizes or _SIZES[: 1 if arguments.quick else None])
        sources = arguments.tree or default_sources()
        with tempfile.TemporaryDirectory(prefix="codeindex-benchmark-") as made:
            work = (arguments.work or Path(made)).resolve()
            work.mkdir(parents=True, exist_ok=True)
            if arguments.quick and not arguments.out:
                out = Path(made) / "quick.json"
            bench = Benchmark(work, sources, arguments.peer_python, is_quick=arguments.quick)
            results = about(is_given=bool(arguments.tree))
            if arguments.sizes_only:
                results = (json.loads(out.read_text("utf-8")) if out.exists() else {}) | results
            else:
                results["peers"] = bench.beside(sizes[0])
            measured = {size["files"]: size for size in results.get("sizes", ())}
            for size in sizes:
                measured[size] = bench.size(size)
                results["sizes"] = [measured[known] for known in sorted(measured)]
                out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")  # a long run that is broken off has these
            if not arguments.sizes_only:
                if not arguments.quick:
                    results["model"] = bench.with_model(sizes[0])
                results["together"] = bench.together(measured[sizes[0]]["chunks"] / sizes[0])
                results["limited"] = bench.limited(sizes[0])
            out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    else:
        results = json.loads(out.read_text("utf-8"))
    text = table(results)
    sys.stdout.write(text)
    if not arguments.quick or arguments.out:
        out.with_suffix(".md").write_text(text, "utf-8")
    if "peers" in results and not arguments.quick:
        draw(results, json.loads((_HERE / "quality.json").read_text("utf-8")), _PICTURES)


if __name__ == "__main__":
    main()
