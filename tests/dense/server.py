"""An OpenAI-compatible embedding server on loopback that commits every fault on demand."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

WIDTH = 16
Fault = Callable[["EmbeddingServer", list[str]], "Reply | None"]
Encoder = Callable[[list[str]], list[list[float]]]
Reply = tuple[int, bytes]


def embed(text: str) -> list[float]:
    """Return a vector that follows from the text alone: the sum of its words' random directions."""
    total = np.zeros(WIDTH)
    for word in re.findall(r"\w+", text.lower()):
        total += np.random.default_rng(int.from_bytes(word.encode(), "big") % 2**32).normal(size=WIDTH)
    return [float(x) for x in total] if total.any() else [1.0] + [0.0] * (WIDTH - 1)


def embed_all(texts: list[str]) -> list[list[float]]:
    return [embed(text) for text in texts]


def rows(texts: list[str], encode: Encoder = embed_all) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(encode(texts))]


def ok(data: list[dict[str, Any]]) -> Reply:
    body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 0, "total_tokens": 0}}
    return 200, json.dumps(body).encode()


class EmbeddingServer(ThreadingHTTPServer):
    """Answers truly unless `fault` returns another reply; `requests` logs what was asked, `headers` what was sent."""

    daemon_threads = True

    def __init__(self, encode: Encoder = embed_all) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.encode = encode
        self.fault: Fault | None = None
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that gave up waiting: some tests make them."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        reply = self.server.fault(self.server, request["input"]) if self.server.fault else None
        if reply == (0, b""):  # the process died
            self.close_connection = True
            return
        status, body = reply or ok(rows(request["input"], self.server.encode))
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running(encode: Encoder = embed_all) -> Iterator[EmbeddingServer]:
    """Run a server for as long as the block lasts."""
    server = EmbeddingServer(encode)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
