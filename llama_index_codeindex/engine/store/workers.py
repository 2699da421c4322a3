"""Reading and parsing in processes of their own, where there are enough files for it.

They are not started through `multiprocessing`: its fresh interpreters run the caller's main module again, and a script
without a guard around its first line would index once more in each of them.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Gap
from llama_index_codeindex.engine.store.contents import Parsed, parse_file

# A worker starts in half a second, in which one process parses about so many files.
_FILES_PER_WORKER = 100
# One process writes what they parse, so that more would wait for it; each takes about 100 MB.
_MAX_WORKERS = 4
# Files that travel together: enough that the journey costs little, few enough that no worker is left with a long tail.
_BATCH = 16
# Batches that one process parses before another takes its place. py-tree-sitter 0.26 keeps every text it was given by a
# callback, and only a callback has a time budget: so many files have some 50 MB, and a new process costs 3 % of their time.
_BATCHES_PER_LIFE = 250
# Batches that are asked for ahead, for each worker: the replies that wait in memory.
_AHEAD = 3

_SCRIPT = Path(__file__).with_name("worker.py")
_LOST = (EOFError, OSError, pickle.UnpicklingError)  # how a process that died shows


def suitable_workers(files: int) -> int:
    """Return how many workers so many files are worth: none, or at least two."""
    if getattr(sys, "frozen", False) or not sys.executable or not _SCRIPT.is_file():
        return 0  # there is no interpreter to start
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(cores, _MAX_WORKERS, files // _FILES_PER_WORKER)
    return count if count > 1 else 0


class Workers:
    """Processes that read files through a gate and parse them. Use as a context manager.

    A file at which a worker dies, because a grammar crashes or memory runs out, is cut by lines and told as a gap; it
    takes nothing else with it.

    Args:
        gate: Reads the files.
        max_chars: No chunk has more characters.
        count: How many processes.
    """

    def __init__(self, gate: Gate, max_chars: int, count: int) -> None:
        self._gate = gate
        self._max_chars = max_chars
        self._count = count
        self._free: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        self._started: list[_Worker] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self._threads = ThreadPoolExecutor(count, "codeindex-worker")
        for _ in range(count):
            self._free.put(None)  # started by the thread that first needs it

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            for worker in self._started:
                worker.stop()
        self._threads.shutdown(cancel_futures=True)

    def parse(self, paths: Sequence[str]) -> Iterator[Parsed | Gap]:
        """Yield what is in each file, in the order of the paths."""
        batches = (paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH))
        pending: deque[Future[list[Parsed | Gap]]] = deque()
        for batch in batches:
            pending.append(self._threads.submit(self._process, batch))
            if len(pending) >= self._count * _AHEAD:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()

    def _process(self, batch: Sequence[str]) -> list[Parsed | Gap]:
        worker = self._free.get()
        try:
            if worker is None:
                try:
                    worker = self._start()
                except _LOST:  # no process can be had here: this one parses, with what threads it has
                    return [parse_file(self._gate.read, path, self._max_chars) for path in batch]
            try:
                found = worker.ask(batch)
            except _LOST:
                worker = None
            else:
                if worker.asked >= _BATCHES_PER_LIFE:
                    worker.stop()
                    worker = None
                return found
        finally:
            self._free.put(worker)
        if len(batch) > 1:
            return [result for path in batch for result in self._process([path])]
        return [parse_file(self._gate.read, batch[0], self._max_chars, problem="the parser crashed")]

    def _start(self) -> _Worker:
        worker = _Worker(self._gate, self._max_chars)
        with self._lock:
            if self._is_closed:
                worker.stop()
                raise EOFError
            self._started.append(worker)
        worker.receive()  # it says that it is ready
        return worker


class _Worker:
    def __init__(self, gate: Gate, max_chars: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # It multiplies no matrices, and starting the threads for that takes as long as all other imports.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.asked = 0
        self._send(([path for path in sys.path if path], str(gate.root), gate.max_file_bytes, max_chars))

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Return its next reply."""
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)  # noqa: S301 - our own process wrote it

    def ask(self, batch: Sequence[str]) -> list[Parsed | Gap]:
        """Return what is in some files."""
        self.asked += 1
        self._send(list(batch))
        found: list[Parsed | Gap] = self.receive()
        return found

    def stop(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent yet cannot be
                    pipe.close()
