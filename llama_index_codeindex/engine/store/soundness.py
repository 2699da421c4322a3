"""Which state of a catalog's file was already found sound: checking a large one takes longer than an answer.

The state is noted in a small file beside it. A missing, torn or old note costs one more check and nothing else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def state_of(path: Path) -> str:
    """Return what tells one state of a file from all others; "" while a log beside it holds more than the file."""
    try:
        status = os.stat(path)
        log = _beside(path, "-wal")
        if log.exists() and log.stat().st_size:
            return ""
    except OSError:
        return ""
    # The last is the time of any change at all, which nobody sets back.
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def is_noted(path: Path, state: str) -> bool:
    """Say whether this state was found sound."""
    try:
        return bool(state) and _note(path).read_text("utf-8") == state
    except (OSError, ValueError):
        return False


def note(path: Path, state: str) -> None:
    """Note a state as sound, unless the file has moved on; where the folder cannot be written, it is not noted."""
    if state and state == state_of(path):
        with suppress(OSError):
            _note(path).write_text(state, "utf-8")


def forget(path: Path) -> None:
    """Have the file checked when it is opened the next time, whatever was noted."""
    with suppress(OSError):
        _note(path).unlink(missing_ok=True)


def _note(path: Path) -> Path:
    return _beside(path, ".checked")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
