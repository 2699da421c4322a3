"""Refreshing an index: from what the walk finds to the next generation, published at once or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as resources
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from llama_index_codeindex.engine.errors import EmbeddingError, IndexBusy, IndexNotWritable
from llama_index_codeindex.engine.files.categories import categorise
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.gitrepo import find_repository, read_head
from llama_index_codeindex.engine.files.walk import WalkOptions, walk
from llama_index_codeindex.engine.model import Chunk, Gap, Outline, Source, SourceFile, Symbol
from llama_index_codeindex.engine.store.bags import chunk_terms, pack_bag
from llama_index_codeindex.engine.store.catalog import SCHEMA_VERSION, FileRow, NewChunk
from llama_index_codeindex.engine.store.lexical import Document
from llama_index_codeindex.engine.store.store import Store
from llama_index_codeindex.engine.store.vectors import Vector, unit
from llama_index_codeindex.engine.syntax.chunking import MAX_CHARS, split_lines
from llama_index_codeindex.engine.syntax.outline import SYNTAX_VERSION, outline
from llama_index_codeindex.engine.syntax.words import WORDS_VERSION

# A file written this shortly before the scan may be written again with the same time stamp (two seconds on FAT).
_RACY_NS = 2_000_000_000

# Texts given to the embedder at once; the embedder may cut them into smaller requests.
_EMBED_BATCH = 256


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
    done: int
    total: int


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What shapes an index."""

    walk: WalkOptions = field(default_factory=WalkOptions)
    max_chars: int = MAX_CHARS

    def fingerprint(self) -> str:
        """Return what decides whether stored chunks are those that this code would make now."""
        parts = [SCHEMA_VERSION, SYNTAX_VERSION, WORDS_VERSION, self.max_chars, _queries_digest()]
        for package in ("tree-sitter", "tree-sitter-language-pack"):
            try:
                parts.append(version(package))
            except PackageNotFoundError:
                parts.append("unknown")
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


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


class Builder:
    """Refreshes one store from one root.

    Args:
        store: The store.
        root: The resolved root.
        options: What shapes the index.
        embedder: The embedding model, or None for an index without vectors.
    """

    def __init__(self, store: Store, root: Path, options: BuildOptions, embedder: Embedder | None = None) -> None:
        self.store = store
        self.root = root
        self.options = options
        self.embedder = embedder
        self.gate = Gate(root, options.walk.max_file_bytes)

    def refresh(self, progress: ProgressCallback | None = None, timeout: float = 60.0) -> RefreshReport:
        """Bring the index to the state of the tree.

        Args:
            progress: Called with how far it is; an exception it raises cancels the refresh and keeps the old generation.
            timeout: Seconds to wait for another writer.

        Raises:
            IndexBusy: Another process went on writing for that long.
            IndexNotWritable: The index folder cannot be written.
        """
        report = progress or (lambda _: None)
        with self._writer(timeout):
            try:
                return self._refresh(report)
            except (sqlite3.OperationalError, OSError) as error:
                raise IndexNotWritable(f"The index could not be written: {type(error).__name__}.") from error

    @contextmanager
    def _writer(self, timeout: float) -> Iterator[None]:
        layout = self.store.layout
        if layout is None:
            yield
            return
        lock = FileLock(str(layout.lock), thread_local=False)
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            raise IndexBusy(f"Another process is writing this index{_owner(layout.owner)}.") from None
        try:
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            layout.owner.write_text(json.dumps({"pid": os.getpid(), "since": now}), "utf-8")
            yield
        finally:
            layout.owner.unlink(missing_ok=True)
            lock.release()

    def _refresh(self, progress: ProgressCallback) -> RefreshReport:
        catalog, lexical = self.store.catalog, self.store.lexical
        scanned_at = time.time_ns()
        files, gaps = self._scan(progress)
        meta = catalog.meta()
        known = catalog.files()
        fingerprint = self.options.fingerprint()
        stamp = meta.get("stamp", "")
        rebuild = meta.get("fingerprint") != fingerprint or (
            stamp != "" and lexical.snapshot(reload=True).stamp != stamp
        )
        try:
            with catalog.writing():
                plan = self._plan(files, known, rebuild, int(meta.get("scanned_ns", "0")))
                counts = self._apply(plan, gaps, progress, rebuild)
                same_gaps = sorted(map(repr, gaps)) == sorted(map(repr, catalog.gaps()))
                generation = int(meta.get("generation", "0"))
                is_new = bool(counts.added or counts.changed or counts.removed or not same_gaps or not stamp)
                head = read_head(find_repository(self.root))
                facts = {"commit": head.commit, "branch": head.branch}
                if is_new:
                    generation += 1
                    stamp = f"{generation}:{uuid.uuid4().hex}"
                    catalog.set_gaps(gaps)
                    catalog.update_priors()
                    catalog.prune_vectors()
                    facts |= {
                        "generation": str(generation),
                        "stamp": stamp,
                        "fingerprint": fingerprint,
                        "scanned_ns": str(scanned_at),
                        "scanned_at": _iso(scanned_at),
                        "mean_terms": repr(catalog.mean_terms()),
                        "tree_digest": _tree_digest(catalog.files()),
                    }
                    progress(Progress("publish", 0, 1))
                if any(meta.get(key) != value for key, value in facts.items()):
                    catalog.set_meta(facts)
                if is_new:
                    lexical.commit(stamp)
        finally:
            lexical.release()
        done, left, problem = self._embed_missing(progress)
        return replace(counts, generation=generation, embedded=done, unembedded=left, embedding_problem=problem)

    def _scan(self, progress: ProgressCallback) -> tuple[list[SourceFile], list[Gap]]:
        files: list[SourceFile] = []
        gaps: list[Gap] = []
        for found in walk(self.root, self.options.walk):
            if isinstance(found, SourceFile):
                files.append(found)
            else:
                gaps.append(found)
            if not (len(files) + len(gaps)) % 1000:
                progress(Progress("scan", len(files), 0))
        progress(Progress("scan", len(files), len(files)))
        return files, gaps

    def _plan(self, files: list[SourceFile], known: dict[str, FileRow], rebuild: bool, last_scan: int) -> _Plan:
        """Decide what must be read. Size and time only save the hashing, and only when the time cannot lie."""
        plan = _Plan()
        present = set()
        for file in files:
            present.add(file.path)
            row = known.get(file.path)
            is_same = row is not None and (row.size, row.mtime_ns) == (file.size, file.mtime_ns)
            if rebuild or not is_same or file.mtime_ns >= last_scan - _RACY_NS:
                plan.read.append((file, row))
        plan.removed = [row for path, row in known.items() if path not in present]
        return plan

    def _apply(self, plan: _Plan, gaps: list[Gap], progress: ProgressCallback, rebuild: bool) -> RefreshReport:
        catalog, lexical = self.store.catalog, self.store.lexical
        if rebuild:
            lexical.clear()
        if plan.removed:
            lexical.remove_files([row.id for row in plan.removed])
            catalog.remove_files([row.id for row in plan.removed])
        added = changed = 0
        removed = len(plan.removed)
        touched: list[SourceFile] = []
        for number, (file, row) in enumerate(plan.read):
            progress(Progress("parse", number, len(plan.read)))
            source = self.gate.read(file.path)
            if isinstance(source, Gap):
                gaps.append(source)
                if row is not None:
                    lexical.remove_files([row.id])
                    catalog.remove_files([row.id])
                    removed += 1
                continue
            if row is not None and row.hash == source.content_hash and not rebuild:
                if (row.size, row.mtime_ns) != (file.size, file.mtime_ns):
                    touched.append(file)
                continue
            if row is not None:
                if not rebuild:
                    lexical.remove_files([row.id])
                catalog.remove_files([row.id])
                changed += 1
            else:
                added += 1
            self._add(file, source, gaps)
        catalog.touch_files(touched)
        progress(Progress("parse", len(plan.read), len(plan.read)))
        return RefreshReport(0, added, changed, removed)

    def _add(self, file: SourceFile, source: Source, gaps: list[Gap]) -> None:
        catalog = self.store.catalog
        found = outline(file.path, source.text, self.options.max_chars)
        if found.problem:
            gaps.append(Gap(file.path, "unparsed", found.problem))
        file_id = catalog.add_file(
            file, hash=source.content_hash, language=found.language, category=categorise(file.path),
            encoding=source.encoding, redactions=source.redactions, structural=found.structural,
            lines=source.text.count("\n") + 1, path_key=path_key(file.path),
        )  # fmt: skip
        add_outline(self.store, file_id, file.path, found)

    # -- vectors -------------------------------------------------------------------------------------------------------

    def _embed_missing(self, progress: ProgressCallback) -> tuple[int, int, str]:
        """Embed the texts without a vector, batch by batch, so that a stop loses one batch and not the work.

        Returns:
            How many were embedded, how many were not, and the code of the error that ended it.
        """
        embedder, catalog = self.embedder, self.store.catalog
        if embedder is None:
            return 0, 0, ""
        missing = catalog.missing_vectors(embedder.model_id)
        done = 0
        problem = ""
        for start in range(0, len(missing), _EMBED_BATCH):
            progress(Progress("embed", start, len(missing)))
            batch = missing[start : start + _EMBED_BATCH]
            texts = self._texts([row for _, row in batch])
            pairs = [(key, texts[row]) for key, row in batch if row in texts]
            if not pairs:
                continue
            try:
                vectors = embedder.embed_texts([text for _, text in pairs])
            except EmbeddingError as error:
                problem = error.code
                break
            stored = [(key, unit(v).tobytes()) for (key, _), v in zip(pairs, vectors, strict=True) if v is not None]
            with catalog.writing():
                catalog.add_vectors(embedder.model_id, stored)
                catalog.set_meta({"vectors_stamp": uuid.uuid4().hex})
            done += len(stored)
        facts = {"embedding_model": embedder.model_id, "embedding_problem": problem}
        if any(catalog.meta().get(key) != value for key, value in facts.items()):
            with catalog.writing():
                catalog.set_meta(facts)
        return done, len(missing) - done, problem

    def _texts(self, rows: list[int]) -> dict[int, str]:
        """Return the embedded text of chunks, read from disk where it is still what was indexed."""
        found: dict[int, str] = {}
        sources: dict[str, list[str] | None] = {}
        for chunk in self.store.catalog.chunk_rows(rows):
            if chunk.path not in sources:
                source = self.gate.read(chunk.path)
                sources[chunk.path] = split_lines(source.text) if isinstance(source, Source) else None
            lines = sources[chunk.path]
            if lines is None:
                continue
            text = "".join(lines[chunk.start_line - 1 : chunk.end_line])[chunk.offset : chunk.offset + chunk.length]
            if text_hash(text) == chunk.hash:
                found[chunk.row] = embedded_text(text, chunk.context)
        return found


@dataclass(slots=True)
class _Plan:
    read: list[tuple[SourceFile, FileRow | None]] = field(default_factory=list)
    removed: list[FileRow] = field(default_factory=list)


def add_outline(store: Store, file_id: int, path: str, found: Outline) -> list[int]:
    """Store the chunks, symbols and references of one file in catalog and full text; return the chunks' rows."""
    new_chunks: list[NewChunk] = []
    bodies: list[str] = []
    identities = chunk_ids(path, found.chunks)
    for chunk, identity in zip(found.chunks, identities, strict=True):
        counted = chunk_terms(chunk.text, path, chunk.scope, chunk.symbol)
        new_chunks.append(
            NewChunk(
                chunk_id=identity,
                ordinal=chunk.ordinal,
                start_line=chunk.start_line,
                end_line=chunk.end_line,
                offset=chunk.offset,
                length=len(chunk.text),
                symbol=chunk.symbol,
                kind=chunk.kind,
                scope=chunk.scope,
                context=chunk.context,
                part=chunk.part,
                hash=text_hash(chunk.text),
                embed_hash=text_hash(embedded_text(chunk.text, chunk.context)),
                terms=sum(counted.values()),
                bag=pack_bag(counted),
            )
        )
        bodies.append(" ".join(counted.elements()))
    rows = store.catalog.add_chunks(file_id, new_chunks)
    placed = list(_place(found.symbols, found.chunks, rows))
    store.catalog.add_symbols(file_id, placed)
    store.catalog.add_references(file_id, found.references)
    kinds: dict[int, set[str]] = {row: {chunk.kind} for row, chunk in zip(rows, found.chunks, strict=True)}
    for symbol, row in placed:
        if row in kinds:
            kinds[row].add(symbol.kind)
    documents: list[Document] = [(row, file_id, kinds[row], body) for row, body in zip(rows, bodies, strict=True)]
    store.lexical.add(documents)
    return rows


def _place(symbols: Iterable[Symbol], chunks: tuple[Chunk, ...], rows: list[int]) -> Iterator[tuple[Symbol, int]]:
    """Pair each symbol with the row of the chunk that holds its name."""
    by_line: dict[int, int] = {}
    for chunk, row in zip(chunks, rows, strict=True):
        for line in range(chunk.start_line, chunk.end_line + 1):
            by_line.setdefault(line, row)
    for symbol in symbols:
        yield symbol, by_line.get(symbol.name_line, by_line.get(symbol.start_line, 0))


def chunk_ids(path: str, chunks: Iterable[Chunk]) -> list[str]:
    """Return deterministic ids: path, symbol, content, and a number where those are the same. No line is in them."""
    seen: dict[str, int] = {}
    ids = []
    for chunk in chunks:
        base = f"{path}#{chunk.symbol}@{text_hash(chunk.text)[:16]}"
        seen[base] = seen.get(base, -1) + 1
        ids.append(f"{base}.{seen[base]}" if seen[base] else base)
    return ids


def text_hash(text: str) -> str:
    """Return the hash by which a text is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def embedded_text(text: str, context: str) -> str:
    """Return what the embedder is given: the text below the header of what encloses it; no path, no line number."""
    return f"{context}\n{text}" if context else text


def path_key(path: str) -> str:
    """Return the form in which paths are looked up: composed characters, folded case."""
    return unicodedata.normalize("NFC", path).casefold()


def _tree_digest(files: dict[str, FileRow]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{files[path].hash}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _iso(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc).isoformat(timespec="seconds")


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text("utf-8"))
        return f" (process {int(owner['pid'])}, since {str(owner['since'])[:25]})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
