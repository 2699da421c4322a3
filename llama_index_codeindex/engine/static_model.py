"""A static embedding model on this machine: the one packaged with `wordllama`, or a Model2Vec folder.

A static model looks vectors of words up and averages them: thousands of texts a second on one core, no server, and
no download.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from llama_index_codeindex.engine.errors import EmbeddingReplyInvalid, InvalidArgument, MissingExtra
from llama_index_codeindex.engine.store.vectors import Vector, unit

PACKAGED = "wordllama-256"

# Texts that the packaged model pads to the longest of them: with its own 64 it takes half as long again, and one text of
# rare signs among them 150 MB.
_AT_ONCE = 16


def is_packaged_model_installed() -> bool:
    """Say whether the package that brings a model is installed."""
    return find_spec("wordllama") is not None


class StaticModel:
    """A static model, loaded when made; an `Embedder`, and what `LocalEmbedding` stands on.

    Args:
        path: A folder with a Model2Vec model; the packaged model by default.

    Raises:
        MissingExtra: The package that brings or loads the model is not installed.
        InvalidArgument: The folder holds no model.
    """

    def __init__(self, path: str | None = None) -> None:
        self.name = Path(path).name if path else PACKAGED
        self._lock = threading.Lock()  # the tokenizers inside are not made for several threads
        self._encode = _load_model2vec(path) if path else _load_packaged()

    @property
    def model_id(self) -> str:
        """What vectors of this model are known by."""
        return f"local:{self.name}"

    def encode(self, texts: Sequence[str]) -> Vector:
        """Return unit vectors of shape (texts, width); a text without a known word gives a zero vector."""
        with self._lock:
            return unit(np.nan_to_num(np.asarray(self._encode(list(texts)), np.float32)))

    def embed_texts(self, texts: list[str]) -> list[Vector | None]:
        """Return a vector per text, None for a text without a known word."""
        return [row if row.any() else None for row in self.encode(texts)]

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question.

        Raises:
            EmbeddingReplyInvalid: The question holds no known word.
        """
        vector: Vector = self.encode([text])[0]
        if not vector.any():
            raise EmbeddingReplyInvalid("The model knows no word of the question.")
        return vector


def _load_packaged() -> Callable[[list[str]], Any]:
    try:
        import wordllama
    except ImportError:
        raise MissingExtra(
            "The packaged model needs `wordllama`.", suggestion="pip install 'llama-index-codeindex[local]'"
        ) from None
    # Its loader looks for the weights in the package and for the tokenizer in a cache; both are in the package.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return lambda texts: model.embed(texts, norm=True, batch_size=_AT_ONCE)


def _load_model2vec(path: str) -> Callable[[list[str]], Any]:
    try:
        from model2vec import StaticModel as Model2Vec
    except ImportError:
        raise MissingExtra(
            "A Model2Vec folder needs `model2vec`.", suggestion="pip install 'llama-index-codeindex[model2vec]'"
        ) from None
    if not (Path(path) / "model.safetensors").is_file():
        raise InvalidArgument(f"The folder {Path(path).name!r} holds no Model2Vec model.")
    model = Model2Vec.from_pretrained(path)
    return lambda texts: model.encode(texts)
