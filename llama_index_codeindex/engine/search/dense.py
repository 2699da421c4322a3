"""The lane that finds by meaning: vectors of the index or of a store outside it, and what is said when they are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from llama_index_codeindex.engine.errors import EmbeddingError, EmbeddingMismatch, InvalidArgument, embedding_error
from llama_index_codeindex.engine.search.turns import out_of_turn
from llama_index_codeindex.engine.store.options import Embedder
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.store.vectors import Vector

DENSE_LIMIT = 50


class ExternalSearch(Protocol):
    """A vector store outside the index, which answers for its dense lane."""

    def search(
        self, view: View, model_id: str, vector: Vector, limit: int, rows: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """Return rows and similarities, best first; EmbeddingError if the store fails."""
        ...

    def is_complete(self, view: View, model_id: str) -> bool:
        """Say whether the store has been sent every vector of a generation; False while it is being sent them."""
        ...


class DenseLane:
    """Answers from vectors.

    Args:
        view: The generation.
        embedder: The embedding model, or None.
        external: A vector store that answers instead of the index's own vectors.
        required: Raise what keeps the lane from answering, instead of noting it as a reason.

    Raises:
        InvalidArgument: It is required and there is no model.
    """

    def __init__(
        self, view: View, embedder: Embedder | None, external: ExternalSearch | None = None, *, required: bool = False
    ) -> None:
        check_dense(embedder, required=required)
        self._view = view
        self._embedder = embedder
        self._external = external
        self._required = required

    def search(
        self, text: str, vector: Vector | None, rows: Callable[[], Sequence[int] | None], reasons: list[str]
    ) -> tuple[dict[int, float], Vector | None]:
        """Return similarities by row, best first, and the question's vector.

        Args:
            text: The question.
            vector: Its vector, if the caller has it already.
            rows: Returns the rows that may be found, or None for all; it is not asked in vain.
            reasons: Takes what keeps the lane from answering, or from answering in full.

        Raises:
            EmbeddingError: The lane is required and cannot answer.
        """
        if self._embedder is None:
            reasons.append("no_embedding_model")
            return {}, vector
        model = self._embedder.model_id
        matrix = None if self._external is not None else self._view.vectors(model)
        if not self._has_vectors(model, None if matrix is None else len(matrix.rows), reasons):
            return {}, vector
        try:
            if vector is None:
                with out_of_turn():
                    vector = self._embedder.embed_query(text)
            if self._external is not None:
                with out_of_turn():
                    near = self._external.search(self._view, model, vector, DENSE_LIMIT, rows())
                    is_complete = self._external.is_complete(self._view, model)
                if not is_complete:
                    self._note_partial("VECTOR_STORE_UNAVAILABLE", "The vector store lacks vectors.", reasons)
                return dict(near), vector
            assert matrix is not None
            if vector.shape[-1] != matrix.width:
                raise EmbeddingMismatch("The vectors of the question and of the index differ in width.")
            return dict(matrix.search(vector, DENSE_LIMIT, rows())), vector
        except EmbeddingError as error:
            if self._required:
                raise
            reasons.append(error.reason)
            return {}, vector

    def neighbours(self, row: int, reasons: list[str]) -> dict[int, float]:
        """Return the similarities, by row and best first, of what is close to a chunk; the index's own vectors answer.

        Raises:
            EmbeddingError: The lane is required and has no vectors.
        """
        if self._embedder is None:
            return {}
        matrix = self._view.vectors(self._embedder.model_id)
        own = matrix.vector_of(row)
        if own is None and self._required:
            self._has_vectors(self._embedder.model_id, len(matrix.rows), reasons)
        return dict(matrix.search(own, DENSE_LIMIT)) if own is not None else {}

    def _has_vectors(self, model: str, embedded: int | None, reasons: list[str]) -> bool:
        """Say whether there is anything to compare with; `embedded` is how many chunks have a vector, if it is known."""
        catalog, meta = self._view.catalog, self._view.meta
        chunks = self._view.chunks
        embedded = catalog.vectors.count(model) if embedded is None else embedded
        if not embedded:
            foreign = catalog.vectors.exist()
            if self._required and chunks:
                told = "The index was embedded with another model." if foreign else "The index has no vectors."
                raise embedding_error("EMBEDDING_MISMATCH" if foreign else "EMBEDDING_UNAVAILABLE", told)
            reasons.append("model_mismatch" if foreign else "not_embedded")
        elif embedded < chunks:
            # Single texts may be too long for a model; a model that failed left out whatever came next.
            problem = meta.get("embedding_problem", "") if meta.get("embedding_model") == model else ""
            told = f"The embedding model failed, and {chunks - embedded} of {chunks} chunks have no vector."
            self._note_partial(problem, told, reasons)
        return embedded > 0

    def _note_partial(self, problem: str, told: str, reasons: list[str]) -> None:
        if problem and self._required:
            raise embedding_error(problem, told)
        if "partly_embedded" not in reasons:
            reasons.append("partly_embedded")


def check_dense(embedder: Embedder | None, *, required: bool) -> None:
    """Check that who insists on meaning named a model.

    Raises:
        InvalidArgument: There is no model.
    """
    if required and embedder is None:
        raise InvalidArgument(
            "`require_dense` needs an embedding model.", suggestion="Pass `embed_model`, or leave `require_dense` out."
        )
