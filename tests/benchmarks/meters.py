"""What is read off clocks and processes. Only the standard library, so that a peer's interpreter can run it, too."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
MB = 1 << 20

Figures = dict[str, Any]  # what becomes JSON

# How often the memory of a family of processes is looked at. Shorter peaks than this are missed.
_SAMPLED_EVERY = 0.05


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def timed(work: Callable[[], object], collected: list[Figures]) -> None:
    """Do something, and note what it took."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    work()
    collected.append({"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu})


def summary(runs: Sequence[Figures]) -> Figures:
    """Return the medians of some runs, with how many there were and the fastest."""
    found: Figures = {key: statistics.median(run[key] for run in runs) for key in ("wall", "cpu")}
    return found | {"runs": len(runs), "least": min(run["wall"] for run in runs)}


def latencies(seconds: Sequence[float]) -> Figures:
    """Return the percentiles of many short waits, in milliseconds."""
    ordered = sorted(seconds)
    at = {f"p{share}": 1000 * ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 95, 99)}
    return at | {"runs": len(ordered)}


def waits(ask: Callable[[str], object], questions: Sequence[str], unmeasured: int = 3) -> Figures:
    """Ask every question once and return the percentiles; the first are asked before, for what is made on first use."""
    for question in questions[:unmeasured]:
        ask(question)
    taken = []
    for question in questions:
        start = time.perf_counter()
        ask(question)
        taken.append(time.perf_counter() - start)
    return latencies(taken)


def resident_mb(key: str = "VmRSS", process: int | str = "self") -> float:
    """Return the resident memory of a process: now, or with `VmHWM` at its peak; 0 where there is no /proc.

    `getrusage` tells the peak as well, but starts a child at what its parent had when it forked.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(key)), 0.0)


def peak_mb() -> float:
    """Return the most memory that this process had so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resident_mb("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def _family(process: int) -> Iterator[int]:
    yield process
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        for child in tasks.read_text("ascii").split():
            yield from _family(int(child))


@dataclass(slots=True)
class _Watch:
    """Samples what a process and all below it hold together."""

    process: int
    peak: float = 0.0
    is_over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.is_over.wait(_SAMPLED_EVERY):
            try:
                self.peak = max(self.peak, sum(resident_mb(process=member) for member in _family(self.process)))
            except OSError:
                continue  # one of them ended meanwhile


@contextmanager
def _watched(process: int) -> Iterator[_Watch]:
    watch = _Watch(process)
    thread = threading.Thread(target=watch.look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.is_over.set()
        thread.join()


def run(command: Sequence[str], stdin: str = "") -> tuple[str, float, float]:
    """Run a program in the repository and return what it printed, its seconds, and the peak of its whole family in MB.

    Raises:
        RuntimeError: It failed.
    """
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        with _watched(process.pid) as watch:
            printed, complaint = process.communicate(stdin)
        seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} ended with {process.returncode}: {complaint.strip()[-600:]}")
    return printed, seconds, watch.peak


def call(
    module: str, task: str, arguments: Figures, python: str = sys.executable, prefix: Sequence[str] = ()
) -> Figures:
    """Do a task of a module in an interpreter of its own; the figures that it prints come with its family's memory."""
    command = [*prefix, python, "-m", module, task]
    printed, _, family = run(command, json.dumps(arguments))
    found: Figures = json.loads(printed.splitlines()[-1])
    return found | {"family_peak_mb": family}


def serve(tasks: dict[str, Callable[..., Figures]]) -> None:
    """Do the task that the command line names, with arguments from standard input, and print its figures."""
    sys.stdout.write(json.dumps(tasks[sys.argv[1]](**json.load(sys.stdin))) + "\n")
