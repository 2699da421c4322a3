"""One writer per index, across threads and processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

from llama_index_codeindex.engine.errors import IndexBusy
from llama_index_codeindex.engine.store.location import Layout, set_mark


@contextmanager
def writer_lock(layout: Layout | None, timeout: float) -> Iterator[None]:
    """Hold the right to write an index; an index in memory needs none.

    Raises:
        IndexBusy: Another writer held it for `timeout` seconds.
        OSError: The lock cannot be made.
    """
    if layout is None:
        yield
        return
    from filelock import FileLock, Timeout  # it brings asyncio, and whoever only reads needs neither

    layout.lock.parent.mkdir(parents=True, exist_ok=True)
    set_mark(layout.lock.parent)
    lock = FileLock(str(layout.lock), thread_local=False)
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise IndexBusy(f"Another writer is at work on this index{_owner(layout.owner)}.") from None
    try:
        layout.create()
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        layout.owner.write_text(json.dumps({"pid": os.getpid(), "since": now}), "utf-8")
        yield
    finally:
        with suppress(OSError):
            layout.owner.unlink(missing_ok=True)
        lock.release()


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text("utf-8"))
        return f" (process {int(owner['pid'])}, since {str(owner['since'])[:25]})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
