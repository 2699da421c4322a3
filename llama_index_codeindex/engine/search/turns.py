"""One question at a time under the interpreter's lock.

Threads that search side by side only interrupt each other: 128 of them answer more questions one after the other. Who
waits for an embedding server lets others have their turn meanwhile.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_HAS_LOCK: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
_turns: threading.Lock | threading.Semaphore
_held: threading.local


def _start_anew() -> None:
    """Begin without anybody in turn: also in a forked process, whose parent's other threads are not there."""
    global _turns, _held
    _turns = threading.Lock() if _HAS_LOCK else threading.Semaphore(os.cpu_count() or 1)
    _held = threading.local()


_start_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def in_turn() -> Iterator[None]:
    """Hold the turn, after whoever has it now.

    Inside it nothing may be waited for that another may hold while it waits for its turn, such as a pooled connection.
    """
    _turns.acquire()
    _held.is_mine = True
    try:
        yield
    finally:
        if _held.is_mine:
            _held.is_mine = False
            _turns.release()


@contextmanager
def out_of_turn() -> Iterator[None]:
    """Give up the turn, if this thread has it, for as long as it waits."""
    if not getattr(_held, "is_mine", False):
        yield
        return
    _held.is_mine = False
    _turns.release()
    try:
        yield
    finally:
        _turns.acquire()
        _held.is_mine = True
