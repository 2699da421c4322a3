"""Every error of this project, in one tree.

    CodeIndexError
    ├── RootError
    │   ├── RootNotFound            ROOT_NOT_FOUND
    │   ├── RootNotDirectory        ROOT_NOT_DIRECTORY
    │   └── RootTooBroad            ROOT_TOO_BROAD
    ├── PathError
    │   ├── PathOutsideRoot         PATH_OUTSIDE_ROOT
    │   ├── FileDenied              FILE_DENIED
    │   └── FileNotIndexed          FILE_NOT_INDEXED
    ├── QueryError
    │   ├── EmptyQuery              EMPTY_QUERY
    │   ├── InvalidArgument         INVALID_ARGUMENT
    │   └── SymbolNotFound          SYMBOL_NOT_FOUND
    ├── StoreError
    │   ├── IndexBusy               INDEX_BUSY
    │   ├── IndexDamaged            INDEX_DAMAGED
    │   └── IndexNotWritable        INDEX_NOT_WRITABLE
    ├── EmbeddingError
    │   ├── EmbeddingUnavailable    EMBEDDING_UNAVAILABLE
    │   │   └── EmbeddingPaused     EMBEDDING_PAUSED
    │   ├── EmbeddingReplyInvalid   EMBEDDING_REPLY_INVALID
    │   ├── EmbeddingMismatch       EMBEDDING_MISMATCH
    │   └── VectorStoreUnavailable  VECTOR_STORE_UNAVAILABLE
    └── MissingExtra                MISSING_EXTRA

Each carries what a person needs (`message`, `suggestion`) and what a program needs (`code`, `next_action`). The next
action names a tool of `CodeIndexToolSpec` with every parameter it requires, so it can be sent back as it is.
No message holds an absolute path, a key, or text that a server sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

Action = dict[str, Any]


def action(tool: str, **params: Any) -> Action:
    """Return a next action: the `tool` to call and its `params`."""
    return {"tool": tool, "params": params}


class CodeIndexError(Exception):
    """Base of the tree.

    Args:
        message: What went wrong, in one sentence.
        suggestion: What the caller can do about it.
        next_action: `{"tool", "params"}`, executable as it is.
    """

    code: ClassVar[str] = "CODEINDEX_ERROR"
    default_suggestion: ClassVar[str] = "Check the arguments and try again."
    default_action: ClassVar[Mapping[str, Any]] = {"tool": "index_status", "params": {}}

    def __init__(self, message: str, *, suggestion: str | None = None, next_action: Action | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion or self.default_suggestion
        self.next_action: Action = next_action or {
            "tool": self.default_action["tool"],
            "params": dict(self.default_action["params"]),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the one error shape of tools and of `--json`: `{"error": {...}}`."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "suggestion": self.suggestion,
                "next_action": self.next_action,
            }
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments do not survive Exception's own pickling, and errors cross process borders.
        return (_rebuild, (type(self), self.message, self.suggestion, self.next_action))


def _rebuild(kind: type[CodeIndexError], message: str, suggestion: str, next_action: Action) -> CodeIndexError:
    return kind(message, suggestion=suggestion, next_action=next_action)


class RootError(CodeIndexError):
    """The folder to index cannot be used."""


class RootNotFound(RootError):
    """The folder to index does not exist."""

    code = "ROOT_NOT_FOUND"
    default_suggestion = "Name an existing folder, for example `.` for the current one."


class RootNotDirectory(RootError):
    """The path to index is a file, or git's own folder."""

    code = "ROOT_NOT_DIRECTORY"
    default_suggestion = "Name the folder that holds the file."


class RootTooBroad(RootError):
    """The folder to index is a home directory or a file system's root."""

    code = "ROOT_TOO_BROAD"
    default_suggestion = (
        "Name one project's folder, or pass `allow_broad_root=True` if this is meant "
        "(`codeindex index --allow-broad-root`)."
    )


class PathError(CodeIndexError):
    """A path inside the root cannot be used."""


class PathOutsideRoot(PathError):
    """A path leaves the root, by its spelling or through a link."""

    code = "PATH_OUTSIDE_ROOT"
    default_suggestion = "Use a path relative to the root, as the hits show it."


class FileDenied(PathError):
    """The file may hold secrets and is never read."""

    code = "FILE_DENIED"
    default_suggestion = "Files of this kind are never read; ask about the code that uses them instead."


class FileNotIndexed(PathError):
    """The file is not part of the index."""

    code = "FILE_NOT_INDEXED"
    default_suggestion = "Search for it first, or refresh the index if the file is new."
    default_action: ClassVar[Mapping[str, Any]] = {"tool": "refresh_index", "params": {}}


class QueryError(CodeIndexError):
    """The question cannot be answered as it was put."""


class EmptyQuery(QueryError):
    """The query is empty or white space."""

    code = "EMPTY_QUERY"
    default_suggestion = "Ask in words, or name a symbol or a path."
    default_action: ClassVar[Mapping[str, Any]] = {"tool": "index_status", "params": {}}


class InvalidArgument(QueryError):
    """An argument has a value outside its range, or a filter names an unknown key."""

    code = "INVALID_ARGUMENT"


class SymbolNotFound(QueryError):
    """No definition of that name is in the index."""

    code = "SYMBOL_NOT_FOUND"
    default_suggestion = "Search for the name; it may be spelled differently or come from a dependency."


class StoreError(CodeIndexError):
    """The persisted index cannot be used."""


class IndexBusy(StoreError):
    """Another process is writing this index."""

    code = "INDEX_BUSY"
    default_suggestion = "Wait for the other writer; searches keep answering from the last generation meanwhile."


class IndexDamaged(StoreError):
    """The persisted index is damaged and could not be rebuilt."""

    code = "INDEX_DAMAGED"
    default_suggestion = "Remove the index with `clear()` and build it again."
    default_action: ClassVar[Mapping[str, Any]] = {"tool": "refresh_index", "params": {}}


class IndexNotWritable(StoreError):
    """The index folder cannot be written: no permission, or no room on the disk."""

    code = "INDEX_NOT_WRITABLE"
    default_suggestion = "Make room, or pass `cache_dir` (`--cache-dir`) with a folder that can be written."


class EmbeddingError(CodeIndexError):
    """The embedding model did not give usable vectors. `reason` is what a degraded answer calls it."""

    reason: ClassVar[str] = "embedding_unavailable"


class EmbeddingUnavailable(EmbeddingError):
    """The embedding server cannot be reached or refuses to answer."""

    code = "EMBEDDING_UNAVAILABLE"
    default_suggestion = "Start the embedding server and check `api_base` and `model_name`."


class EmbeddingPaused(EmbeddingUnavailable):
    """The embedding model failed a moment ago and is not asked again yet."""

    code = "EMBEDDING_PAUSED"
    default_suggestion = "Ask again in a few seconds."
    reason = "breaker_open"


class EmbeddingReplyInvalid(EmbeddingError):
    """The embedding server answered with vectors that do not fit the texts."""

    code = "EMBEDDING_REPLY_INVALID"
    reason = "embedding_invalid"
    default_suggestion = "Check that the server runs an embedding model and that `model_name` is right."


class VectorStoreUnavailable(EmbeddingError):
    """The vector store that the user passed failed."""

    code = "VECTOR_STORE_UNAVAILABLE"
    reason = "vector_store_unavailable"
    default_suggestion = "Start the vector store and refresh the index."
    default_action: ClassVar[Mapping[str, Any]] = {"tool": "refresh_index", "params": {}}


class EmbeddingMismatch(EmbeddingError):
    """The index was embedded with another model or width."""

    code = "EMBEDDING_MISMATCH"
    reason = "dimension_mismatch"
    default_suggestion = "Refresh the index so that it is embedded with the current model."
    default_action: ClassVar[Mapping[str, Any]] = {"tool": "refresh_index", "params": {}}


def embedding_error(code: str, message: str) -> EmbeddingError:
    """Return the error of this code about vectors that an index lacks; the next action is to refresh it."""
    kinds: tuple[type[EmbeddingError], ...] = (
        EmbeddingPaused, EmbeddingReplyInvalid, EmbeddingMismatch, VectorStoreUnavailable,
    )  # fmt: skip
    kind = next((kind for kind in kinds if kind.code == code), EmbeddingUnavailable)
    return kind(message, next_action=action("refresh_index"))


class MissingExtra(CodeIndexError):
    """An optional part was used without its package being installed."""

    code = "MISSING_EXTRA"
    default_suggestion = "Install the extra that brings it."
