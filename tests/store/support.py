"""Small repositories, an embedder that counts, and what an index holds, in a form that can be compared."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import EmbeddingUnavailable
from llama_index_codeindex.engine.store.vectors import Vector, unit
from llama_index_codeindex.engine.syntax.words import term_hash, terms


def git(root: Path, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    names = {f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments],
        cwd=root,
        env=environment | names,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def make_repository(root: Path, files: dict[str, str | bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    write(root, files)
    commit(root, "first")
    return root


def commit(root: Path, message: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


class CountingEmbedder:
    """Embeds a text as the words in it, and counts what it is asked. Texts with a word of `poison` have no vector."""

    def __init__(self, name: str = "words", width: int = 32) -> None:
        self.model_id = f"{name}:{width}"
        self.width = width
        self.seen: list[str] = []
        self.poison: set[str] = set()
        self.is_down = False

    def embed_texts(self, texts: list[str]) -> list[Vector | None]:
        if self.is_down:
            raise EmbeddingUnavailable("The embedding server is away.")
        self.seen.extend(texts)
        return [None if any(word in text for word in self.poison) else self._vector(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    def _vector(self, text: str) -> Vector:
        vector = np.full(self.width, 0.01, np.float32)
        for term in terms(text):
            vector[term_hash(term + self.model_id) % self.width] += 1
        return unit(vector)


def folder_state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file of a folder with its time and content; SQLite's shared memory holds only locks."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


_TABLES = {
    "files": "SELECT id, path, path_key, hash, size, language, category, encoding, redactions, structural, lines, prior "
    "FROM files ORDER BY id",
    "chunks": "SELECT * FROM chunks ORDER BY id",
    "symbols": "SELECT file_id, chunk, name, name_key, qualified, qualified_key, kind, scope, start_line, end_line, "
    "name_line, signature FROM symbols ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
    "refs": "SELECT * FROM refs ORDER BY name, kind, file_id",
    "gaps": "SELECT path, reason, detail FROM gaps ORDER BY 1, 2, 3",
}


def contents(codebase: Codebase) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the catalog holds of the tree, row by row."""
    with codebase.store.read() as view:
        connection = view.catalog.connection
        return {name: connection.execute(query).fetchall() for name, query in _TABLES.items()}


def answers(codebase: Codebase, questions: Iterable[str]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the hits of some questions in every mode: place, score, and the rank in every lane."""
    return {
        f"{mode} {question}": [
            (
                hit.file_path,
                hit.start_line,
                hit.end_line,
                hit.symbol,
                hit.score,
                sorted(hit.lanes.items()),
                hit.stale,
                hit.text,
            )
            for hit in codebase.search(question, top_k=10, mode=mode).hits
        ]
        for question in questions
        for mode in ("all", "meaning", "symbol", "path")
    }
