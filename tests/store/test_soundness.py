"""An unchanged catalog is checked once; whatever changes is checked again, and no note hides damage."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from llama_index_codeindex.cli import FAILED, FOUND, main
from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import IndexDamaged
from llama_index_codeindex.engine.store import connections, soundness
from tests.store.support import make_repository

FILES: dict[str, str | bytes] = {
    f"part_{number}.py": "\n".join(
        f"def door_{number}_{line}(key):\n    return key.turn({line})\n" for line in range(40)
    )
    for number in range(6)
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", FILES)


@pytest.fixture
def catalog(root: Path, tmp_path: Path) -> Path:
    """The catalog of an index that was closed in peace and opened once since."""
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    path = codebase.folder / "catalog.sqlite3"
    codebase.close()
    Codebase(root, tmp_path / "cache").close()
    return path


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The checks of whole catalogs that are made."""
    made: list[str] = []
    open_connection = connections.open_connection

    def traced(path: Path | None) -> sqlite3.Connection:
        connection = open_connection(path)
        connection.set_trace_callback(lambda statement: made.append(statement) if "quick_check" in statement else None)
        return connection

    monkeypatch.setattr(connections, "open_connection", traced)
    yield made


def open_and_search(root: Path, tmp_path: Path) -> tuple[int, list[str]]:
    codebase = Codebase(root, tmp_path / "cache")
    try:
        return len(codebase.search("door_1_2").hits), codebase.store.repairs
    finally:
        codebase.close()


def test_an_unchanged_catalog_is_not_checked_again(
    root: Path, tmp_path: Path, catalog: Path, checks: list[str]
) -> None:
    for _ in range(3):
        hits, repairs = open_and_search(root, tmp_path)
        assert (hits > 0, repairs) == (True, [])
    assert checks == []


def test_a_changed_one_is_checked_once(root: Path, tmp_path: Path, catalog: Path, checks: list[str]) -> None:
    (root / "extra.py").write_text("def third_door():\n    return 3\n")
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    codebase.close()
    assert checks == []
    open_and_search(root, tmp_path)
    open_and_search(root, tmp_path)
    assert len(checks) == 1


def test_one_whose_log_holds_more_is_checked(root: Path, tmp_path: Path, catalog: Path, checks: list[str]) -> None:
    (root / "extra.py").write_text("def third_door():\n    return 3\n")
    with closing(Codebase(root, tmp_path / "cache")) as writer:
        writer.refresh()
        assert soundness.state_of(catalog) == ""
        open_and_search(root, tmp_path)
        open_and_search(root, tmp_path)
    assert len(checks) == 2


@pytest.mark.parametrize("note", ["", "torn", "\udcff"])
def test_without_a_whole_note_it_is_checked(
    root: Path, tmp_path: Path, catalog: Path, checks: list[str], note: str
) -> None:
    beside = catalog.with_name("catalog.sqlite3.checked")
    beside.write_bytes(os.fsencode(note))
    open_and_search(root, tmp_path)
    assert len(checks) == 1
    assert soundness.is_noted(catalog, soundness.state_of(catalog))


def damage(catalog: Path) -> None:
    """Overwrite every page but the first two, as a failing disk may."""
    data = catalog.read_bytes()
    catalog.write_bytes(data[:8192] + bytes(b"\xff" * (len(data) - 8192)))


@pytest.mark.parametrize("set_back", [False, True])
def test_flipped_bytes_are_found_when_it_is_opened(root: Path, tmp_path: Path, catalog: Path, set_back: bool) -> None:
    before = catalog.stat()
    damage(catalog)
    if set_back:
        os.utime(catalog, ns=(before.st_atime_ns, before.st_mtime_ns))
    hits, repairs = open_and_search(root, tmp_path)
    assert (hits, repairs) == (0, ["catalog_rebuilt"])


def damaged_and_noted(catalog: Path) -> None:
    """Damage a catalog that goes on passing for sound: what a disk does to a file without the system knowing."""
    damage(catalog)
    soundness.note(catalog, soundness.state_of(catalog))


def test_damage_that_no_check_saw_is_found_when_it_is_read(root: Path, tmp_path: Path, catalog: Path) -> None:
    damaged_and_noted(catalog)
    codebase = Codebase(root, tmp_path / "cache")
    with pytest.raises(IndexDamaged):
        codebase.search("door_1_2")
    codebase.refresh()
    found = codebase.search("door_1_2")
    assert found.hits
    assert "catalog_rebuilt" in found.degraded_reasons
    codebase.close()


def test_a_refresh_makes_it_anew(root: Path, tmp_path: Path, catalog: Path) -> None:
    damaged_and_noted(catalog)
    codebase = Codebase(root, tmp_path / "cache")
    assert codebase.refresh().added == len(FILES)
    assert codebase.search("door_1_2").hits
    codebase.close()


def test_the_command_line_says_it(
    root: Path, tmp_path: Path, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged_and_noted(catalog)
    line = [str(root), "--cache-dir", str(tmp_path / "cache")]
    assert main(["status", *line]) == FAILED
    assert capsys.readouterr().err.startswith("INDEX_DAMAGED: ")
    assert main(["search", *line, "door_1_2"]) == FOUND


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user who may not write everywhere")
def test_a_folder_that_cannot_be_written_is_left_alone(root: Path, tmp_path: Path, catalog: Path) -> None:
    catalog.with_name("catalog.sqlite3.checked").unlink()
    catalog.parent.chmod(0o555)
    try:
        assert open_and_search(root, tmp_path)[0] > 0
    finally:
        catalog.parent.chmod(0o755)
