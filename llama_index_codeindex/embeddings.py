"""Embedding models: any of LlamaIndex's, as the engine needs it."""

from __future__ import annotations

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding

from llama_index_codeindex.engine.errors import EmbeddingReplyInvalid, EmbeddingUnavailable
from llama_index_codeindex.engine.store.builder import Embedder
from llama_index_codeindex.engine.store.vectors import Vector


class _Adapter:
    """Any LlamaIndex embedding model as the engine's `Embedder`: checked replies, and errors without provider text."""

    def __init__(self, model: BaseEmbedding) -> None:
        self._model = model

    @property
    def model_id(self) -> str:
        return f"{self._model.class_name()}:{self._model.model_name}"

    def embed_texts(self, texts: list[str]) -> list[Vector | None]:
        try:
            vectors = self._model.get_text_embedding_batch(texts)
        except Exception as error:
            raise EmbeddingUnavailable(f"The embedding model failed: {type(error).__name__}.") from None
        return [_checked(vector) for vector in _complete(vectors, len(texts))]

    def embed_query(self, text: str) -> Vector:
        try:
            vector = self._model.get_query_embedding(text)
        except Exception as error:
            raise EmbeddingUnavailable(f"The embedding model failed: {type(error).__name__}.") from None
        checked = _checked(vector)
        if checked is None:
            raise EmbeddingReplyInvalid("The embedding model gave no usable vector for the question.")
        return checked


def adapt(model: BaseEmbedding | None) -> Embedder | None:
    """Return a LlamaIndex embedding model as the engine needs it."""
    return None if model is None else _Adapter(model)


def _complete(vectors: list[list[float]], count: int) -> list[list[float]]:
    if len(vectors) != count:
        raise EmbeddingReplyInvalid(f"The embedding model gave {len(vectors)} vectors for {count} texts.")
    if len({len(vector) for vector in vectors}) > 1:
        raise EmbeddingReplyInvalid("The embedding model gave vectors of different widths.")
    return vectors


def _checked(vector: list[float]) -> Vector | None:
    """Return a vector of length one, or None for one that cannot be compared."""
    array = np.asarray(vector, np.float32)
    norm = float(np.linalg.norm(array))
    if array.ndim != 1 or not np.isfinite(norm) or norm == 0.0:
        return None
    scaled: Vector = array / np.float32(norm)
    return scaled
