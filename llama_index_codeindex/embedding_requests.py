"""What to ask an embedding server for, and what its answers mean, without sending anything.

The work is a generator that yields requests and pauses and is sent their outcomes, so that the synchronous and the
asynchronous client share every rule about batches, retries and checks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index_codeindex.engine.errors import EmbeddingReplyInvalid, EmbeddingUnavailable

# Tries of one batch: a model that is still warming up answers short or with 5xx for a moment.
_TRIES = 3
_FIRST_PAUSE = 0.2
# A retry can mend these; every other 4xx will be the same the next time.
_RETRIED = frozenset((408, 409, 425, 429))
# The request itself is refused: too many texts, or one of them too long.
_TOO_LARGE = frozenset((400, 413, 422))


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: embed these texts within so many seconds."""

    texts: list[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds before the next request."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request.

    Args:
        rows: The vectors with their positions in the request, as the server sent them.
        status: The HTTP status, 0 where there was none.
        problem: Why there are no rows, in our own words.
        is_lasting: Whether the same request would fail the same way.
    """

    rows: list[tuple[int | None, list[float]]] | None = None
    status: int = 0
    problem: str = ""
    is_lasting: bool = False


Rows = list[list[float] | None]
Work = Generator[Ask | Pause, Outcome | None, Rows]


def outcome_of(reply: Any) -> Outcome:
    """Return the outcome of a reply object of the OpenAI client."""
    data = getattr(reply, "data", None)
    if not isinstance(data, list):
        return Outcome(problem="the reply holds no vectors", is_lasting=True)
    rows: list[tuple[int | None, list[float]]] = []
    for item in data:
        vector = getattr(item, "embedding", None)
        if not isinstance(vector, list) or not all(isinstance(x, (int, float)) for x in vector):
            return Outcome(problem="the reply holds something else than vectors", is_lasting=True)
        index = getattr(item, "index", None)
        rows.append((index if isinstance(index, int) else None, vector))
    return Outcome(rows)


def outcome_of_error(error: Exception) -> Outcome:
    """Return the outcome of a failed request, without any word of the server's."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        is_lasting = 400 <= status < 500 and status not in _RETRIED
        return Outcome(
            status=status, problem=f"the server answered with status {status}", is_lasting=is_lasting or status == 501
        )
    kind = type(error).__name__
    if kind == "APITimeoutError":
        return Outcome(problem="the server did not answer in time")
    if kind == "APIConnectionError":
        return Outcome(problem="the server cannot be reached")
    return Outcome(problem=f"the reply cannot be read ({kind})", is_lasting=kind != "ValueError")


class Requests:
    """The rules of one server, with what was learnt of it: its batch limit and its vectors' width."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.width: int | None = None

    def query(self, text: str, deadline: float) -> Work:
        """Embed one question.

        Raises:
            EmbeddingError: There is no usable vector.
        """
        rows, outcome = yield from self._try([text], deadline)
        if rows is None:
            raise _error(outcome)
        return rows

    def bulk(self, texts: Sequence[str], deadline: float) -> Work:
        """Embed texts; a text that is empty or that the server refuses costs only itself.

        Raises:
            EmbeddingError: Not one text got a vector, though one should have.
        """
        found: Rows = [None] * len(texts)
        pending = [[at for at, text in enumerate(texts) if text]]
        sent = bool(pending[0])
        last = Outcome(problem="no request was made")
        while pending:
            batch = pending.pop()
            if not batch:
                continue
            if self.limit is not None and len(batch) > self.limit:
                pending.extend((batch[self.limit :], batch[: self.limit]))
                continue
            rows, outcome = yield from self._try([texts[at] for at in batch], deadline)
            if rows is not None:
                for at, row in zip(batch, rows, strict=True):
                    found[at] = row
                continue
            last = outcome
            if outcome.status in _TOO_LARGE and len(batch) > 1:
                self.limit = len(batch) // 2
                pending.append(batch)
            elif self._is_worth_splitting(outcome) and len(batch) > 1 and time.monotonic() < deadline:
                pending.extend([[at] for at in reversed(batch)])
            elif not (outcome.status in _TOO_LARGE or self._is_worth_splitting(outcome)):
                break  # the server is away: the other texts would only wait for it, too
        if sent and all(row is None for row in found):
            raise _error(last)
        return found

    @staticmethod
    def _is_worth_splitting(outcome: Outcome) -> bool:
        """Say whether single texts may pass where the batch did not: it was answered, but badly."""
        return outcome.status >= 500 or outcome.rows is not None

    def _try(
        self, texts: list[str], deadline: float
    ) -> Generator[Ask | Pause, Outcome | None, tuple[Rows | None, Outcome]]:
        """Ask up to `_TRIES` times; return the rows, or None and the last outcome."""
        outcome = Outcome(problem="the time was up")
        pause = _FIRST_PAUSE
        for attempt in range(_TRIES):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            answer = yield Ask(texts, left)
            outcome = answer or outcome
            rows = self._rows(outcome, len(texts))
            if rows is not None:
                return rows, outcome
            if outcome.is_lasting or attempt == _TRIES - 1 or deadline - time.monotonic() <= pause:
                break
            yield Pause(pause)
            pause *= 2
        return None, outcome

    def _rows(self, outcome: Outcome, count: int) -> Rows | None:
        """Return the vectors in the order of the texts, or None when the reply does not fit them.

        Raises:
            EmbeddingReplyInvalid: The vectors are of another width than before.
        """
        if outcome.rows is None or len(outcome.rows) != count:
            return None
        indices = [index for index, _ in outcome.rows]
        placed: list[list[float]] = [vector for _, vector in outcome.rows]
        if any(index is not None for index in indices):
            if sorted(index if index is not None else -1 for index in indices) != list(range(count)):
                return None
            for index, vector in outcome.rows:
                assert index is not None
                placed[index] = vector
        rows: Rows = [vector if _is_usable(vector) else None for vector in placed]
        for row in rows:
            if row is None:
                continue
            if self.width is None:
                self.width = len(row)
            if len(row) != self.width:
                raise EmbeddingReplyInvalid(
                    f"The server gave a vector of width {len(row)}; the others have {self.width}."
                )
        return rows


def _is_usable(vector: list[float]) -> bool:
    return bool(vector) and all(math.isfinite(x) for x in vector) and any(vector)


def _error(outcome: Outcome) -> EmbeddingUnavailable | EmbeddingReplyInvalid:
    if outcome.rows is not None:
        return EmbeddingReplyInvalid("The embedding server's reply does not fit the texts.")
    hints = {
        401: "Pass the server's api_key.",
        403: "Pass the server's api_key.",
        404: "Check that api_base ends as the server wants it, usually in /v1, and that the model is loaded.",
        501: "Start the server with its embeddings switched on.",
    }
    message = f"No vectors: {outcome.problem or 'the server gave none'}."
    return EmbeddingUnavailable(message, suggestion=hints.get(outcome.status))
