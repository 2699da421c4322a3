"""Answers that never take old code for new: moved, changed and deleted files, `refresh="auto"`, states, the watcher."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.event_handlers import BaseEventHandler

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import IndexBusy, InvalidArgument, RootNotFound
from llama_index_codeindex.engine.model import Hit
from llama_index_codeindex.engine.store.builder import RefreshReport
from llama_index_codeindex.engine.store.locking import writer_lock
from llama_index_codeindex.engine.watch import Watcher
from llama_index_codeindex.indices import CodeIndex
from tests.store.support import commit, folder_state, git, make_repository, write

FILES: dict[str, str | bytes] = {
    "app.py": "def open_door(key):\n    return key.turn()\n",
    "lib/window.py": "class Window:\n    def tilt(self):\n        return self.angle\n",
    "lib/hinge.py": "def oil_door(hinge):\n    return hinge.door\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", FILES)


@pytest.fixture
def codebase(root: Path, tmp_path: Path) -> Iterator[Codebase]:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    yield codebase
    codebase.close()


def hit_of(codebase: Codebase, query: str) -> Hit:
    return codebase.search(query).hits[0]


# -- at the answer ---------------------------------------------------------------------------------------------------------


def test_a_moved_chunk_has_its_new_lines(codebase: Codebase, root: Path) -> None:
    write(root, {"app.py": "import os\n\n\n" + str(FILES["app.py"])})
    found = codebase.search("open_door")
    hit = found.hits[0]
    assert (hit.start_line, hit.end_line, hit.stale, hit.text) == (4, 5, False, FILES["app.py"])
    assert found.watermark.state == "stale"
    assert found.watermark.generation == 1


def test_a_changed_chunk_is_stale_and_shows_what_is_there(codebase: Codebase, root: Path) -> None:
    write(root, {"app.py": "def open_door(key):\n    return key.pull()\n"})
    found = codebase.search("open_door")
    assert (found.hits[0].stale, found.hits[0].text) == (True, "def open_door(key):\n    return key.pull()\n")
    assert found.watermark.state == "stale"
    assert "pull" not in codebase.pack("open_door").render() or "changed" in codebase.pack("open_door").render()
    codebase.refresh()
    assert hit_of(codebase, "open_door").stale is False


def test_hits_of_deleted_files_leave_and_others_take_their_place(codebase: Codebase, root: Path) -> None:
    full = codebase.search("door", top_k=2)
    assert {hit.file_path for hit in full.hits} == {"app.py", "lib/hinge.py"}
    (root / "lib/hinge.py").unlink()
    one = codebase.search("door", top_k=1)
    assert [hit.file_path for hit in one.hits] == ["app.py"]
    everything = codebase.search("door", top_k=5)
    assert "lib/hinge.py" not in {hit.file_path for hit in everything.hits}
    assert everything.watermark.state == "stale"


def test_a_file_that_became_a_link_or_secret_is_not_read(codebase: Codebase, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text(str(FILES["app.py"]))
    (root / "app.py").unlink()
    (root / "app.py").symlink_to(tmp_path / "outside.py")
    assert "app.py" not in {hit.file_path for hit in codebase.search("open_door").hits}


def test_texts_that_are_kept_between_questions_are_never_old(codebase: Codebase, root: Path) -> None:
    path = root / "app.py"
    for number in range(40):  # as fast as it goes: within one tick of the clock, of one size
        text = f"def open_door(key):\n    return key.turn_{number % 10}()\n"
        path.write_text(text)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert hit_of(codebase, "open_door").text == text
    held = root / "lib"
    assert hit_of(codebase, "oil_door").file_path == "lib/hinge.py"
    held.rename(root.parent / "elsewhere")
    held.symlink_to(root.parent / "elsewhere", target_is_directory=True)
    assert "lib/hinge.py" not in {hit.file_path for hit in codebase.search("oil_door").hits}


def test_equal_chunks_keep_apart_when_they_move(tmp_path: Path) -> None:
    twin = "def twin(value):\n" + "    value += 1\n" * 60 + "\n\n"
    root = make_repository(tmp_path / "twins", {"twins.py": twin * 2})
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    before = sorted((hit.start_line, hit.text) for hit in codebase.search("twin", top_k=10).hits)
    assert len({line for line, _ in before}) == len(before) > 1
    write(root, {"twins.py": "# above\n" * 40 + twin * 2})
    after = sorted((hit.start_line, hit.text) for hit in codebase.search("twin", top_k=10).hits)
    assert after == [(line + 40, text) for line, text in before]
    codebase.close()


# -- states ------------------------------------------------------------------------------------------------------------------


def test_states_from_the_first_build_on(root: Path, tmp_path: Path) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    assert (codebase.status().state, codebase.status().generation) == ("indexing", 0)
    states: list[str] = []
    codebase.refresh(lambda _: states.append(codebase.status().state))
    assert set(states[:-1]) == {"indexing"}
    assert states[-1] == "current"
    codebase.close()


@pytest.mark.parametrize("change", ["edit", "add", "delete", "ignore", "commit", "branch"])
def test_status_says_stale_when_the_tree_has_moved_on(change: str, codebase: Codebase, root: Path) -> None:
    assert codebase.status().state == "current"
    if change == "edit":
        write(root, {"app.py": "def other():\n    return 1\n"})
    elif change == "add":
        write(root, {"new.py": "x = 1\n"})
    elif change == "delete":
        (root / "app.py").unlink()
    elif change == "ignore":
        (root / ".git/info/exclude").write_text("*.txt\n")
        write(root, {".gitignore": "new.txt\n"})
    elif change == "commit":
        commit(root, "empty")
    else:
        git(root, "checkout", "-q", "-b", "topic")
    mark = codebase.status()
    assert (mark.state, mark.generation) == ("stale", 1)
    codebase.refresh()
    assert codebase.status().state == "current"


def test_head_is_read_from_worktrees_and_packed_refs(codebase: Codebase, root: Path, tmp_path: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    git(root, "pack-refs", "--all")
    assert (codebase.status().commit, codebase.status().state) == (head, "current")
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    side = Codebase(tmp_path / "tree", tmp_path / "cache")
    side.refresh()
    assert (side.status().commit, side.status().branch, side.status().state) == (head, "side", "current")
    side.close()


def test_every_answer_carries_the_watermark(codebase: Codebase, root: Path) -> None:
    mark = codebase.search("door").watermark
    status = codebase.status()
    assert mark == status
    assert (mark.files, mark.commit, mark.branch) == (3, git(root, "rev-parse", "HEAD"), "main")
    assert all((mark.dirty_digest, mark.scanned_at, mark.parser_fingerprint, mark.chunks))


# -- refresh="auto" ----------------------------------------------------------------------------------------------------------


def test_auto_refreshes_before_an_answer_and_only_when_something_changed(root: Path, tmp_path: Path) -> None:
    index = CodeIndex.from_path(root, cache_dir=tmp_path / "cache", refresh="auto")
    assert index.search("open_door").watermark.generation == 1
    write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
    found = index.search("swing_hinge")
    assert (found.hits[0].file_path, found.hits[0].stale, found.watermark.generation) == ("app.py", False, 2)
    assert found.watermark.state == "current"
    before = folder_state(tmp_path / "cache")
    nodes = index.as_retriever().retrieve("swing_hinge")
    assert nodes[0].metadata["generation"] == 2
    assert folder_state(tmp_path / "cache") == before
    index.close()


def test_auto_answers_from_the_last_generation_while_another_writes(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llama_index_codeindex.engine.upkeep._AUTO_WAIT", 0.05)
    codebase = Codebase(root, tmp_path / "cache", refresh="auto")
    codebase.refresh()
    write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
    with writer_lock(codebase.store.layout, 1.0):
        found = codebase.search("open_door")
        assert (found.watermark.generation, found.watermark.state, found.hits[0].stale) == (1, "stale", True)
        with pytest.raises(IndexBusy):
            codebase.refresh(timeout=0.05)
    assert codebase.search("swing_hinge").watermark.generation == 2
    codebase.close()


def test_other_values_of_refresh_are_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        Codebase(root, tmp_path / "cache", refresh="sometimes")  # type: ignore[arg-type]


# -- the watcher -------------------------------------------------------------------------------------------------------------


class Reports:
    """Waits for the refreshes that a watcher makes."""

    def __init__(self) -> None:
        self.made: list[RefreshReport] = []
        self._changed = threading.Condition()

    def __call__(self, report: RefreshReport) -> None:
        with self._changed:
            self.made.append(report)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[list[RefreshReport]], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.made), timeout=20)


def test_the_watcher_gathers_changes_and_stops(root: Path) -> None:
    codebase = Codebase(root, root / "my_idx")
    codebase.refresh()
    reports = Reports()
    watcher = codebase.watch(debounce=0.4, on_refresh=reports)
    write(
        root, {"app.py": "def swing_hinge():\n    return 1\n", "b.py": "def bolt():\n    return 2\n", "c.py": "x = 1\n"}
    )
    (root / "lib/hinge.py").unlink()
    reports.wait_for(lambda made: bool(made))
    assert [(r.generation, r.added, r.changed, r.removed) for r in reports.made] == [(2, 2, 1, 1)]
    assert codebase.search("swing_hinge").watermark.generation == 2
    head = commit(root, "noted")
    reports.wait_for(lambda made: len(made) > 1)
    assert codebase.status().commit == head
    seen = len(reports.made)
    watcher.stop()
    assert not watcher.is_alive
    assert watcher.problem is None
    write(root, {"late.py": "def late():\n    return 1\n"})
    assert len(reports.made) == seen
    assert codebase.generation == 2
    codebase.close()


def test_a_root_that_is_gone_keeps_its_index_and_is_watched_again_when_it_is_back(root: Path, tmp_path: Path) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    reports = Reports()
    with codebase.watch(debounce=0.1, on_refresh=reports) as watcher:
        root.rename(tmp_path / "away")
        with pytest.raises(RootNotFound):
            codebase.refresh()
        assert codebase.generation == 1
        assert codebase.store.failure == "ROOT_NOT_FOUND"
        make_repository(root, {"new.py": "def slide_door():\n    return 1\n"})
        reports.wait_for(lambda made: codebase.generation > 1)
        write(root, {"newer.py": "def lift_door():\n    return 1\n"})
        reports.wait_for(lambda made: bool(codebase.search("lift_door", mode="symbol").hits))
        assert watcher.is_alive
    codebase.close()


def test_the_watcher_ignores_its_index_and_gits_noise(root: Path) -> None:
    codebase = Codebase(root, root / "my_idx")
    watcher = Watcher(codebase.root, codebase.refresh, codebase.options.walk.skip)
    wanted = {
        "app.py": True,
        "deep/new/file.txt": True,
        ".gitignore": True,
        ".git/HEAD": True,
        ".git/refs/heads/main": True,
        ".git/packed-refs": True,
        ".git/index": False,
        ".git/refs/heads/main.lock": False,
        ".git/objects/ab/cdef": False,
        "my_idx": False,
        "my_idx/abc/catalog.sqlite3-wal": False,
        "my_idx2/file.py": True,
        "__pycache__/app.pyc": False,
    }
    assert {path: watcher.wants(str(codebase.root / path)) for path in wanted} == wanted
    codebase.close()


def test_the_watcher_never_wakes_itself(root: Path) -> None:
    codebase = Codebase(root, root / "my_idx")
    codebase.refresh()
    reports = Reports()
    with codebase.watch(debounce=0.1, on_refresh=reports):
        for number in range(3):
            write(root, {"app.py": f"def swing_{number}():\n    return 1\n"})
            reports.wait_for(lambda made, number=number: made and made[-1].generation == 2 + number)  # type: ignore[misc]
        made = len(reports.made)
        write(root, {"marker.py": "x = 1\n"})
        reports.wait_for(lambda made: made[-1].generation == 5)
        assert len(reports.made) == made + 1
    codebase.close()


def test_what_no_event_told_is_found_by_comparing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    reports = Reports()
    monkeypatch.setattr(Watcher, "wants", lambda self, path: False)
    with codebase.watch(debounce=0.1, reconcile=0.3, on_refresh=reports):
        write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
        reports.wait_for(lambda made: any(r.changed for r in made))
    assert codebase.search("swing_hinge").hits
    codebase.close()


def test_the_watcher_works_without_events_and_outlives_errors(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    reports = Reports()

    def no_watches(*_: object, **__: object) -> object:
        raise OSError("no watches left")

    monkeypatch.setattr("watchfiles.watch", no_watches)
    failures = [IndexBusy("busy"), OSError("gone")]

    def refresh(*, verify: bool) -> RefreshReport:
        if failures:
            raise failures.pop()
        return codebase.refresh(verify=verify)

    with Watcher(codebase.root, refresh, debounce=0.1, reconcile=0.2, on_refresh=reports).start() as watcher:
        write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
        reports.wait_for(lambda made: any(r.changed for r in made))
        assert not failures
        assert watcher.problem is None
    codebase.close()


@pytest.mark.parametrize(
    "times", [{"debounce": 0.0}, {"debounce": -1.0}, {"reconcile": 0.0}, {"debounce": float("nan")}]
)
def test_a_watcher_takes_times_above_zero(times: dict[str, float], root: Path, tmp_path: Path) -> None:
    with CodeIndex.from_path(root, cache_dir=tmp_path / "cache") as index, pytest.raises(InvalidArgument):
        index.watch(**times)


def test_closing_and_clearing_stop_the_watchers(root: Path, tmp_path: Path) -> None:
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    first = codebase.watch(debounce=0.1)
    codebase.clear()
    assert not first.is_alive
    codebase.refresh()
    second = codebase.watch(debounce=0.1)
    started = time.monotonic()
    codebase.close()
    assert not second.is_alive
    assert time.monotonic() - started < 10


# -- events ------------------------------------------------------------------------------------------------------------------


class _Keeping(BaseEventHandler):
    events: list[BaseEvent] = []  # noqa: RUF012

    @classmethod
    def class_name(cls) -> str:
        return "Keeping"

    def handle(self, event: BaseEvent, **_: object) -> None:
        self.events.append(event)


def test_builds_refreshes_and_searches_are_events(root: Path, tmp_path: Path) -> None:
    handler = _Keeping()
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(handler)
    try:
        index = CodeIndex.from_path(root, cache_dir=tmp_path / "cache")
        index.search("open_door")
        index.as_retriever().retrieve("open_door")
        index.close()
    finally:
        dispatcher.event_handlers.remove(handler)
    names = [event.class_name() for event in handler.events if event.class_name().startswith("CodeIndex")]
    assert names == [
        "CodeIndexRefreshStartEvent",
        "CodeIndexRefreshEndEvent",
        "CodeIndexSearchEvent",
        "CodeIndexSearchEvent",
    ]
    ended = next(event for event in handler.events if event.class_name() == "CodeIndexRefreshEndEvent")
    assert ended.model_dump()["report"]["added"] == 3


def test_folders_as_deep_as_a_path_can_be(tmp_path: Path) -> None:
    folders = [tmp_path / "root"]
    folders[0].mkdir()
    try:
        for _ in range(1_200):
            folder = folders[-1] / "d"
            folder.mkdir()
            folders.append(folder)
        (folders[-1] / "deep.py").write_text("def plumb():\n    return 1\n")
    except OSError:
        pytest.skip("the system's paths are shorter")
    else:
        codebase = Codebase(folders[0], tmp_path / "cache")
        codebase.refresh()
        assert [hit.symbol for hit in codebase.search("plumb").hits] == ["plumb"]
        codebase.close()
        (folders[-1] / "deep.py").unlink()
    finally:
        for folder in reversed(folders):  # deeper than what removes folders goes
            folder.rmdir()
