"""Many readers, one writer: no answer mixes two generations, no reader waits for a writer, nothing leaks."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import EmbeddingUnavailable, IndexBusy
from llama_index_codeindex.engine.model import SearchResult
from llama_index_codeindex.engine.search.turns import in_turn
from llama_index_codeindex.engine.store.connections import MAX_READERS, Connections
from llama_index_codeindex.engine.store.locking import writer_lock
from llama_index_codeindex.engine.store.vectors import Vector
from llama_index_codeindex.indices import CodeIndex
from tests.store.support import CountingEmbedder, write

FILES = 8


def write_version(root: Path, version: int) -> None:
    """Write files whose every symbol names the version; version N becomes generation N."""
    write(root, {
        f"part_{number}.py": f"def door_v{version}_{number}(value):\n    return open_gate_{version}(value)\n"
        for number in range(FILES)
    })  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    write_version(root, 1)
    return root


@pytest.fixture
def codebase(root: Path, tmp_path: Path) -> Iterator[Codebase]:
    codebase = Codebase(root, tmp_path / "cache", CountingEmbedder())
    codebase.refresh()
    yield codebase
    codebase.close()


def check_one_generation(result: SearchResult) -> None:
    """Every hit names the generation of the watermark: version N was indexed as generation N."""
    generation = result.watermark.generation
    found = {int(match[1]) for hit in result.hits if (match := re.match(r"door_v(\d+)_", hit.symbol))}
    assert found == {generation}, (found, generation)
    assert result.watermark.files == FILES
    assert result.watermark.embedded_share == 1.0
    assert result.degraded_reasons == []
    assert all({"lexical", "dense"} <= set(hit.lanes) for hit in result.hits)


def test_128_readers_while_generations_change(codebase: Codebase, root: Path) -> None:
    go, done = threading.Event(), threading.Event()
    problems: list[BaseException] = []
    generations: set[int] = set()
    asked = [0] * 128

    def read(number: int) -> None:
        go.wait()
        try:
            while not done.is_set() or not asked[number]:
                result = codebase.search("door gate", top_k=FILES)
                check_one_generation(result)
                generations.add(result.watermark.generation)
                asked[number] += 1
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(128)]
    for thread in threads:
        thread.start()
    go.set()
    try:
        for version in range(2, 8):
            write_version(root, version)
            assert codebase.refresh().generation == version
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not problems, problems[0]
    assert min(asked) >= 1
    assert len(generations) > 1
    assert codebase.search("door").watermark.generation == 7


_READER = """
import sys
from llama_index_codeindex.engine.codebase import Codebase
from tests.store.support import CountingEmbedder
from tests.test_concurrency import check_one_generation
codebase = Codebase(sys.argv[1], sys.argv[2], CountingEmbedder())
print("ready", flush=True)
seen = set()
while 6 not in seen:
    result = codebase.search("door gate", top_k=8)
    check_one_generation(result)
    seen.add(result.watermark.generation)
codebase.close()
print("done", flush=True)
"""


def test_readers_in_other_processes_see_whole_generations(codebase: Codebase, root: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    readers = [
        subprocess.Popen(
            [sys.executable, "-W", "error::ResourceWarning", "-c", _READER, root, tmp_path / "cache"], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"ready\n"
    for version in range(2, 7):
        write_version(root, version)
        codebase.refresh()
    for reader in readers:
        output, errors = reader.communicate(timeout=60)
        assert (output, errors) == (b"done\n", b"")


def test_a_reader_keeps_its_generation_while_two_more_are_published(codebase: Codebase, root: Path) -> None:
    with codebase.store.read() as view:
        assert view.lexical is not None
        for version in (2, 3, 4):
            write_version(root, version)
            thread = threading.Thread(target=codebase.refresh)
            thread.start()
            thread.join()
        rows = [row for row, _ in view.lexical.search([("door", 1.0)], 100)]
        symbols = {chunk.symbol for chunk in view.catalog.chunk_rows(rows)}
        assert symbols == {f"door_v1_{number}" for number in range(FILES)}
        assert view.generation == 1
    assert codebase.generation == 4


def test_one_writer_at_a_time_and_the_other_waits(codebase: Codebase, root: Path, tmp_path: Path) -> None:
    write_version(root, 2)
    other = Codebase(root, tmp_path / "cache", CountingEmbedder())
    with writer_lock(codebase.store.layout, 1.0):
        with pytest.raises(IndexBusy, match=rf"process {os.getpid()}, since \d{{4}}-"):
            codebase.refresh(timeout=0.05)
        assert codebase.search("door gate").watermark.generation == 1  # readers do not wait
        waiting = threading.Thread(target=other.refresh)
        waiting.start()
    waiting.join()
    assert codebase.generation == 2
    assert codebase.refresh().is_noop
    other.close()


def test_refreshes_at_once_publish_one_generation(codebase: Codebase, root: Path) -> None:
    write_version(root, 2)
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: codebase.refresh(), range(8)))
    assert sum(not report.is_noop for report in reports) == 1
    assert {report.generation for report in reports} == {2}
    check_one_generation(codebase.search("door gate", top_k=FILES))


def test_short_lived_threads_leave_no_connections(codebase: Codebase) -> None:
    def ask() -> None:
        codebase.search("door gate")
        codebase.gaps()  # outside a view: the thread's own connection

    def count() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    def burst() -> None:
        threads = [threading.Thread(target=ask) for _ in range(128)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    burst()
    before = count()
    burst()
    burst()
    assert count() <= before + 2 * MAX_READERS  # the pool may have grown to its bound, never beyond
    settled = count()
    burst()
    assert count() <= settled + 2 * MAX_READERS


def test_the_pool_is_bounded_and_closes_everything(tmp_path: Path) -> None:
    pool = Connections(tmp_path / "a.sqlite3")
    inside, go_on = threading.Semaphore(0), threading.Event()
    held: list[int] = []

    def hold() -> None:
        with pool.reserve() as connection:
            held.append(id(connection))
            with pool.reserve() as again:
                assert again is connection
            inside.release()
            go_on.wait()

    threads = [threading.Thread(target=hold) for _ in range(MAX_READERS + 5)]
    for thread in threads:
        thread.start()
    for _ in range(MAX_READERS):
        inside.acquire()
    assert len(set(held)) == MAX_READERS
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(set(held)) == MAX_READERS
    pool.close()


def test_retrieving_in_an_event_loop_does_not_block_it(root: Path, tmp_path: Path) -> None:
    index = CodeIndex.from_path(root, cache_dir=tmp_path / "cache")
    retriever = index.as_retriever()
    started, release = threading.Event(), threading.Event()
    search = index.codebase.search

    def slow(*arguments: object, **kwargs: object) -> SearchResult:
        started.set()
        assert release.wait(20)
        return search(*arguments, **kwargs)  # type: ignore[arg-type]

    async def main() -> int:
        index.codebase.search = slow  # type: ignore[method-assign]
        waiting = asyncio.ensure_future(retriever.aretrieve("door"))
        beats = 0
        while not started.is_set():
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
            beats += 1
        assert not waiting.done()
        release.set()
        assert await waiting
        many = await asyncio.gather(*(retriever.aretrieve("door gate") for _ in range(128)))
        assert len({node.metadata["generation"] for nodes in many for node in nodes}) == 1
        return beats

    assert asyncio.run(main()) == 10
    index.close()


def test_retrieving_inside_a_running_loop_works(root: Path, tmp_path: Path) -> None:
    index = CodeIndex.from_path(root, cache_dir=tmp_path / "cache")

    async def handler() -> int:
        return len(index.as_retriever().retrieve("door gate"))

    assert asyncio.run(handler()) > 0
    index.close()


def test_who_waits_for_an_embedding_server_keeps_nobody_from_searching(root: Path, tmp_path: Path) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    class Waiting(CountingEmbedder):
        def embed_query(self, text: str) -> Vector:
            if text == "slow question":
                asked.set()
                assert may_answer.wait(60)
                raise EmbeddingUnavailable("The embedding server is away.")
            return super().embed_query(text)

    codebase = Codebase(root, tmp_path / "cache", Waiting())
    codebase.refresh()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(codebase.search, "slow question")
        assert asked.wait(60)
        assert codebase.search("door").hits  # would wait for ever for its turn
        assert not waiting.done()
        may_answer.set()
        assert "embedding_unavailable" in waiting.result(60).degraded_reasons
    assert codebase.search("door").hits
    codebase.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_searches_though_another_thread_had_the_turn(root: Path, tmp_path: Path) -> None:
    Codebase(root, tmp_path / "cache").refresh()
    has_turn, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with in_turn():
            has_turn.set()
            may_end.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert has_turn.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(30)  # a child that waits for ever is ended
        os._exit(0 if Codebase(root, tmp_path / "cache").search("door").hits else 1)
    may_end.set()
    holder.join()
    assert os.waitpid(child, 0)[1] == 0


def test_a_store_that_is_locked_holds_up_no_other(root: Path, tmp_path: Path) -> None:
    one, other = Codebase(root, tmp_path / "one"), Codebase(root, tmp_path / "other")
    for codebase in (one, other):
        codebase.refresh()
    one.store.identity = None  # as if another process had replaced it, so that it has to be opened again
    with ThreadPoolExecutor(1) as pool:
        with one.store._lock:
            waiting = pool.submit(one.search, "door")
            assert other.search("door").hits  # would wait for ever
        assert waiting.result(60).hits
    for codebase in (one, other):
        codebase.close()
