"""The full-text index: tantivy over our own terms.

tantivy finds the candidates; their scores come from the stored bags and exact statistics, because its own statistics
go on counting deleted documents until segments merge, and an index that grew would rank otherwise than a new one.

On disk every generation is a folder of its own, named in the catalog. Its files never change, so the next generation
starts with links to them, and a catalog, whichever of two it is after a crash, finds the full text that belongs to it.
"""

from __future__ import annotations

import math
import os
import shutil
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from llama_index_codeindex.engine.store.bags import K1, B, frequencies
from llama_index_codeindex.engine.syntax.words import term_hash

_ANALYZER = "codeindex_terms"
# One thread and a small heap: an index of 80,000 chunks builds in two seconds, and memory stays flat.
_HEAP_BYTES = 32_000_000
_WRITER_THREADS = 1
# Candidates taken from tantivy beyond those asked for: its statistics drift with deleted documents, ours do not.
_DRIFT_MARGIN = 1.25
# Files of tantivy's that it replaces or locks; they are copied or left out where the others are linked.
_REPLACED = ("meta.json", ".managed.json")
_BLOCK = 1 << 20

Document = tuple[int, int, Iterable[str], str]  # chunk row, file id, symbol kinds, terms joined by spaces
Bags = Callable[[Sequence[int]], dict[int, tuple[int, bytes]]]  # rows to number of terms and bag of words
FileSums = dict[str, list[int]]  # the files of a generation: size and CRC-32 by name


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("row", indexed=True, fast=True)
    builder.add_integer_field("file", indexed=True)
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("body", tokenizer_name=_ANALYZER, index_option="freq")
    return builder.build()


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Translate: tantivy reports a full disk, a missing file and a held lock alike, as ValueError."""
    try:
        yield
    except ValueError as error:
        raise OSError(f"full text: {type(error).__name__}") from error


class LexicalIndex:
    """The full-text index of one generation: a folder, or in memory when `path` is None.

    Raises:
        OSError: The folder cannot be used, or what is in it is damaged.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._schema = _schema()
        with _disk_errors():
            if path is None:
                self._index = tantivy.Index(self._schema)
            else:
                path.mkdir(parents=True, exist_ok=True)
                self._index = tantivy.Index(self._schema, path=str(path), reuse=True)
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self._index.register_tokenizer(_ANALYZER, analyzer)
        self._writer: tantivy.IndexWriter | None = None
        self._lock = threading.Lock()

    # -- writing -------------------------------------------------------------------------------------------------------

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=_WRITER_THREADS)
        return self._writer

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents to the next commit."""
        with _disk_errors():
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
        with _disk_errors():
            writer = self._writing()
            for file_id in file_ids:
                writer.delete_documents_by_term("file", file_id)

    def commit(self, stamp: str = "") -> None:  # noqa: ARG002
        """Make the changes visible, and leave the files as they will stay."""
        with _disk_errors(), self._lock:
            writer = self._writing()
            writer.commit()
            writer.garbage_collect_files()
            self._writer = None
            writer.wait_merging_threads()
            self._index.reload()

    def release(self) -> None:
        """Drop what is not committed."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is not None:
                try:
                    writer.rollback()
                    writer.wait_merging_threads()
                except ValueError:
                    pass  # its folder is dropped with it

    # -- reading -------------------------------------------------------------------------------------------------------

    def snapshot(self, mean_terms: float) -> LexicalSnapshot:
        """Return the committed state, which later commits do not change.

        Args:
            mean_terms: The mean length of a chunk in terms.
        """
        with _disk_errors():
            self._index.reload()
            return LexicalSnapshot(self._schema, self._index.searcher(), mean_terms)


def derive(source: Path | None, target: Path) -> LexicalIndex:
    """Start the folder of the next generation from the last one's, or empty."""
    target.mkdir(parents=True)
    for path in source.iterdir() if source is not None else ():
        if path.name in _REPLACED:
            shutil.copyfile(path, target / path.name)
        elif not path.name.endswith(".lock"):
            _link(path, target / path.name)
    return LexicalIndex(target)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)


def sum_files(folder: Path, known: FileSums | None = None) -> FileSums:
    """Return size and CRC-32 of a generation's files; those that are `known` never change and are not read again."""
    sums: FileSums = {}
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".lock"):
            continue
        size = path.stat().st_size
        same = (known or {}).get(path.name)
        if same is not None and path.name not in _REPLACED and same[0] == size:
            sums[path.name] = same
            continue
        check = 0
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                check = zlib.crc32(block, check)
        sums[path.name] = [size, check]
    return sums


class LexicalSnapshot:
    """One committed state of the full-text index."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher, mean_terms: float) -> None:
        self._schema = schema
        self._searcher = searcher
        self._mean_terms = mean_terms or 1.0
        self._frequencies: dict[str, int] = {}

    @property
    def documents(self) -> int:
        """How many chunks it holds."""
        return int(self._searcher.num_docs)

    def document_frequency(self, term: str) -> int:
        """Return how many chunks hold a term."""
        known = self._frequencies.get(term)
        if known is None:
            # The term dictionary's own figure counts documents that are deleted.
            known = int(self._searcher.doc_freq("body", term))
            if known:
                found: Any = self._searcher.search(self._term(term), limit=1, count=True)
                known = int(found.count)
            self._frequencies[term] = known
        return known

    def expand(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Return the most frequent terms that start with a prefix, with their document frequencies."""
        # Some may be left of deleted documents only.
        terms = self._searcher.terms_with_prefix("body", prefix, limit=3 * limit)
        counted = [(str(term), self.document_frequency(str(term))) for term, _ in terms]
        return sorted((pair for pair in counted if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def search(
        self,
        weighted: Sequence[tuple[str, float]],
        limit: int,
        bags: Bags,
        file_ids: Sequence[int] | None = None,
        rows: Sequence[int] | None = None,
        kinds: Sequence[str] | None = None,
    ) -> list[tuple[int, float]]:
        """Return chunk rows and BM25 scores, best first.

        Args:
            weighted: Terms and their weights; a document needs at least one of them.
            limit: How many rows at most.
            bags: Gives the bags of words of chunks, for the exact scores.
            file_ids: Only chunks of these files, if given.
            rows: Only these chunks, if given.
            kinds: Only chunks of these symbol kinds, if given.
        """
        if not weighted or [] in (file_ids, rows, kinds):
            return []
        terms = [
            (
                tantivy.Occur.Should,
                self._term(term) if weight == 1.0 else tantivy.Query.boost_query(self._term(term), weight),
            )
            for term, weight in weighted
        ]
        query = tantivy.Query.boolean_query(terms)
        for field, values in (("file", file_ids), ("row", rows), ("kind", kinds)):
            if values is not None:
                members = tantivy.Query.term_set_query(self._schema, field, list(values))
                restricted = tantivy.Query.const_score_query(members, 0.0)
                query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, restricted)])
        hits = self._searcher.search(query, limit=math.ceil(_DRIFT_MARGIN * limit), count=False).hits
        found = self._searcher.fast_field_values("row", [address for _, address in hits])
        return self._scored([int(row or 0) for row in found], weighted, bags)[:limit]

    def _term(self, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, "body", term, "freq")

    def _scored(
        self, rows: Sequence[int], weighted: Sequence[tuple[str, float]], bags: Bags
    ) -> list[tuple[int, float]]:
        held = bags(rows)
        known = [row for row in rows if row in held]
        counts = frequencies([held[row][1] for row in known], [term_hash(term) for term, _ in weighted])
        norm = K1 * (1 - B + B * np.array([held[row][0] for row in known]) / self._mean_terms)
        scores = np.zeros(len(known))
        for column, (term, weight) in enumerate(weighted):  # one after the other: the same sum whatever else is ranked
            gain = weight * _inverse_document_frequency(self.documents, self.document_frequency(term))
            scores += gain * counts[:, column] * (K1 + 1) / (counts[:, column] + norm)
        return sorted(
            ((row, float(score)) for row, score in zip(known, scores, strict=True)), key=lambda p: (-p[1], p[0])
        )


def _inverse_document_frequency(documents: int, frequency: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
