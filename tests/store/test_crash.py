"""After a kill, a full disk or damage the index is generation N or N+1, whole, or is made anew and says so."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import IndexDamaged, IndexNotWritable
from llama_index_codeindex.engine.store import lexical
from llama_index_codeindex.engine.store.builder import Progress
from llama_index_codeindex.engine.store.store import Store, View
from tests.store.conftest import Open
from tests.store.crash_child import text_of, write_version
from tests.store.support import CountingEmbedder, answers, contents, make_repository

KILLS = int(os.environ.get("CODEINDEX_KILLS", "12"))
QUESTIONS = ("open door", "close_door", "Window.tilt", "window angle")
FILES: dict[str, str | bytes] = {
    "app.py": "def open_door(key):\n    return key.turn()\n\n\ndef close_door(key):\n    return key.back()\n",
    "lib/window.py": "class Window:\n    def tilt(self):\n        return self.angle\n",
}


def run_child(root: Path, cache: Path, *, limit: int = 0) -> subprocess.Popen[bytes]:
    code = "import tests.store.crash_child as child, sys; child.main(*sys.argv[1:])"
    if limit:
        code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {code}"
    here = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(here), os.environ.get("PYTHONPATH", "")))}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root), str(cache)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def count(view: View, table: str) -> int:
    return int(view.catalog.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def versions_of(codebase: Codebase) -> set[str]:
    return {row[2].split("_")[1] for row in contents(codebase)["symbols"]}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_at_any_point_it_is_one_generation_whole(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    root.mkdir()
    cache.mkdir()
    chance = random.Random(os.environ.get("CODEINDEX_SEED", "1"))
    (cache / "version").write_text("0")
    write_version(root, 0)
    first = Codebase(root, cache, CountingEmbedder())
    first.refresh()
    first.close()
    between = 0
    for _ in range(KILLS):
        with run_child(root, cache) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.4))  # the point at which it is killed
            child.kill()
            child.wait()
            assert child.stderr is not None
            assert child.stderr.read() == b""
        last = int((cache / "version").read_text())
        codebase = Codebase(root, cache, CountingEmbedder())
        try:
            # What was published last, before anything is repaired: one version, in every lane.
            (version,) = versions_of(codebase)
            assert int(version) in (last - 1, last)
            between += int(version) != last
            found = codebase.search(f"version_{version}_of_3_2")
            assert found.watermark.generation > 0
            assert "lexical_unavailable" not in found.degraded_reasons
            assert codebase.store.repairs == []
            with codebase.store.read() as view:
                assert view.lexical is not None
                assert view.lexical.documents == count(view, "chunks")
                rows = [row for row, _ in view.lexical.search([("version", 1.0)], 1000)]
                assert len(view.catalog.chunk_rows(rows)) == len(rows) == count(view, "chunks")
            # And the next refresh brings it to the tree, which the kill left between two versions.
            write_version(root, last)
            codebase.refresh()
            assert versions_of(codebase) == {str(last)}
            hit = codebase.search(f"version_{last}_of_3_2").hits[0]
            assert (hit.file_path, hit.stale) == ("part_3.py", False)
            assert codebase.status().state == "current"
            assert codebase.refresh().is_noop
        finally:
            codebase.close()
    assert text_of(1, 2) != text_of(2, 2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", FILES)


@pytest.fixture
def built(root: Path, tmp_path: Path) -> Path:
    """An index folder that was closed in peace."""
    codebase = Codebase(root, tmp_path / "cache", CountingEmbedder())
    codebase.refresh()
    folder = codebase.store.layout.folder  # type: ignore[union-attr]
    codebase.close()
    return folder


@pytest.fixture
def expected(root: Path, tmp_path: Path) -> Iterator[dict[str, object]]:
    fresh = Codebase(root, tmp_path / "fresh", CountingEmbedder())
    fresh.refresh()
    yield {"contents": contents(fresh), "answers": answers(fresh, QUESTIONS)}
    fresh.close()


def change(built: Path, statement: str) -> None:
    connection = sqlite3.connect(built / "catalog.sqlite3")
    assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM segments",
        "UPDATE segments SET rows = substr(rows, 1, 8)",
        "UPDATE segments SET rows = substr(rows, 2)",
        "UPDATE segments SET lengths = x''",
        "UPDATE segments SET gone = x'ffffffff'",
        "UPDATE segments SET rows = 'text'",
        "UPDATE segments SET gone = 7",
        "UPDATE meta SET value = 'many' WHERE key = 'documents'",
    ],
)
def test_a_damaged_full_text_is_noticed_and_made_anew(
    statement: str, root: Path, built: Path, tmp_path: Path, expected: dict[str, object]
) -> None:
    change(built, statement)
    embedder = CountingEmbedder()
    codebase = Codebase(root, tmp_path / "cache", embedder)
    before = codebase.search("open_door")
    assert "lexical_unavailable" in before.degraded_reasons
    assert before.watermark.state == "partial"
    assert before.hits  # from the catalog's other lanes
    embedder.seen.clear()
    codebase.refresh()
    assert "lexical_rebuilt" in codebase.search("open_door").degraded_reasons
    assert embedder.seen == []  # the vectors were not lost
    assert contents(codebase) == expected["contents"]
    assert answers(codebase, QUESTIONS) == expected["answers"]
    codebase.close()


@pytest.mark.parametrize("entries", ["x''", "x'ff'", "x'ffffff'", "zeroblob(4)", "'text'", "7"])
def test_damaged_postings_are_an_error_and_then_made_anew(
    entries: str, root: Path, built: Path, tmp_path: Path, expected: dict[str, object]
) -> None:
    change(built, f"UPDATE postings SET entries = {entries}")
    codebase = Codebase(root, tmp_path / "cache", CountingEmbedder())
    with pytest.raises(IndexDamaged):
        codebase.search("open_door")
    codebase.refresh()
    assert "catalog_rebuilt" in codebase.search("open_door").degraded_reasons
    assert contents(codebase) == expected["contents"]
    assert answers(codebase, QUESTIONS) == expected["answers"]
    codebase.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE segments SET lengths = x''",
        "UPDATE postings SET entries = x'ffffff'",
        "UPDATE postings SET entries = zeroblob(4)",
        "UPDATE postings SET entries = 7",
    ],
)
def test_damage_that_a_refresh_meets_first_is_made_anew(
    statement: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "_SIDE_BY_SIDE", 2)  # every refresh joins segments, and so reads their postings
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    codebase.search("open_door")
    change(codebase.folder, statement)
    (root / "more.py").write_text("def open_gate(key):\n    return key\n")
    codebase.refresh()
    found = codebase.search("open_gate")
    assert found.hits[0].file_path == "more.py"
    assert "catalog_rebuilt" in found.degraded_reasons
    assert len(codebase.search("open_door").hits) > 1
    codebase.close()


@pytest.mark.parametrize("error", [sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.OperationalError])
def test_an_error_that_is_no_damage_costs_nothing(error: type[sqlite3.Error], root: Path, tmp_path: Path) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()

    def count(_: str) -> int:
        raise error("of the caller's own database")

    def stop(_: Progress) -> None:
        raise error("of the caller's own database")

    with pytest.raises(error):
        codebase.repo_map(counter=count)
    (root / "more.py").write_text("def open_gate(key):\n    return key\n")
    with pytest.raises(error):
        codebase.refresh(stop)
    assert codebase.generation == 1
    assert codebase.search("open_door").hits
    assert codebase.store.repairs == []
    codebase.close()


def test_a_late_reader_of_a_damaged_index_leaves_the_new_one_alone(root: Path, built: Path, tmp_path: Path) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    seen = codebase.store.identity
    change(built, "UPDATE postings SET entries = x'ff'")
    with pytest.raises(IndexDamaged):
        codebase.search("open_door")
    codebase.refresh()
    if codebase.store.identity != seen:  # a file system may give the new file the number of the old one
        codebase.store.repair(seen)
        assert codebase.search("open_door").hits
    codebase.close()


def test_closing_while_others_read_harms_nobody(root: Path, tmp_path: Path) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    problems: list[Exception] = []
    started, stop = threading.Barrier(5), threading.Event()

    def read() -> None:
        started.wait()
        while not stop.is_set():
            try:
                assert codebase.generation == 1
                codebase.gaps()
            except Exception as error:
                problems.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    for _ in range(50):
        codebase.close()
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
    codebase.close()


def damaged(data: bytes, damage: str) -> bytes:
    return {
        "empty": b"",
        "garbage": b"not a database" * 500,
        "truncated": data[: len(data) // 2 // 4096 * 4096],
        "cut in a page": data[: len(data) - 1000],
        "zeroed": data[:4096] + bytes(4096 * 6) + data[4096 * 7 :],
        "header": bytes(100) + data[100:],
    }[damage]


@pytest.mark.parametrize("damage", ["empty", "garbage", "truncated", "cut in a page", "zeroed", "header"])
def test_a_damaged_catalog_is_made_anew_and_says_so(
    damage: str, root: Path, built: Path, tmp_path: Path, expected: dict[str, object]
) -> None:
    path = built / "catalog.sqlite3"
    path.write_bytes(damaged(path.read_bytes(), damage))
    codebase = Codebase(root, tmp_path / "cache", CountingEmbedder())
    empty = codebase.search("open_door")
    assert (empty.hits, empty.watermark.generation) == ([], 0)
    assert "catalog_rebuilt" in empty.degraded_reasons
    assert codebase.status().state == "indexing"
    codebase.refresh()
    assert "catalog_rebuilt" in codebase.search("open_door").degraded_reasons
    assert contents(codebase) == expected["contents"]
    assert answers(codebase, QUESTIONS) == expected["answers"]
    codebase.close()


def test_a_deleted_catalog_is_made_anew_and_says_so(root: Path, built: Path, tmp_path: Path) -> None:
    (built / "catalog.sqlite3").unlink()
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    found = codebase.search("open_door")
    assert found.hits
    assert "catalog_rebuilt" in found.degraded_reasons
    codebase.close()


def test_a_torn_log_leaves_an_older_generation_or_a_rebuild(
    root: Path, tmp_path: Path, expected: dict[str, object]
) -> None:
    """As after a power cut: the folder is copied while it is open, and the end of the log is missing."""
    codebase = Codebase(root, tmp_path / "cache", CountingEmbedder())
    codebase.refresh()
    folder = codebase.store.layout.folder  # type: ignore[union-attr]
    (root / "extra.py").write_text("def third_door():\n    return 3\n")
    codebase.refresh()
    (root / "extra.py").unlink()
    log = folder / "catalog.sqlite3-wal"
    size = log.stat().st_size
    assert size > 0
    for keep in (0, 100, size // 4, size // 2, size - 5000, size - 1):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "cache", copy)
        target = copy / folder.name / log.name
        target.write_bytes(target.read_bytes()[:keep])
        (copy / folder.name / "catalog.sqlite3-shm").unlink(missing_ok=True)
        opened = Codebase(root, copy, CountingEmbedder())
        generation = opened.generation
        assert generation in (0, 1, 2)
        found = opened.search("open_door")
        assert found.hits or found.watermark.state == "indexing"
        opened.refresh()
        assert contents(opened) == expected["contents"]
        assert answers(opened, QUESTIONS) == expected["answers"]
        opened.close()
        shutil.rmtree(copy)
    codebase.close()


def test_damage_that_appears_while_it_is_open_is_an_error_and_then_repaired(root: Path, opened: Open) -> None:
    codebase = opened(root)
    codebase.refresh()
    connection = sqlite3.connect(codebase.store.layout.catalog)  # type: ignore[union-attr]
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    path = codebase.store.layout.catalog  # type: ignore[union-attr]
    path.write_bytes(bytes(len(path.read_bytes())))
    codebase.refresh()
    found = codebase.search("open_door")
    assert found.hits[0].file_path == "app.py"
    assert "catalog_rebuilt" in found.degraded_reasons


def test_a_catalog_of_another_version_is_replaced(root: Path, built: Path, opened: Open) -> None:
    connection = sqlite3.connect(built / "catalog.sqlite3")
    connection.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
    connection.commit()
    connection.close()
    codebase = opened(root)
    assert codebase.generation == 0
    codebase.refresh()
    assert codebase.search("open_door").hits


def test_a_commit_that_fails_keeps_the_old_generation(
    root: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    codebase = opened(root)
    codebase.refresh()
    (root / "app.py").write_text("def swing_hinge():\n    return 1\n")
    finish = Store.finish

    def full(self: Store) -> dict[str, str]:
        finish(self)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "finish", full)
        with pytest.raises(IndexNotWritable):
            codebase.refresh()
    assert (codebase.status().state, codebase.generation) == ("failed", 1)
    found = codebase.search("open_door")
    assert (found.hits[0].file_path, found.hits[0].stale, found.watermark.state) == ("app.py", True, "failed")
    other = opened(root)  # another process would see it too
    assert other.status().state == "failed"
    codebase.refresh()
    assert (codebase.status().state, other.status().state, codebase.generation) == ("current", "current", 2)
    assert codebase.search("swing_hinge").hits[0].stale is False


@pytest.mark.skipif(sys.platform == "win32", reason="needs file size limits")
def test_a_full_disk_keeps_the_old_generation(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    root.mkdir()
    cache.mkdir()
    (cache / "version").write_text("0")
    write_version(root, 0, files=2)
    codebase = Codebase(root, cache, CountingEmbedder())
    codebase.refresh()
    before = contents(codebase)
    for limit in (100, 2_000, 30_000, 100_000):
        with run_child(root, cache, limit=limit) as child:
            _, errors = child.communicate(timeout=60)
        assert child.returncode not in (0, -signal.SIGSEGV)
        assert b"panicked" not in errors
        with codebase.store.read() as view:
            assert view.lexical is not None
            assert view.lexical.documents == count(view, "chunks") == view.chunks
            assert count(view, "files") == view.files
    codebase.refresh()
    assert codebase.status().state == "current"
    assert len(versions_of(codebase)) == 1
    assert before
    codebase.close()


@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(os, "geteuid"), reason="needs another user")
def test_a_read_only_folder_still_answers(root: Path, built: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from llama_index_codeindex.engine.codebase import Codebase\n"
        "from llama_index_codeindex.engine.store.builder import BuildOptions\n"
        "BuildOptions().fingerprint()  # what it imports may be out of the other user's reach\n"
        "if os.geteuid() == 0: os.setgid(65534), os.setuid(65534)\n"
        "codebase = Codebase(sys.argv[1], sys.argv[2])\n"
        "found = codebase.search('open_door key')\n"
        "assert found.hits[0].file_path == 'app.py', found\n"
        "assert 'lexical' in found.hits[0].lanes, found\n"
        "assert codebase.refresh().is_noop\n"
        "codebase.close()\n"
        "print('fine')\n"
    )
    changed = [tmp_path, *tmp_path.parents][:4]
    modes = {path: path.stat().st_mode for path in [*changed, *(tmp_path / "cache").rglob("*"), tmp_path / "cache"]}
    try:
        for path in changed:
            path.chmod(path.stat().st_mode | 0o755)
        for path in [*(tmp_path / "cache").rglob("*"), tmp_path / "cache"]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "GIT_CONFIG_COUNT": "1"}
        environment |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "TMPDIR": "/tmp"}
        done = subprocess.run(
            [sys.executable, "-c", code, root, tmp_path / "cache"], capture_output=True, env=environment
        )
        assert done.stdout == b"fine\n", done.stderr.decode()
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def test_an_index_cannot_be_made_where_nothing_can_be_written(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(IndexNotWritable) as caught:
        Codebase(root, tmp_path / "file")
    assert str(tmp_path) not in caught.value.message


def test_two_that_repair_at_once_make_one_catalog(root: Path, built: Path, tmp_path: Path) -> None:
    (built / "catalog.sqlite3").write_bytes(b"garbage" * 1000)
    start = threading.Barrier(4)
    found: list[int] = []

    def work() -> None:
        start.wait()
        codebase = Codebase(root, tmp_path / "cache")
        codebase.refresh()
        found.append(len(codebase.search("open_door").hits))
        codebase.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(found)
