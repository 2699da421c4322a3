"""Refreshing an index: from what the walk finds to the next generation, published at once or not at all."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import uuid
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from llama_index_codeindex.engine.errors import CodeIndexError, IndexBusy, IndexDamaged, IndexNotWritable
from llama_index_codeindex.engine.files.categories import categorise
from llama_index_codeindex.engine.model import Gap, Source, count_gaps
from llama_index_codeindex.engine.store.catalog import FileRow, file_key
from llama_index_codeindex.engine.store.connections import is_damage, reason
from llama_index_codeindex.engine.store.contents import Parsed, parse_file, path_key
from llama_index_codeindex.engine.store.embedding import SMALL, Embedding
from llama_index_codeindex.engine.store.locking import writer_lock
from llama_index_codeindex.engine.store.options import (
    BuildOptions,
    Embedder,
    Progress,
    ProgressCallback,
    RefreshReport,
)
from llama_index_codeindex.engine.store.priors import Priors
from llama_index_codeindex.engine.store.store import Store
from llama_index_codeindex.engine.store.tree import DiskTree, Entry, Tree, let_settle
from llama_index_codeindex.engine.store.workers import Workers, suitable_workers

__all__ = [
    "BuildOptions",
    "Builder",
    "Embedder",
    "Progress",
    "ProgressCallback",
    "RefreshReport",
]

# Gaps that only the content explains; they hold as long as the content does. Others are looked at each time.
_NOT_KEPT = frozenset(("unreadable", "link_outside", "denied"))

StampedGap = tuple[Gap, str]


@dataclass(slots=True)
class Survey:
    """How the tree differs from the index, found without reading what has not changed."""

    started_ns: int
    floor_ns: int  # nothing was read before
    meta: dict[str, str]
    facts: dict[str, str]
    gaps: list[StampedGap]
    known_gaps: list[StampedGap]
    read: list[tuple[Entry, FileRow | None]] = field(default_factory=list)
    touched: list[tuple[str, int, str]] = field(default_factory=list)
    removed: list[FileRow] = field(default_factory=list)
    rebuild: bool = False
    anew: bool = False  # the full text has to be made anew

    @property
    def is_tree_changed(self) -> bool:
        """Whether the next generation may differ from this one."""
        return bool(self.rebuild or self.read or self.removed or not self.meta.get("stamp") or self.differs_in_gaps)

    @property
    def differs_in_gaps(self) -> bool:
        """Whether other things are left out, or for other reasons."""
        return [gap for gap, _ in self.gaps] != [gap for gap, _ in self.known_gaps]

    @property
    def is_noted(self) -> bool:
        """Whether the index says all this already."""
        same = all(self.meta.get(key, "") == value for key, value in self.facts.items())
        return same and not self.touched and self.gaps == self.known_gaps


class _Stopped(BaseException):
    """The caller's own progress callback raised."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class Builder:
    """Refreshes one store from one tree.

    Args:
        store: The store.
        root: The resolved root.
        options: What shapes the index.
        embedder: The embedding model, or None for an index without vectors.
        tree: Where the files come from; the root's files on disk by default.
    """

    def __init__(
        self,
        store: Store,
        root: Path,
        options: BuildOptions,
        embedder: Embedder | None = None,
        tree: Tree | None = None,
    ) -> None:
        self.store = store
        self.options = options
        self.tree = tree or DiskTree(root, options.walk)
        self._chunks = 0  # made by the refresh that is under way
        self.embedding = Embedding(store, self.tree, embedder) if embedder is not None else None

    def refresh(
        self, progress: ProgressCallback | None = None, timeout: float = 60.0, *, verify: bool = False
    ) -> RefreshReport:
        """Bring the index to the state of the tree.

        Args:
            progress: Called with how far it is; an exception it raises cancels the refresh and keeps the old generation.
            timeout: Seconds to wait for another writer.
            verify: Compare every file's content, not only that of files whose size, times or inode differ.

        Raises:
            IndexBusy: Another writer went on for that long.
            IndexNotWritable: The index folder cannot be written.
            IndexDamaged: The index is damaged, and stays so after it was replaced.
        """
        began: dict[str, float] = {}

        def report(made: Progress) -> None:
            spent = time.monotonic() - began.setdefault(made.stage, time.monotonic())
            left = spent / made.done * (made.total - made.done) if made.done and made.total else None
            try:
                if progress is not None:
                    progress(replace(made, chunks=self._chunks, seconds_left=left))
            except BaseException as error:
                raise _Stopped(error) from error

        self._chunks = 0
        try:
            done = self._guarded(report, timeout, verify)
        except _Stopped as stopped:
            raise stopped.cause from None
        except IndexBusy:
            raise
        except Exception as error:
            self._note_failure(error.code if isinstance(error, CodeIndexError) else CodeIndexError.code)
            raise
        self.store.failure = ""
        return done

    def _note_failure(self, code: str) -> None:
        """Say in the index, where that is still possible, that its generation could not be followed by another."""
        self.store.failure = code
        catalog = self.store.catalog
        with (
            suppress(sqlite3.Error, OSError, CodeIndexError), writer_lock(self.store.layout, 0.0), catalog.writing()
        ):  # fmt: skip
            catalog.set_meta({"failed": code})

    def _guarded(self, progress: ProgressCallback, timeout: float, verify: bool) -> RefreshReport:
        try:
            self.store.check()
            seen = self.store.identity
            try:
                return self._refresh(progress, timeout, verify)
            except sqlite3.DatabaseError as error:
                if isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError)):
                    raise
                self.store.repair(seen, is_certain=is_damage(error))
                return self._refresh(progress, timeout, verify)
        except (sqlite3.OperationalError, OSError) as error:
            raise IndexNotWritable(f"The index could not be written: {reason(error)}.") from error
        except sqlite3.DatabaseError as error:
            raise IndexDamaged("The index is damaged.") from error

    def _refresh(self, progress: ProgressCallback, timeout: float, verify: bool) -> RefreshReport:
        survey = self.survey(progress, verify=verify)
        self.store.verified_at = max(self.store.verified_at, _iso(survey.started_ns))
        generation = int(survey.meta.get("generation", "0"))
        if not survey.is_tree_changed and survey.is_noted and not self._has_unembedded(survey.meta):
            return RefreshReport(generation)
        with writer_lock(self.store.layout, timeout):
            self.store.check()
            with self.store.read() as view:
                is_beaten = view.meta != survey.meta
            if is_beaten:  # another writer was faster
                survey = self.survey(progress, verify=verify)
            try:
                report = self._write(survey, progress)
            finally:
                self.store.end()
            if self.embedding is None:
                return report
            done, left, problem = self.embedding.run(progress)
            return replace(report, embedded=report.embedded + done, unembedded=left, embedding_problem=problem)

    def _has_unembedded(self, meta: dict[str, str]) -> bool:
        return self.embedding is not None and not self.embedding.is_complete(meta)

    # -- what changed --------------------------------------------------------------------------------------------------

    def survey(self, progress: ProgressCallback | None = None, *, verify: bool = False, read: bool = True) -> Survey:
        """Compare the tree with the index.

        Args:
            progress: Called with how far it is.
            verify: Compare every file's content.
            read: Compare the content of files that look changed; else they count as changed.
        """
        started = time.time_ns()
        entries, walked = self.tree.scan(progress or (lambda _: None))
        floor = let_settle(entries) if read else started
        head = self.tree.head()
        with self.store.read() as view:
            catalog, meta = view.catalog, view.meta
            known, known_gaps = catalog.files(), catalog.stamped_gaps()
            lost = bool(meta.get("stamp")) and view.lexical is None
        found = Survey(
            started, floor, meta, {"commit": head.commit, "branch": head.branch, "failed": ""},
            [(gap, "") for gap in walked], known_gaps,
        )  # fmt: skip
        found.anew = lost
        found.rebuild = lost or (bool(meta.get("stamp")) and meta.get("fingerprint") != self.options.fingerprint())
        last = 0 if verify or found.rebuild else int(meta.get("scanned_ns", "0"))
        old_gaps: dict[str, list[StampedGap]] = {}
        unread = {gap.path: gap for gap, stamp in known_gaps if gap.reason in _NOT_KEPT}
        for gap, stamp in known_gaps:
            if stamp:
                old_gaps.setdefault(gap.path, []).append((gap, stamp))
        for entry in entries:
            path = entry.file.path
            row, gaps = known.pop(path, None), old_gaps.get(path, [])
            stamp = row.stamp if row is not None else gaps[0][1] if gaps else ""
            same = stamp == entry.stamp
            if not same or found.rebuild or entry.settled_ns > last:
                same = False
                if row is not None and not found.rebuild and read:
                    source = self.tree.read(path)
                    same = isinstance(source, Source) and source.content_hash == row.hash
                    if same and stamp != entry.stamp:
                        found.touched.append((path, entry.file.size, entry.stamp))
            if same:
                found.gaps.extend((gap, entry.stamp) for gap, _ in gaps)
            elif read and row is None and path in unread and self.tree.read(path) == unread[path]:
                found.gaps.append((unread[path], ""))
            else:
                found.read.append((entry, row))
        found.removed = list(known.values())
        found.gaps.sort(key=_gap_order)
        return found

    # -- the next generation -------------------------------------------------------------------------------------------

    def _write(self, survey: Survey, progress: ProgressCallback) -> RefreshReport:
        store, catalog, meta = self.store, self.store.catalog, survey.meta
        generation = int(meta.get("generation", "0"))
        if not survey.is_tree_changed and survey.is_noted:
            return RefreshReport(generation)
        with catalog.writing():
            is_anew = survey.rebuild or not meta.get("stamp")
            store.begin(anew=is_anew, damaged=survey.anew)
            if is_anew:
                # Rows follow from paths: in their order, a table grows at its end.
                survey.read.sort(key=lambda pair: file_key(pair[0].file.path))
            priors = Priors(catalog.connection)
            counts = self._apply(survey, progress, priors)
            if is_anew:
                catalog.create_indexes()
            is_new = bool(
                is_anew or counts.added or counts.changed or counts.removed or survey.differs_in_gaps
            )  # fmt: skip
            facts = dict(survey.facts)
            if survey.gaps != survey.known_gaps:
                catalog.set_gaps(survey.gaps)
                facts["gaps"] = json.dumps(count_gaps([gap for gap, _ in survey.gaps]))
            catalog.touch_files(survey.touched)
            if is_new or survey.touched or survey.gaps != survey.known_gaps:
                facts |= {"scanned_ns": str(survey.floor_ns), "scanned_at": _iso(survey.started_ns)}
            if is_new:
                generation += 1
                if self.embedding is not None and meta.get("stamp"):
                    # Embed before the old version goes, where that is quick; the rest follows in batches.
                    counts = replace(counts, embedded=self.embedding.run_inside(progress, SMALL))
                progress(Progress("publish", 0, 1))
                priors.update()
                catalog.vectors.prune()
                facts |= {
                    "generation": str(generation),
                    "stamp": f"{generation}:{uuid.uuid4().hex}",
                    "fingerprint": self.options.fingerprint(),
                    "root": store.root,
                    "tree_digest": _tree_digest(catalog.files()),
                    **store.finish(),
                }
            changed = {key: value for key, value in facts.items() if meta.get(key, "") != value}
            if changed:
                catalog.set_meta(changed)
        if is_new:
            progress(Progress("publish", 1, 1))
        return replace(counts, generation=generation)

    def _apply(self, survey: Survey, progress: ProgressCallback, priors: Priors) -> RefreshReport:
        added = changed = 0
        removed = len(survey.removed)
        self._remove(survey.removed, survey, priors)
        with closing(self._parsed([entry.file.path for entry, _ in survey.read])) as parsed:
            for number, ((entry, row), found) in enumerate(zip(survey.read, parsed, strict=True)):
                progress(Progress("parse", number, len(survey.read)))
                if row is not None:
                    self._remove([row], survey, priors)
                if isinstance(found, Gap):
                    survey.gaps.append((found, "" if found.reason in _NOT_KEPT else entry.stamp))
                    removed += row is not None
                    continue
                changed += row is not None
                added += row is None
                priors.note([self._add(entry, found, survey)])
        progress(Progress("parse", len(survey.read), len(survey.read)))
        survey.gaps.sort(key=_gap_order)
        return RefreshReport(0, added, changed, removed)

    def _parsed(self, paths: list[str]) -> Generator[Parsed | Gap, None, None]:
        """Yield what is in each file, from workers where the files are many and on disk."""
        count = suitable_workers(len(paths)) if self.options.workers is None else self.options.workers
        if count and isinstance(self.tree, DiskTree):
            with Workers(self.tree.gate, self.options.max_chars, count) as workers:
                yield from workers.parse(paths)
        else:
            for path in paths:
                yield parse_file(self.tree.read, path, self.options.max_chars)

    def _remove(self, rows: list[FileRow], survey: Survey, priors: Priors) -> None:
        if rows and not survey.rebuild:  # which started over
            priors.note([row.id for row in rows])
            self.store.remove_files([row.id for row in rows])

    def _add(self, entry: Entry, found: Parsed, survey: Survey) -> int:
        """Store one file, and return its id."""
        path, content = entry.file.path, found.content
        if content.problem:
            survey.gaps.append((Gap(path, "unparsed", content.problem), entry.stamp))
        file_id = self.store.catalog.add_file(
            entry.file, hash=found.hash, language=content.language, category=categorise(path), encoding=found.encoding,
            redactions=found.redactions, structural=content.structural, lines=content.lines, path_key=path_key(path),
            stamp=entry.stamp,
        )  # fmt: skip
        self._chunks += len(self.store.add_content(file_id, content))
        return file_id


def _gap_order(stamped: StampedGap) -> tuple[str, str, str]:
    gap, _ = stamped
    return gap.path, gap.reason, gap.detail


def _tree_digest(files: dict[str, FileRow]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{files[path].hash}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _iso(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc).isoformat(timespec="seconds")
