"""What a refresh is given and what it says: options, the embedder, progress, and the report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as resources
from typing import Protocol

from llama_index_codeindex.engine.files.gate import GATE_VERSION
from llama_index_codeindex.engine.files.walk import WalkOptions
from llama_index_codeindex.engine.store.rows import SCHEMA_VERSION
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.engine.syntax.chunking import MAX_CHARS
from llama_index_codeindex.engine.syntax.outline import SYNTAX_VERSION
from llama_index_codeindex.engine.syntax.words import WORDS_VERSION


class Embedder(Protocol):
    """What the store and the search need of an embedding model."""

    @property
    def model_id(self) -> str:
        """Model, width and prefixes: vectors of different ids are never compared."""
        ...

    def embed_texts(self, texts: list[str]) -> list[Vector | None]:
        """Return a vector per text, None where that text alone failed; EmbeddingError when all did."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question; EmbeddingError if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a refresh is. `total` is 0 while it is not known."""

    stage: str  # "scan", "parse", "embed" or "publish"
    done: int  # files, or texts while embedding
    total: int
    chunks: int = 0  # made so far
    seconds_left: float | None = None  # of this stage, at the speed so far


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What shapes an index, and how it is made.

    Args:
        walk: What the walk admits.
        max_chars: No chunk has more characters.
        workers: Processes that parse beside this one; None for what files and cores are worth, 0 for none.
    """

    walk: WalkOptions = field(default_factory=WalkOptions)
    max_chars: int = MAX_CHARS
    workers: int | None = None

    def fingerprint(self) -> str:
        """Return what decides whether stored chunks are those that this code would make now."""
        parts = [
            SCHEMA_VERSION,
            GATE_VERSION,
            SYNTAX_VERSION,
            WORDS_VERSION,
            self.max_chars,
            _queries_digest(),
            *_versions(),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    found: list[str] = []
    for package in ("llama-index-codeindex", "tree-sitter", "tree-sitter-language-pack"):
        try:
            found.append(version(package))
        except PackageNotFoundError:
            found.append("unknown")
    return tuple(found)


@lru_cache(maxsize=1)
def _queries_digest() -> str:
    folder = resources("llama_index_codeindex.engine.syntax").joinpath("queries")
    digest = hashlib.sha256()
    for query in sorted(folder.iterdir(), key=lambda item: item.name):
        digest.update(query.name.encode() + query.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh did. `generation` is unchanged when nothing was new."""

    generation: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0
    unembedded: int = 0
    embedding_problem: str = ""

    @property
    def is_noop(self) -> bool:
        """Whether the index was already the tree's."""
        return not (self.added or self.changed or self.removed or self.embedded)
