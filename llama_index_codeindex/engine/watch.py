"""Keeping an index fresh: file events, gathered until they pause, and a comparison of everything now and then."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from llama_index_codeindex.engine.errors import CodeIndexError
from llama_index_codeindex.engine.files.gitrepo import find_repository
from llama_index_codeindex.engine.files.jail import identity
from llama_index_codeindex.engine.store.options import RefreshReport

# An editor that saves all, a formatter or a checkout writes for a few seconds.
DEBOUNCE = 5.0
# In a tree that never rests, a refresh comes all the same after so many times the pause.
_PATIENCE = 6
# Events get lost when queues overflow, on network drives and in containers; five minutes is how long that may go unseen.
RECONCILE = 300.0
# How often the thread looks whether it is to stop, and whether the pause is over.
_TICK_MS = 200
# After a failed refresh (a busy index, a full disk) it is tried again after so many seconds.
_RETRY = 30.0
# What git changes when HEAD moves; the rest of its folder (the index, objects, logs, locks) says nothing about files.
_GIT_FILES = frozenset(("HEAD", "packed-refs"))
# Of the folders that watchfiles takes for noise, these are not.
_WATCHED = frozenset((".git", ".idea"))


class _Refresh(Protocol):
    def __call__(self, *, verify: bool) -> RefreshReport: ...


class Watcher:
    """Refreshes an index in a thread of its own, from `start` to `stop`.

    Args:
        root: The resolved root.
        refresh: Refreshes the index.
        skip: Folders whose changes mean nothing, such as the index's own.
        debounce: Seconds without a change before a refresh.
        reconcile: Seconds between comparisons of every file's content.
        on_refresh: Called in the watcher's thread after every refresh that it made.
    """

    def __init__(
        self,
        root: Path,
        refresh: _Refresh,
        skip: tuple[Path, ...] = (),
        debounce: float = DEBOUNCE,
        reconcile: float = RECONCILE,
        on_refresh: Callable[[RefreshReport], None] | None = None,
    ) -> None:
        import watchfiles  # whoever does not watch need not wait until it is loaded

        self.root = root
        self.problem: Exception | None = None  # why the last refresh, or the watching itself, failed
        self._refresh = refresh
        self._skip = tuple(os.path.normcase(str(path)) + os.sep for path in skip)
        self._debounce = debounce
        self._reconcile = reconcile
        self._on_refresh = on_refresh
        self._noise = frozenset(watchfiles.DefaultFilter.ignore_dirs) - _WATCHED
        self._changes = watchfiles.watch
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="codeindex-watch", daemon=True)

    def start(self) -> Watcher:
        """Start watching; changes from now on are seen."""
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        """Stop watching, and wait until a refresh that is under way has ended."""
        self._stop.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_alive(self) -> bool:
        """Whether it still watches."""
        return self._thread.is_alive()

    def wants(self, path: str) -> bool:
        """Say whether a change of this absolute path may change the index."""
        folded = os.path.normcase(path)
        if any((folded + os.sep).startswith(skipped) for skipped in self._skip):
            return False
        parts = Path(path).relative_to(self.root).parts if Path(path).is_relative_to(self.root) else Path(path).parts
        if ".git" in parts:
            below = parts[parts.index(".git") + 1 :]
            return not path.endswith(".lock") and (
                below[:1] == ("refs",) or (len(below) == 1 and below[0] in _GIT_FILES)
            )
        return self._noise.isdisjoint(parts)

    def _run(self) -> None:
        first = last = 0.0  # when the changes that wait to be refreshed began and ended
        due = time.monotonic() + self._reconcile
        for changed in self._all_events():
            now = time.monotonic()
            if changed:
                first, last = first or now, now
            if first and (now - last >= self._debounce or now - first >= _PATIENCE * self._debounce):
                first = 0.0
                if not self._try(verify=False):
                    due = min(due, now + _RETRY)
            elif now >= due:
                due = now + (self._reconcile if self._try(verify=True) else min(_RETRY, self._reconcile))

    def _all_events(self) -> Iterator[bool]:
        """Yield what `_events` does, and begin again where the root was replaced by another folder."""
        while not self._stop.is_set():
            yield from self._events()
            yield True

    def _events(self) -> Iterator[bool]:
        """Yield whether something changed, a few times a second, until it is to stop."""
        paths = [self.root]
        repository = find_repository(self.root)
        if repository is not None and not repository.git_dir.is_relative_to(self.root):
            paths.append(repository.git_dir)  # a worktree's, or that of a repository around the root
        watched = identity(self.root)
        try:
            watching = self._changes(
                *paths, watch_filter=lambda _, path: self.wants(path), debounce=_TICK_MS, step=50, stop_event=self._stop,
                rust_timeout=_TICK_MS, yield_on_timeout=True, raise_interrupt=False,
            )  # fmt: skip
            for changes in watching:
                self._ready.set()
                yield bool(changes)
                if identity(self.root) not in (watched, None):  # another folder is there now, of which no event tells
                    return
        except (OSError, RuntimeError) as error:  # no watches left, or a file system without events
            self.problem = error
        self._ready.set()
        while not self._stop.wait(_TICK_MS / 1000):  # what remains is to compare everything now and then
            yield False

    def _try(self, *, verify: bool) -> bool:
        try:
            report = self._refresh(verify=verify)
        except (CodeIndexError, OSError) as error:
            self.problem = error
            return False
        self.problem = None
        if self._on_refresh is not None:
            self._on_refresh(report)
        return True
