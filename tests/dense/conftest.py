"""A running embedding server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dense.server import EmbeddingServer, running


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running() as started:
        yield started
