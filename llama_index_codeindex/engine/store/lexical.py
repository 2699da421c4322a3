"""The full-text index: tantivy over our own terms. It gives candidates; exact scores come from the stored bags.

One document carries the stamp of the generation the index belongs to, so a reader can tell whether this index and the
catalog are of one piece.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import tantivy

_ANALYZER = "codeindex_terms"
# One thread and a small heap: an index of 80,000 chunks builds in two seconds, and memory stays flat.
_HEAP_BYTES = 32_000_000
_WRITER_THREADS = 1

Document = tuple[int, int, Iterable[str], str]  # chunk row, file id, symbol kinds, terms joined by spaces


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("row", indexed=True, fast=True)
    builder.add_integer_field("file", indexed=True)
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("body", tokenizer_name=_ANALYZER, index_option="freq")
    builder.add_text_field("stamp", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("role", tokenizer_name="raw", index_option="basic")
    return builder.build()


class LexicalIndex:
    """A full-text index on disk, or in memory when `path` is None."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._schema = _schema()
        self._index = self._open()
        self._writer: tantivy.IndexWriter | None = None
        self._lock = threading.Lock()

    def _open(self) -> tantivy.Index:
        if self._path is None:
            index = tantivy.Index(self._schema)
        else:
            self._path.mkdir(parents=True, exist_ok=True)
            try:
                index = tantivy.Index(self._schema, path=str(self._path), reuse=True)
            except (ValueError, OSError):
                # Torn or of another form: it is derived, so it starts anew and its missing stamp has it filled again.
                shutil.rmtree(self._path, ignore_errors=True)
                self._path.mkdir(parents=True, exist_ok=True)
                index = tantivy.Index(self._schema, path=str(self._path), reuse=False)
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        index.register_tokenizer(_ANALYZER, analyzer)
        return index

    # -- writing -------------------------------------------------------------------------------------------------------

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=_WRITER_THREADS)
        return self._writer

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents to the next commit."""
        writer = self._writing()
        for row, file_id, kinds, body in documents:
            document = tantivy.Document()
            document.add_integer("row", row)
            document.add_integer("file", file_id)
            for kind in kinds:
                document.add_text("kind", kind)
            document.add_text("body", body)
            writer.add_document(document)

    def remove_files(self, file_ids: Iterable[int]) -> None:
        """Remove the documents of some files with the next commit."""
        writer = self._writing()
        for file_id in file_ids:
            writer.delete_documents_by_term("file", file_id)

    def clear(self) -> None:
        """Remove every document with the next commit."""
        self._writing().delete_all_documents()

    def commit(self, stamp: str) -> None:
        """Make the changes visible as the generation of this stamp."""
        writer = self._writing()
        writer.delete_documents_by_term("role", "stamp")
        document = tantivy.Document()
        document.add_text("role", "stamp")
        document.add_text("stamp", stamp)
        writer.add_document(document)
        writer.commit()
        self.release()
        self._index.reload()

    def release(self) -> None:
        """Drop what is not committed, and let another process write."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.rollback()
                writer.wait_merging_threads()

    # -- reading -------------------------------------------------------------------------------------------------------

    def snapshot(self, *, reload: bool = False) -> LexicalSnapshot:
        """Return the newest committed state, which later commits do not change."""
        if reload:
            self._index.reload()
        return LexicalSnapshot(self._schema, self._index.searcher())


class LexicalSnapshot:
    """One committed state of the full-text index."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher) -> None:
        self._schema = schema
        self._searcher = searcher

    @property
    def stamp(self) -> str:
        """The stamp of the generation, or an empty string before the first commit."""
        query = tantivy.Query.term_query(self._schema, "role", "stamp")
        hits = self._searcher.search(query, limit=1).hits
        return str(self._searcher.doc(hits[0][1]).get_first("stamp")) if hits else ""

    @property
    def documents(self) -> int:
        """How many chunks it holds."""
        return max(0, self._searcher.num_docs - 1)

    def document_frequency(self, term: str) -> int:
        """Return how many chunks hold a term."""
        return int(self._searcher.doc_freq("body", term))

    def expand(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Return the most frequent terms that start with a prefix, with their document frequencies."""
        return [
            (str(term), int(count)) for term, count in self._searcher.terms_with_prefix("body", prefix, limit=limit)
        ]

    def search(
        self,
        weighted: Sequence[tuple[str, float]],
        limit: int,
        file_ids: Sequence[int] | None = None,
        rows: Sequence[int] | None = None,
        kinds: Sequence[str] | None = None,
    ) -> list[tuple[int, float]]:
        """Return chunk rows and scores, best first.

        Args:
            weighted: Terms and their weights; a document needs at least one of them.
            limit: How many rows at most.
            file_ids: Only chunks of these files, if given.
            rows: Only these chunks, if given.
            kinds: Only chunks of these symbol kinds, if given.
        """
        if not weighted or [] in (file_ids, rows, kinds):
            return []
        terms = [
            (tantivy.Occur.Should, self._boosted(tantivy.Query.term_query(self._schema, "body", term, "freq"), weight))
            for term, weight in weighted
        ]
        query = tantivy.Query.boolean_query(terms)
        for field, values in (("file", file_ids), ("row", rows), ("kind", kinds)):
            if values is not None:
                members = tantivy.Query.term_set_query(self._schema, field, list(values))
                restricted = tantivy.Query.const_score_query(members, 0.0)
                query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, restricted)])
        hits = self._searcher.search(query, limit=limit, count=False).hits
        found = self._searcher.fast_field_values("row", [address for _, address in hits])
        return [(int(row or 0), float(score)) for row, (score, _) in zip(found, hits, strict=True)]

    @staticmethod
    def _boosted(query: tantivy.Query, weight: float) -> tantivy.Query:
        return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)
