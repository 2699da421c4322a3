"""Embedding models: a packaged static one, and any of LlamaIndex's, as the engine needs them.

`CodeEmbedding`, the client for servers, is in `server_embedding` and loads on first use: what it stands on takes two
seconds to import.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import BaseModel, Field, PrivateAttr

from llama_index_codeindex.engine.errors import (
    EmbeddingPaused,
    EmbeddingReplyInvalid,
    EmbeddingUnavailable,
)
from llama_index_codeindex.engine.static_model import StaticModel, is_packaged_model_installed
from llama_index_codeindex.engine.store.builder import Embedder
from llama_index_codeindex.engine.store.vectors import Vector

# A person waits for a question; a model that takes longer is left out of that answer.
_QUERY_SECONDS = 8.0
# After a failure, questions do without the model for so long instead of waiting for it again each time.
_PAUSE_SECONDS = 10.0


class LocalEmbedding(BaseEmbedding):
    """Embed with a static model on this machine, without a server and without a download.

    Args:
        path: A folder with a Model2Vec model (extra `[model2vec]`); by default the model inside the `wordllama` package
            (extra `[local]`).

    Raises:
        MissingExtra: The package that brings the model is not installed.
        InvalidArgument: The folder holds no model.
    """

    path: str | None = Field(default=None, description="A folder with a Model2Vec model.")

    _model: StaticModel = PrivateAttr()

    def __init__(self, path: str | Path | None = None, **kwargs: Any) -> None:
        folder = None if path is None else str(path)
        model = StaticModel(folder)
        kwargs.setdefault("embed_batch_size", 256)
        super().__init__(path=folder, **{**kwargs, "model_name": model.name})
        self._model = model

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the model is serialised."""
        return "LocalEmbedding"

    @classmethod
    def is_available(cls) -> bool:
        """Say whether the packaged model is installed."""
        return is_packaged_model_installed()

    @property
    def engine_model(self) -> StaticModel:
        """The model as the engine uses it, which knows of texts that have no vector."""
        return self._model

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._model.encode(texts).tolist()
        return rows

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the model, which loads again on the other side."""
        return {**BaseModel.__getstate__(self), "__pydantic_private__": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load the model that the state names."""
        LocalEmbedding.__init__(self, state["__dict__"].get("path"))


class _Adapter:
    """Any LlamaIndex embedding model as the engine's `Embedder`.

    Replies are checked, errors carry no provider text, a question never waits longer than its budget, and after a failure
    the next questions do without the model for a while.
    """

    def __init__(self, model: BaseEmbedding) -> None:
        self._model = model
        self._paused_until = 0.0

    @property
    def model_id(self) -> str:
        known = getattr(self._model, "model_id", None)
        return known if isinstance(known, str) else f"{self._model.class_name()}:{self._model.model_name}"

    def embed_texts(self, texts: list[str]) -> list[Vector | None]:
        embed_texts = getattr(self._model, "embed_texts", None)
        if embed_texts is not None:  # a model that can tell which of several texts it failed on
            rows: list[Vector | None] = embed_texts(texts)
        else:
            asked = [text for text in texts if text.strip()]
            try:
                vectors = iter(_counted(self._model.get_text_embedding_batch(asked), len(asked)))
            except EmbeddingReplyInvalid:
                raise
            except Exception as error:
                raise EmbeddingUnavailable(f"The embedding model failed: {type(error).__name__}.") from None
            rows = [np.asarray(next(vectors), np.float32) if text.strip() else None for text in texts]
        checked = [None if row is None else _usable(row) for row in rows]
        widths = {len(row) for row in checked if row is not None}
        if len(widths) > 1:
            raise EmbeddingReplyInvalid(f"The embedding model gave vectors of different widths: {sorted(widths)}.")
        self._paused_until = 0.0
        return checked

    def embed_query(self, text: str) -> Vector:
        if time.monotonic() < self._paused_until:
            raise EmbeddingPaused("The embedding model failed a moment ago and is not asked again yet.")
        try:
            vector = _usable(np.asarray(self._within_budget(text), np.float32))
        except EmbeddingUnavailable:
            self._paused_until = time.monotonic() + _PAUSE_SECONDS
            raise
        if vector is None:
            raise EmbeddingReplyInvalid("The embedding model gave no usable vector for the question.")
        return vector

    def _within_budget(self, text: str) -> list[float]:
        """Ask in a thread that may be left behind: not every model knows a time limit."""
        answers: queue.SimpleQueue[list[float] | Exception] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._model.get_query_embedding(text))
            except Exception as error:
                answers.put(error)

        threading.Thread(target=ask, daemon=True, name="codeindex-embed-query").start()
        # A model that keeps a budget of its own gets a second to say so itself.
        own = getattr(self._model, "query_seconds", None)
        budget = own + 1 if isinstance(own, float) else _QUERY_SECONDS
        try:
            answer = answers.get(timeout=budget)
        except queue.Empty:
            raise EmbeddingUnavailable("The embedding model did not answer in time.") from None
        if isinstance(answer, (EmbeddingUnavailable, EmbeddingReplyInvalid)):
            raise answer
        if isinstance(answer, Exception):
            raise EmbeddingUnavailable(f"The embedding model failed: {type(answer).__name__}.")
        return answer


def adapt(model: BaseEmbedding | None) -> Embedder | None:
    """Return a LlamaIndex embedding model as the engine needs it."""
    if isinstance(model, LocalEmbedding):
        return model.engine_model
    return None if model is None else _Adapter(model)


def _counted(vectors: list[list[float]], count: int) -> list[list[float]]:
    if len(vectors) != count:
        raise EmbeddingReplyInvalid(f"The embedding model gave {len(vectors)} vectors for {count} texts.")
    return vectors


def _usable(vector: Vector) -> Vector | None:
    """Return a vector of length one, or None for one that cannot be compared."""
    norm = float(np.linalg.norm(vector))
    if vector.ndim != 1 or not np.isfinite(norm) or norm == 0.0:
        return None
    scaled: Vector = vector / np.float32(norm)
    return scaled


def __getattr__(name: str) -> Any:
    if name == "CodeEmbedding":
        from llama_index_codeindex.server_embedding import CodeEmbedding

        return CodeEmbedding
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
