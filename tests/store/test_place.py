"""Where an index lies: the same for every spelling of its root, never read by itself, and removed for good."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import IndexBusy
from llama_index_codeindex.engine.store.locking import writer_lock
from llama_index_codeindex.engine.store.pruning import prune
from tests.store.conftest import Open
from tests.store.support import folder_state, make_repository, write

FILES: dict[str, str | bytes] = {
    "app.py": 'SECRET_PHRASE = "xylophone marmalade"\n\n\ndef open_door(key):\n    return key.turn()\n',
    "deep/er/window.py": "class Window:\n    def tilt(self):\n        return self.angle\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", FILES)


@pytest.mark.parametrize("place", ["my_idx", ".codeindex", "deep/idx", "."])
def test_an_index_inside_its_root_never_reads_itself(place: str, root: Path, opened: Open) -> None:
    codebase = opened(root, cache_dir=root / place)
    assert codebase.refresh().added == 2
    before = folder_state(root)
    again = codebase.refresh()
    assert (again.is_noop, again.generation) == (True, 1)
    assert folder_state(root) == before
    assert codebase.gaps() == []
    assert codebase.status().state == "current"
    other = opened(root, cache_dir=root / place / ".")
    assert other.refresh().is_noop


def test_every_spelling_of_the_root_is_the_same_index(
    root: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(root)
    first.refresh()
    link = root.parent / "link"
    link.symlink_to(root, target_is_directory=True)
    monkeypatch.chdir(root)
    for spelling in (".", "./", f"{root}/", str(root) + os.sep + ".", "deep/..", str(link), f"{link}/", "../root"):
        codebase = opened(spelling)
        assert codebase.generation == 1, spelling
        assert codebase.refresh().is_noop, spelling
        assert codebase.search("open_door").hits[0].file_path == "app.py"


def test_a_root_below_a_hidden_folder_is_indexed(tmp_path: Path, opened: Open) -> None:
    hidden = tmp_path / ".work" / "trees" / "one"
    write(hidden, FILES)
    codebase = opened(hidden)
    assert codebase.refresh().added == 2
    assert codebase.search("tilt").hits[0].file_path == "deep/er/window.py"


def test_the_folder_holds_no_content_and_no_path_but_the_root(root: Path, opened: Open, tmp_path: Path) -> None:
    codebase = opened(root)
    codebase.refresh()
    codebase.close()
    data = b"".join(content for _, content in folder_state(tmp_path / "cache").values())
    assert b"xylophone marmalade" not in data
    assert b"return key.turn()" not in data
    assert data.count(str(root).encode()) == 1
    assert str(tmp_path).encode() not in data.replace(str(root).encode(), b"")


def test_clear_removes_everything_and_a_refresh_starts_anew(root: Path, opened: Open, tmp_path: Path) -> None:
    codebase = opened(root)
    codebase.refresh()
    write(root, {"new.py": "def paint():\n    return 1\n"})
    codebase.refresh()
    folder = codebase.store.layout.folder  # type: ignore[union-attr]
    codebase.clear()
    assert not folder.exists()
    assert (codebase.status().state, codebase.status().generation) == ("indexing", 0)
    found = codebase.search("open_door")
    assert (found.hits, found.empty_reason) == ([], "empty_index")
    assert not folder.exists()
    assert (codebase.refresh().generation, codebase.refresh().is_noop) == (1, True)
    assert codebase.search("open_door").hits


def test_clear_waits_for_a_writer_and_nothing_comes_back(root: Path, opened: Open) -> None:
    codebase = opened(root)
    codebase.refresh()
    other = opened(root)
    layout = codebase.store.layout
    assert layout is not None
    inside, go_on = threading.Event(), threading.Event()
    write(root, {"new.py": "def paint():\n    return 1\n"})

    def hold(_: object) -> None:
        inside.set()
        go_on.wait()

    writer = threading.Thread(target=lambda: other.refresh(lambda p: hold(p) if p.stage == "parse" else None))
    writer.start()
    inside.wait()
    with pytest.raises(IndexBusy):
        codebase.store.clear(timeout=0.1)
    clearer = threading.Thread(target=codebase.clear)
    clearer.start()
    go_on.set()
    writer.join()
    clearer.join()
    assert not layout.folder.exists()


def test_an_index_cleared_elsewhere_is_noticed(root: Path, opened: Open) -> None:
    codebase, other = opened(root), opened(root)
    codebase.refresh()
    assert other.search("open_door").hits
    codebase.clear()
    assert other.search("open_door").hits == []
    assert other.refresh().added == 2
    assert other.search("open_door").hits


def test_busy_says_who_and_since_when(root: Path, opened: Open) -> None:
    codebase = opened(root)
    with writer_lock(codebase.store.layout, 1.0), pytest.raises(IndexBusy) as caught:
        codebase.refresh(timeout=0.05)
    assert f"process {os.getpid()}, since 2" in caught.value.message
    assert caught.value.code == "INDEX_BUSY"
    assert codebase.refresh(timeout=0.05).added == 2


def test_indexes_of_folders_that_are_gone_are_pruned(root: Path, tmp_path: Path) -> None:
    gone = make_repository(tmp_path / "gone", FILES)
    for folder in (root, gone):
        codebase = Codebase(folder, tmp_path / "cache")
        codebase.refresh()
        codebase.close()
    assert prune(tmp_path / "cache") == []
    shutil.rmtree(gone)
    assert prune(tmp_path / "cache") == [str(gone.resolve())]
    assert len(list((tmp_path / "cache").glob("*/catalog.sqlite3"))) == 1
    assert prune(tmp_path / "missing") == []
