"""Giving the chunks of a generation their vectors: each distinct text once, whatever file and lines it is on."""

from __future__ import annotations

import uuid

from llama_index_codeindex.engine.errors import EmbeddingError
from llama_index_codeindex.engine.model import Source
from llama_index_codeindex.engine.store.contents import embedded_text, text_hash
from llama_index_codeindex.engine.store.options import Embedder, Progress, ProgressCallback
from llama_index_codeindex.engine.store.store import Store
from llama_index_codeindex.engine.store.tree import Tree
from llama_index_codeindex.engine.store.vectors import unit
from llama_index_codeindex.engine.syntax.chunking import split_lines

# Texts given to the embedder at once; the embedder may cut them into smaller requests.
BATCH = 256
# Up to so many texts a refresh embeds before it publishes; a model takes a few seconds for them at most.
SMALL = BATCH

Missing = list[tuple[str, int]]  # text hashes, each with the row of a chunk that has the text


def is_embedded(meta: dict[str, str], model: str) -> bool:
    """Say whether the index says that every chunk of its generation has a vector of this model."""
    return meta.get("embedded") == _mark(meta, model)


def _mark(meta: dict[str, str], model: str) -> str:
    return f"{model}\n{meta.get('stamp', '')}"


class Embedding:
    """Embeds what has no vector yet.

    Args:
        store: The store.
        tree: Where the texts come from.
        embedder: The embedding model.
    """

    def __init__(self, store: Store, tree: Tree, embedder: Embedder) -> None:
        self.store = store
        self.tree = tree
        self.embedder = embedder

    def is_complete(self, meta: dict[str, str]) -> bool:
        """Say whether every chunk of the generation has a vector of this model and the index says so."""
        model = self.embedder.model_id
        return is_embedded(meta, model) and meta.get("embedding_model") == model

    def run_inside(self, progress: ProgressCallback, limit: int) -> int:
        """Embed what a transaction brought, if it is not more than `limit`; return how many texts were embedded."""
        missing = self.store.catalog.vectors.missing(self.embedder.model_id)
        if not 0 < len(missing) <= limit:
            return 0
        progress(Progress("embed", 0, len(missing)))
        try:
            vectors = self._embed(missing)
        except EmbeddingError:
            return 0  # tried again after publishing, and reported then
        self.store.catalog.vectors.add(self.embedder.model_id, vectors)
        progress(Progress("embed", len(missing), len(missing)))
        return len(vectors)

    def run(self, progress: ProgressCallback) -> tuple[int, int, str]:
        """Embed the texts without a vector, batch by batch, so that a stop loses one batch and not the work.

        Returns:
            How many were embedded, how many were not, and the code of the error that ended it.
        """
        catalog, model = self.store.catalog, self.embedder.model_id
        with catalog.reading():
            missing = catalog.vectors.missing(model)
        done = 0
        problem = ""
        for start in range(0, len(missing), BATCH):
            progress(Progress("embed", start, len(missing)))
            try:
                vectors = self._embed(missing[start : start + BATCH])
            except EmbeddingError as error:
                problem = error.code
                break
            if vectors:
                with catalog.writing():
                    catalog.vectors.add(model, vectors)
                    catalog.set_meta({"vectors_stamp": uuid.uuid4().hex})
            done += len(vectors)
        if missing:
            progress(Progress("embed", done, len(missing)))
        self._note(problem, is_complete=done == len(missing))
        return done, len(missing) - done, problem

    def _note(self, problem: str, *, is_complete: bool) -> None:
        catalog = self.store.catalog
        with catalog.reading():
            meta = catalog.meta()
        facts = {"embedding_model": self.embedder.model_id, "embedding_problem": problem}
        facts["embedded"] = _mark(meta, self.embedder.model_id) if is_complete else ""
        if any(meta.get(key, "") != value for key, value in facts.items()):
            with catalog.writing():
                catalog.set_meta(facts)

    def _embed(self, missing: Missing) -> list[tuple[str, bytes]]:
        """Return the vectors of texts that are still what was indexed, by text hash."""
        texts = self._texts([row for _, row in missing])
        pairs = [(key, texts[row]) for key, row in missing if row in texts]
        if not pairs:
            return []
        vectors = self.embedder.embed_texts([text for _, text in pairs])
        return [(key, unit(v).tobytes()) for (key, _), v in zip(pairs, vectors, strict=True) if v is not None]

    def _texts(self, rows: list[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        sources: dict[str, list[str]] = {}
        with self.store.catalog.reading():
            chunks = self.store.catalog.chunk_rows(rows)
        for chunk in chunks:
            if chunk.path not in sources:
                source = self.tree.read(chunk.path)
                sources[chunk.path] = split_lines(source.text) if isinstance(source, Source) else []
            lines = sources[chunk.path][chunk.start_line - 1 : chunk.end_line]
            text = "".join(lines)[chunk.offset : chunk.offset + chunk.length]
            if text_hash(text) == chunk.hash:
                found[chunk.row] = embedded_text(text, chunk.context)
        return found
