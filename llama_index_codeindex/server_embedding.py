"""Embedding with a server: a careful client for anything that speaks the OpenAI protocol."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import BaseModel, Field, PrivateAttr
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from openai import AsyncOpenAI

from llama_index_codeindex.embedding_requests import (
    Ask,
    Outcome,
    Pause,
    Requests,
    Work,
    outcome_of,
    outcome_of_error,
)
from llama_index_codeindex.engine.errors import EmbeddingReplyInvalid, InvalidArgument
from llama_index_codeindex.engine.store.vectors import Vector

# A person waits for a question; a build can wait for a server that is still loading its model.
_QUERY_SECONDS = 8.0
_BATCH_SECONDS = 120.0


class CodeEmbedding(OpenAILikeEmbedding):
    """Embed with an OpenAI-compatible server: Ollama, LM Studio, llama.cpp, vLLM, Lemonade, TEI or Infinity.

    Unlike its base it needs a server's address, keeps newlines, checks every reply (count, order, width, finite numbers),
    retries only what a retry can mend, and shows the key nowhere.

    Args:
        api_base: The server's base URL, usually ending in `/v1`.
        model_name: The model's name on the server.
        api_key: The key, if the server wants one.
        query_prefix: What the model wants before a question.
        text_prefix: What the model wants before a text.
        embed_batch_size: Texts in one request; halved by itself when the server refuses so many.
        num_workers: Requests under way at once.
        timeout: Seconds for one request.
        query_seconds: Seconds for one question, retries included.
        batch_seconds: Seconds for one batch of texts, retries included.

    Raises:
        InvalidArgument: `api_base` is missing: nothing goes to a public service by omission.
    """

    query_prefix: str = Field(default="", description="What the model wants before a question.")
    text_prefix: str = Field(default="", description="What the model wants before a text.")
    query_seconds: float = Field(default=_QUERY_SECONDS, gt=0, description="Seconds for one question.")
    batch_seconds: float = Field(default=_BATCH_SECONDS, gt=0, description="Seconds for one batch of texts.")
    api_key: str = Field(default="unset", exclude=True, repr=False, description="Not kept here.")
    default_headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False, description="Extra headers.")

    _secret: str = PrivateAttr(default="unset")
    _requests: Requests = PrivateAttr(default_factory=Requests)

    def __init__(
        self,
        api_base: str | None = None,
        model_name: str = "",
        api_key: str | None = None,
        query_prefix: str = "",
        text_prefix: str = "",
        embed_batch_size: int = 32,
        num_workers: int | None = 4,
        timeout: float = 30.0,
        **kwargs: Any,
    ) -> None:
        if not api_base:
            raise InvalidArgument(
                "CodeEmbedding needs the server's address.", suggestion="Pass api_base, as http://localhost:11434/v1."
            )
        if not model_name:
            raise InvalidArgument("CodeEmbedding needs the model's name on the server.", suggestion="Pass model_name.")
        kwargs.pop("max_retries", None)
        super().__init__(
            model_name=model_name,
            api_base=api_base,
            api_key="unset",
            embed_batch_size=embed_batch_size,
            num_workers=num_workers,
            timeout=timeout,
            max_retries=0,  # retries are decided here, where it is known what a retry can mend
            query_prefix=query_prefix,
            text_prefix=text_prefix,
            **kwargs,
        )
        self._secret = api_key or "unset"

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the model is serialised."""
        return "CodeEmbedding"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without key, headers and connections: a pickle may lie on a disk."""
        state = BaseModel.__getstate__(self)
        public = {k: v for k, v in state["__dict__"].items() if k not in ("api_key", "default_headers")}
        return {**state, "__dict__": public, "__pydantic_private__": {}}

    def _get_credential_kwargs(self, is_async: bool = False) -> dict[str, Any]:
        return {**super()._get_credential_kwargs(is_async), "api_key": self._secret}

    @property
    def model_id(self) -> str:
        """What vectors of this model are known by."""
        return f"{self.model_name}|{self.query_prefix}|{self.text_prefix}"

    # -- what LlamaIndex calls -----------------------------------------------------------------------------------------

    def _get_query_embedding(self, query: str) -> list[float]:
        work = self._requests.query(self.query_prefix + query, time.monotonic() + self.query_seconds)
        return _first(self._run(work))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        work = self._requests.query(self.query_prefix + query, time.monotonic() + self.query_seconds)
        return _first(await self._arun(work))

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return _complete(self._run(self._bulk(texts)))

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return _complete(await self._arun(self._bulk(texts)))

    def embed_texts(self, texts: list[str]) -> list[Vector | None]:
        """Return a vector per text, None where that text alone has none: empty, or over the model's limit.

        Raises:
            EmbeddingError: The server gave no vector at all.
        """
        size = self.embed_batch_size
        batches = [texts[at : at + size] for at in range(0, len(texts), size)]
        if len(batches) <= 1 or not self.num_workers or self.num_workers < 2:
            found = [self._run(self._bulk(batch)) for batch in batches]
        else:
            with ThreadPoolExecutor(min(self.num_workers, len(batches))) as pool:
                found = list(pool.map(lambda batch: self._run(self._bulk(batch)), batches))
        return [None if row is None else np.asarray(row, np.float32) for rows in found for row in rows]

    # -- sending -------------------------------------------------------------------------------------------------------

    def _bulk(self, texts: list[str]) -> Work:
        prefixed = [self.text_prefix + text if text.strip() else "" for text in texts]
        return self._requests.bulk(prefixed, time.monotonic() + self.batch_seconds)

    def _arguments(self, ask: Ask) -> dict[str, Any]:
        return {
            "encoding_format": "float",
            **self.additional_kwargs,
            "input": ask.texts,
            "model": self.model_name,
            "timeout": min(self.timeout, ask.seconds),
        }

    def _run(self, work: Work) -> list[list[float] | None]:
        reply: Outcome | None = None
        try:
            while True:
                step = work.send(reply)
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    reply = None
                else:
                    try:
                        reply = outcome_of(self._get_client().embeddings.create(**self._arguments(step)))
                    except Exception as error:
                        reply = outcome_of_error(error)
        except StopIteration as done:
            return list(done.value)

    async def _arun(self, work: Work) -> list[list[float] | None]:
        # A client belongs to one event loop, and a program may run several, so each piece of work has its own.
        client = (
            self._get_aclient()
            if self._async_http_client
            else AsyncOpenAI(**self._get_credential_kwargs(is_async=True))
        )
        reply: Outcome | None = None
        try:
            while True:
                step = work.send(reply)
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    reply = None
                else:
                    try:
                        reply = outcome_of(await client.embeddings.create(**self._arguments(step)))
                    except Exception as error:
                        reply = outcome_of_error(error)
        except StopIteration as done:
            return list(done.value)
        finally:
            if not self._async_http_client:
                await client.close()


def _first(rows: list[list[float] | None]) -> list[float]:
    if rows[0] is None:
        raise EmbeddingReplyInvalid("The embedding model gave no usable vector for the question.")
    return rows[0]


def _complete(rows: list[list[float] | None]) -> list[list[float]]:
    kept = [row for row in rows if row is not None]
    if len(kept) < len(rows):
        raise EmbeddingReplyInvalid(
            f"The embedding model gave no vector for {len(rows) - len(kept)} of {len(rows)} texts."
        )
    return kept
