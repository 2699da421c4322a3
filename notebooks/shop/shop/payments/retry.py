"""Trying again when the bank does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def backoff(attempt: int) -> float:
    """Return how many seconds to wait after a failed attempt: twice as long each time, at most a minute."""
    return min(60.0, 0.5 * 2**attempt)


def with_retries(call: Callable[[], T], attempts: int = 5) -> T:
    """Call until it succeeds; the last failure is raised."""
    for attempt in range(attempts - 1):
        try:
            return call()
        except OSError:
            time.sleep(backoff(attempt))
    return call()
