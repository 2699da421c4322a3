"""The client for servers, against a real server that commits every fault."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from llama_index_codeindex import CodeEmbedding, LocalEmbedding
from llama_index_codeindex.embeddings import adapt
from llama_index_codeindex.engine.errors import (
    EmbeddingPaused,
    EmbeddingReplyInvalid,
    EmbeddingUnavailable,
    InvalidArgument,
    MissingExtra,
)
from tests.dense.server import EmbeddingServer, Reply, embed, ok, rows

TEXTS = ["alpha one", "beta two", "gamma three", "delta four", "epsilon five"]


def client(server: EmbeddingServer, **kwargs: Any) -> CodeEmbedding:
    return CodeEmbedding(api_base=server.url, model_name="m", num_workers=1, **kwargs)


def assert_right(vectors: list[list[float]], texts: list[str] = TEXTS) -> None:
    assert len(vectors) == len(texts)
    for vector, text in zip(vectors, texts, strict=True):
        assert vector == pytest.approx(embed(text), rel=1e-5)


def once(reply: Callable[[list[str]], Reply]) -> Callable[[EmbeddingServer, list[str]], Reply | None]:
    """Return a fault that happens with the first request only."""
    return lambda server, texts: reply(texts) if len(server.requests) == 1 else None


def test_texts_are_sent_as_they_are(server: EmbeddingServer) -> None:
    text = "def f():\n    return 1\n"
    client(server, text_prefix="search_document: ").get_text_embedding(text)
    client(server, query_prefix="search_query: ").get_query_embedding("what")
    assert server.texts == ["search_document: " + text, "search_query: what"]
    assert server.requests[0]["encoding_format"] == "float"
    assert "dimensions" not in server.requests[0]


def test_nothing_goes_anywhere_without_an_address() -> None:
    with pytest.raises(InvalidArgument, match="address"):
        CodeEmbedding(model_name="m")
    with pytest.raises(InvalidArgument, match="name"):
        CodeEmbedding(api_base="http://127.0.0.1:9/v1")


def test_the_key_is_sent_and_shown_nowhere(server: EmbeddingServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = client(server, api_key="canary-key", default_headers={"X-Auth": "canary-header"})
    model.get_query_embedding("x")
    assert server.headers[0]["authorization"] == "Bearer canary-key"
    assert server.headers[0]["x-auth"] == "canary-header"
    for shown in (repr(model), str(model.to_dict()), model.to_json(), repr(pickle.dumps(model)), caplog.text):
        assert "canary" not in shown
    server.fault = lambda *_: (401, b'{"error": {"message": "bad key canary-key"}}')
    with pytest.raises(EmbeddingUnavailable) as failed:
        model.get_query_embedding("x")
    assert "canary" not in str(failed.value.to_dict())


def test_a_reversed_reply_is_put_in_order(server: EmbeddingServer) -> None:
    server.fault = lambda _, texts: ok(rows(texts)[::-1])
    assert_right(client(server).get_text_embedding_batch(TEXTS))


def test_a_short_reply_is_asked_for_again(server: EmbeddingServer) -> None:
    server.fault = once(lambda texts: ok(rows(texts)[:-1]))
    assert_right(client(server).get_text_embedding_batch(TEXTS))
    assert len(server.requests) == 2


def test_a_reply_that_stays_short_is_asked_for_one_by_one(server: EmbeddingServer) -> None:
    server.fault = lambda _, texts: ok(rows(texts)[:-1]) if len(texts) > 1 else None
    assert_right(client(server).get_text_embedding_batch(TEXTS))
    assert [len(request["input"]) for request in server.requests] == [5, 5, 5, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("indices", [[0, 0, 1, 2, 3], [1, 2, 3, 4, 5], [-1, 0, 1, 2, 3]])
def test_wrong_indices_are_never_paired(server: EmbeddingServer, indices: list[int]) -> None:
    def fault(_: EmbeddingServer, texts: list[str]) -> Reply | None:
        if len(texts) == 1:
            return None
        return ok([{**row, "index": index} for row, index in zip(rows(texts), indices, strict=True)])

    server.fault = fault
    assert_right(client(server).get_text_embedding_batch(TEXTS))


def test_a_batch_over_the_limit_is_halved_and_the_limit_remembered(server: EmbeddingServer) -> None:
    server.fault = lambda _, texts: (413, b"{}") if len(texts) > 2 else None
    model = client(server)
    assert_right(model.get_text_embedding_batch(TEXTS))
    before = len(server.requests)
    assert_right(model.get_text_embedding_batch(TEXTS))
    assert [len(request["input"]) for request in server.requests[before:]] == [2, 2, 1]


def test_one_text_over_the_limit_costs_itself_alone(server: EmbeddingServer) -> None:
    server.fault = lambda _, texts: (400, b"too long") if any(len(text) > 50 for text in texts) else None
    found = client(server).embed_texts([*TEXTS, "x" * 99, "  ", "last"])
    assert [row is None for row in found] == [False] * 5 + [True, True, False]
    assert found[7] == pytest.approx(embed("last"), rel=1e-5)
    assert all(text.strip() for text in server.texts)


@pytest.mark.parametrize("bad", [[0.0] * 16, [float("nan")] * 16, [float("inf")] * 16, []])
def test_a_vector_that_cannot_be_compared_is_none(server: EmbeddingServer, bad: list[float]) -> None:
    server.fault = lambda _, texts: ok(
        [{**row, "embedding": bad} if text == "beta two" else row for row, text in zip(rows(texts), texts, strict=True)]
    )
    found = client(server).embed_texts(TEXTS)
    assert [row is None for row in found] == [False, True, False, False, False]
    with pytest.raises(EmbeddingReplyInvalid, match="1 of 5"):
        client(server).get_text_embedding_batch(TEXTS)


def test_another_width_is_named(server: EmbeddingServer) -> None:
    model = client(server)
    model.get_query_embedding("x")
    server.fault = lambda _, texts: ok([{**row, "embedding": [1.0, 2.0, 3.0]} for row in rows(texts)])
    with pytest.raises(EmbeddingReplyInvalid, match="width 3; the others have 16"):
        model.get_text_embedding("y")


@pytest.mark.parametrize(
    ("status", "requests"), [(400, 1), (401, 1), (403, 1), (404, 1), (501, 1), (429, 3), (500, 3), (503, 3)]
)
def test_only_what_a_retry_mends_is_tried_again(server: EmbeddingServer, status: int, requests: int) -> None:
    server.fault = lambda *_: (status, b"secret provider text")
    with pytest.raises(EmbeddingUnavailable) as failed:
        client(server).get_query_embedding("x")
    assert len(server.requests) == requests
    assert "secret" not in str(failed.value.to_dict())
    assert str(status) in failed.value.message


@pytest.mark.parametrize(
    "reply", [(200, b"<html>hello</html>"), (200, b'{"error": "no"}'), (200, b'{"data": [1]}'), (0, b"")]
)
def test_odd_replies_become_one_clear_error(server: EmbeddingServer, reply: Reply) -> None:
    server.fault = lambda *_: reply
    with pytest.raises((EmbeddingUnavailable, EmbeddingReplyInvalid)):
        client(server).get_query_embedding("x")


def test_a_server_that_comes_back_is_used_again(server: EmbeddingServer) -> None:
    server.fault = once(lambda _: (503, b"loading"))
    assert_right([client(server).get_query_embedding("x y")], ["x y"])


def test_a_hanging_server_costs_no_more_than_the_budget(server: EmbeddingServer) -> None:
    release = threading.Event()
    server.fault = lambda *_: (release.wait(20), (200, b"{}"))[1]
    with pytest.raises(EmbeddingUnavailable, match="in time"):
        client(server, query_seconds=0.3).get_query_embedding("x")
    assert len(server.requests) == 1
    release.set()


def test_a_dead_server_fails_at_once_for_all_batches(server: EmbeddingServer) -> None:
    dead = CodeEmbedding(api_base="http://127.0.0.1:9/v1", model_name="m", embed_batch_size=2, num_workers=1)
    with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
        dead.embed_texts(TEXTS)


def test_async_is_the_same_and_leaves_the_loop_free(server: EmbeddingServer) -> None:
    arrived, release = threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        arrived.set()
        release.wait(20)

    server.fault = wait

    async def heartbeat_and_embed() -> list[list[float]]:
        task = asyncio.create_task(client(server).aget_text_embedding_batch(TEXTS))
        while not arrived.is_set():
            await asyncio.sleep(0.001)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not task.done()
        release.set()
        return await task

    assert_right(asyncio.run(heartbeat_and_embed()))


def test_the_adapter_pauses_after_a_failure_and_comes_back(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llama_index_codeindex.embeddings._PAUSE_SECONDS", 3600.0)
    adapted = adapt(client(server))
    assert adapted is not None
    server.fault = lambda *_: (404, b"")
    with pytest.raises(EmbeddingUnavailable):
        adapted.embed_query("x")
    asked = len(server.requests)
    with pytest.raises(EmbeddingPaused):
        adapted.embed_query("x")
    assert len(server.requests) == asked
    server.fault = None
    adapted.embed_texts(["a build that works ends the pause"])
    assert adapted.embed_query("x") == pytest.approx(np.array(embed("x")) / np.linalg.norm(embed("x")), rel=1e-4)


def test_model_ids_tell_prefixes_apart(server: EmbeddingServer) -> None:
    plain, prefixed = adapt(client(server)), adapt(client(server, text_prefix="passage: "))
    assert plain is not None and prefixed is not None
    assert plain.model_id != prefixed.model_id


def test_settings_survive_serialisation(server: EmbeddingServer) -> None:
    model = client(server, query_prefix="q: ", text_prefix="t: ")
    again = CodeEmbedding.from_dict(json.loads(model.to_json()))
    assert (again.query_prefix, again.text_prefix, again.api_base) == ("q: ", "t: ", server.url)
    assert_right([pickle.loads(pickle.dumps(client(server))).get_query_embedding("x y")], ["x y"])


local = pytest.mark.skipif(not LocalEmbedding.is_available(), reason="the extra [local] is not installed")


@local
def test_the_packaged_model_works_offline_and_in_threads() -> None:
    model = LocalEmbedding()
    related = np.dot(model.get_query_embedding("delete a file"), model.get_text_embedding("remove the document"))
    unrelated = np.dot(model.get_query_embedding("delete a file"), model.get_text_embedding("paint the window blue"))
    assert related > unrelated
    assert np.linalg.norm(model.get_text_embedding("x = 1")) == pytest.approx(1.0, abs=1e-3)
    results: list[list[float]] = []
    threads = [threading.Thread(target=lambda: results.append(model.get_text_embedding("same text"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == results[0] for result in results)
    again = pickle.loads(pickle.dumps(model))
    assert again.get_text_embedding("same text") == results[0]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "wordllama", None)
    with pytest.raises(MissingExtra, match="wordllama"):
        LocalEmbedding()
    monkeypatch.setitem(__import__("sys").modules, "model2vec", None)
    with pytest.raises(MissingExtra, match="model2vec"):
        LocalEmbedding(path=tmp_path)
