"""What a refresh touches: nothing where nothing changed, and no more than what did."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.walk import WalkOptions
from llama_index_codeindex.engine.model import Gap, Source
from llama_index_codeindex.engine.store import builder as builder_module
from llama_index_codeindex.engine.store import contents as contents_module
from llama_index_codeindex.engine.store.builder import BuildOptions, Progress
from tests.store.conftest import Open
from tests.store.support import CountingEmbedder, commit, contents, folder_state, git, make_repository, write

FILES: dict[str, str | bytes] = {
    "app.py": "def open_door(key):\n    return key.turn()\n\n\ndef close_door(key):\n    return key.back()\n",
    "lib/window.py": "class Window:\n    def tilt(self):\n        return self.angle\n",
    "README.bin": b"\0\1\2",
    "notes.md": "# Doors\n\nHow doors open.\n",
}


def places(codebase: Codebase, query: str) -> list[str]:
    return [hit.file_path for hit in codebase.search(query, top_k=20).hits]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", FILES)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are parsed from now on."""
    seen: list[str] = []
    parse_file = vars(builder_module)["parse_file"]

    def noting(read: object, path: str, *arguments: object) -> object:
        found = parse_file(read, path, *arguments)
        if not isinstance(found, Gap):
            seen.append(path)
        return found

    monkeypatch.setattr(builder_module, "parse_file", noting)
    return seen


def test_no_change_touches_nothing(root: Path, opened: Open, tmp_path: Path, parsed: list[str]) -> None:
    embedder = CountingEmbedder()
    codebase = opened(root, embedder)
    first = codebase.refresh()
    assert (first.added, first.generation) == (3, 1)
    assert sorted(parsed) == ["app.py", "lib/window.py", "notes.md"]
    parsed.clear()
    embedder.seen.clear()
    before = folder_state(tmp_path / "cache")
    again = codebase.refresh()
    assert again.is_noop
    assert again.generation == 1
    assert not parsed
    assert not embedder.seen
    assert folder_state(tmp_path / "cache") == before
    assert codebase.status().state == "current"


def test_a_commit_alone_is_noted_without_a_generation(root: Path, opened: Open, parsed: list[str]) -> None:
    codebase = opened(root)
    codebase.refresh()
    parsed.clear()
    write(root, {"README.bin": b"\0\3\4\5"})
    head = commit(root, "only a binary file")
    assert codebase.status().state == "stale"
    report = codebase.refresh()
    mark = codebase.status()
    assert (report.generation, mark.commit, mark.state) == (1, head, "current")
    assert parsed == []
    assert not any(hit.stale for hit in codebase.search("open door").hits)
    git(root, "checkout", "-q", "-b", "topic")
    codebase.refresh()
    assert (codebase.status().branch, codebase.status().generation) == ("topic", 1)


def test_touch_and_chmod_embed_and_parse_nothing(root: Path, opened: Open, parsed: list[str]) -> None:
    embedder = CountingEmbedder()
    codebase = opened(root, embedder)
    codebase.refresh()
    parsed.clear()
    embedder.seen.clear()
    for name in FILES:
        os.utime(root / name)
        (root / name).chmod(0o755)
    report = codebase.refresh()
    assert (report.generation, report.is_noop) == (1, True)
    assert not embedder.seen
    assert not parsed
    assert codebase.status().state == "current"


def test_a_rename_keeps_its_vectors_and_leaves_no_ghost(root: Path, opened: Open) -> None:
    embedder = CountingEmbedder()
    codebase = opened(root, embedder)
    codebase.refresh()
    embedder.seen.clear()
    (root / "app.py").rename(root / "main.py")
    report = codebase.refresh()
    assert (report.added, report.removed, embedder.seen) == (1, 1, [])
    for mode in ("all", "meaning", "symbol"):
        found = {hit.file_path for hit in codebase.search("open_door", top_k=20, mode=mode).hits}
        assert "main.py" in found
        assert "app.py" not in found
    assert codebase.search("app.py", mode="path").hits == []


def test_lines_above_shift_every_range_and_embed_only_what_is_new(tmp_path: Path, opened: Open) -> None:
    body = "".join(f"def work_{n}(value):\n" + f"    value += {n}\n" * 30 + "\n\n" for n in range(6))
    root = make_repository(tmp_path / "long", {"long.py": body})
    embedder = CountingEmbedder()
    codebase = opened(root, embedder, options=BuildOptions(max_chars=800))
    codebase.refresh()
    names = [f"work_{n}" for n in range(1, 6)]
    before = {name: codebase.search(name, mode="symbol").hits[0] for name in names}
    embedder.seen.clear()
    (root / "long.py").write_text("# one\n# two\n# three\n" + body)
    codebase.refresh()
    for name in names:
        old, new = before[name], codebase.search(name, mode="symbol").hits[0]
        assert (new.start_line, new.end_line, new.text) == (old.start_line + 3, old.end_line + 3, old.text)
    assert all("# one" in text for text in embedder.seen)
    starts = {row[2]: row[8] for row in contents(codebase)["symbols"]}
    assert starts["work_5"] == 3 + 5 * 33 + 1


def test_a_removed_function_is_gone_from_every_lane(root: Path, opened: Open) -> None:
    codebase = opened(root, CountingEmbedder())
    codebase.refresh()
    write(root, {"app.py": "def open_door(key):\n    return key.turn()\n"})
    codebase.refresh()
    assert codebase.search("close_door", mode="symbol").hits == []
    texts = [hit.text for mode in ("all", "meaning") for hit in codebase.search("close door back", 20, mode).hits]
    assert texts
    assert not any("close_door" in text for text in texts)
    assert not [row for row in contents(codebase)["symbols"] if row[2] == "close_door"]


def test_twins_are_both_found_share_vectors_and_outlive_each_other(tmp_path: Path, opened: Open) -> None:
    text = "def convert_units(value):\n    return value * 2\n"
    root = make_repository(tmp_path / "twins", {"v1/util.py": text, "v2/util.py": text})
    embedder = CountingEmbedder()
    codebase = opened(root, embedder)
    codebase.refresh()
    assert len(embedder.seen) == len(set(embedder.seen)) == 1
    assert {"v1/util.py", "v2/util.py"} == set(places(codebase, "convert_units"))
    embedder.seen.clear()
    (root / "v1/util.py").unlink()
    codebase.refresh()
    assert places(codebase, "convert_units") == ["v2/util.py"]
    assert codebase.status().embedded_share == 1.0
    (root / "v2/util.py").unlink()
    codebase.refresh()
    assert places(codebase, "convert_units") == []
    assert embedder.seen == []


def test_switching_back_to_a_branch_embeds_nothing_again(root: Path, opened: Open) -> None:
    embedder = CountingEmbedder()
    codebase = opened(root, embedder)
    codebase.refresh()
    git(root, "checkout", "-q", "-b", "b")
    write(root, {"app.py": "def lift_gate(rope):\n    return rope.pull()\n"})
    commit(root, "b")
    codebase.refresh()
    assert places(codebase, "lift_gate")[0] == "app.py"
    assert codebase.search("open_door", mode="symbol").hits == []
    assert codebase.status().branch == "b"
    embedder.seen.clear()
    git(root, "checkout", "-q", "main")
    assert codebase.status().state == "stale"
    codebase.refresh()
    assert embedder.seen == []
    assert codebase.search("lift_gate", mode="symbol").hits == []
    assert codebase.search("open_door", mode="symbol").hits[0].file_path == "app.py"


def test_failed_chunks_are_counted_and_tried_again(root: Path, opened: Open) -> None:
    embedder = CountingEmbedder()
    embedder.poison = {"tilt"}
    codebase = opened(root, embedder)
    report = codebase.refresh()
    assert report.unembedded == 1
    mark = codebase.status()
    assert mark.state == "partial"
    assert 0 < mark.embedded_share < 1
    assert "partly_embedded" in codebase.search("open door").degraded_reasons
    assert codebase.refresh().unembedded == 1
    embedder.poison = set()
    embedder.seen.clear()
    report = codebase.refresh()
    assert (report.embedded, report.unembedded, len(embedder.seen)) == (1, 0, 1)
    assert (codebase.status().state, codebase.status().embedded_share) == ("current", 1.0)
    assert "partly_embedded" not in codebase.search("open door").degraded_reasons


def test_an_embedder_that_is_down_leaves_the_lexical_lanes_whole(root: Path, opened: Open) -> None:
    embedder = CountingEmbedder()
    embedder.is_down = True
    codebase = opened(root, embedder)
    report = codebase.refresh()
    assert (report.added, report.embedded, report.embedding_problem) == (3, 0, "EMBEDDING_UNAVAILABLE")
    assert places(codebase, "open_door")[0] == "app.py"
    assert codebase.status().state == "partial"
    embedder.is_down = False
    assert codebase.refresh().unembedded == 0
    assert codebase.status().state == "current"


def test_small_refreshes_embed_before_the_old_version_goes(root: Path, opened: Open) -> None:
    codebase = opened(root, CountingEmbedder())
    codebase.refresh()
    watching = opened(root, CountingEmbedder())
    seen: list[tuple[str, int, float]] = []

    def note(made: Progress) -> None:
        mark = watching.store.catalog.meta()
        seen.append((made.stage, int(mark["generation"]), made.done))

    write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
    codebase.refresh(note)
    assert ("embed", 1, 1) in seen  # while generation 1 still served
    assert codebase.status().embedded_share == 1.0


def test_models_are_never_mixed(root: Path, opened: Open) -> None:
    first, second = CountingEmbedder("first"), CountingEmbedder("second")
    opened(root, first).refresh()
    swapped = opened(root, second)
    answer = swapped.search("open door")
    assert "model_mismatch" in answer.degraded_reasons
    assert not any("dense" in hit.lanes for hit in answer.hits)
    assert answer.watermark.embedded_share == 0.0
    swapped.refresh()
    assert len(second.seen) == len(first.seen)
    answer = swapped.search("open door")
    assert any("dense" in hit.lanes for hit in answer.hits)
    back = opened(root, first)
    first.seen.clear()
    back.refresh()
    assert first.seen == []


def test_runs_without_a_model_do_not_change_later_ones(root: Path, opened: Open) -> None:
    opened(root).refresh()
    embedder = CountingEmbedder()
    codebase = opened(root, embedder)
    codebase.refresh()
    write(root, {"app.py": "def swing_hinge():\n    return 1\n"})
    opened(root).refresh()
    codebase.refresh()
    assert codebase.status().embedded_share == 1.0
    assert codebase.refresh().is_noop


def test_other_settings_rebuild_instead_of_mixing(tmp_path: Path, opened: Open, parsed: list[str]) -> None:
    body = "".join(f"def work_{n}(value):\n    return value + {n}\n\n\n" for n in range(40))
    root = make_repository(tmp_path / "long", {"long.py": body, "short.py": "def tiny():\n    return 1\n"})
    opened(root, options=BuildOptions(max_chars=1200)).refresh()
    parsed.clear()
    small = opened(root, options=BuildOptions(max_chars=300))
    assert small.refresh().changed == 2
    fresh = opened(root, options=BuildOptions(max_chars=300), cache_dir=tmp_path / "other")
    fresh.refresh()
    assert contents(small) == contents(fresh)
    assert small.refresh().is_noop


def test_same_size_and_times_are_seen_by_the_inode(root: Path, opened: Open) -> None:
    codebase = opened(root)
    path = root / "app.py"
    os.utime(path, (1_000_000_000, 1_000_000_000))
    codebase.refresh()
    path.write_text(path.read_text().replace("open_door", "shut_door"))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert codebase.refresh().changed == 1
    assert codebase.search("shut_door", mode="symbol").hits


def test_verify_compares_every_content(root: Path, opened: Open) -> None:
    codebase = opened(root)
    codebase.refresh()
    with codebase.store.catalog.writing():  # as if the file system's times had told nothing
        codebase.store.catalog.connection.execute("UPDATE files SET hash = 'other' WHERE path = 'app.py'")
    assert codebase.refresh().is_noop
    assert codebase.refresh(verify=True).changed == 1


def test_files_without_text_are_not_read_again(root: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    codebase = opened(root)
    codebase.refresh()
    assert [(gap.path, gap.reason) for gap in codebase.gaps()] == [("README.bin", "binary")]
    read: list[str] = []
    original = codebase.tree.read

    def noting(path: str) -> object:
        read.append(path)
        return original(path)

    monkeypatch.setattr(codebase.tree, "read", noting)
    codebase.refresh()
    assert read == []
    write(root, {"README.bin": "now it is text\n"})
    assert codebase.refresh().added == 1
    assert codebase.gaps() == []


def test_an_exception_in_the_progress_callback_cancels(root: Path, opened: Open, tmp_path: Path) -> None:
    codebase = opened(root)
    codebase.refresh()
    write(root, {"app.py": "def swing_hinge():\n    return 1\n", "new.py": "def fresh_paint():\n    return 2\n"})
    stages: list[str] = []

    class Cancelled(Exception):
        pass

    for stop_at in ("scan", "parse", "publish"):

        def cancel(made: Progress, stop_at: str = stop_at) -> None:
            stages.append(made.stage)
            if made.stage == stop_at:
                raise Cancelled

        with pytest.raises(Cancelled):
            codebase.refresh(cancel)
        assert codebase.generation == 1
        assert codebase.search("fresh_paint", mode="symbol").hits == []
        assert codebase.search("open_door", mode="symbol").hits
        assert codebase.status().state == "stale"
    done: list[Progress] = []
    assert codebase.refresh(done.append).generation == 2
    assert [p.stage for p in done if p.done == p.total] == ["scan", "parse", "publish"]
    parse = [p for p in done if p.stage == "parse"]
    assert [(p.done, p.total, p.chunks) for p in parse] == [(0, 2, 0), (1, 2, 1), (2, 2, 2)]
    assert parse[0].seconds_left is None
    assert parse[1].seconds_left is not None
    assert parse[2].seconds_left == 0


def test_limits_apply_to_what_is_already_indexed(root: Path, opened: Open) -> None:
    opened(root).refresh()
    strict = opened(root, options=BuildOptions(WalkOptions(max_file_bytes=60)))
    strict.refresh()
    assert {gap.path: gap.reason for gap in strict.gaps()} == {"README.bin": "binary", "app.py": "too_large"}
    assert "app.py" not in places(strict, "open_door")


def test_a_file_of_too_many_chunks_is_a_gap(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "MAX_CHUNKS", 3)
    (root / "long.py").write_text("".join(f"def function_{n}():\n    return '{'x' * 1000}'\n\n\n" for n in range(4)))
    codebase = Codebase(root, tmp_path / "cache", options=BuildOptions(workers=0))
    codebase.refresh()
    assert Gap("long.py", "too_large", "more than 3 chunks") in codebase.gaps()
    assert codebase.search("open_door").hits
    codebase.close()


def test_what_cannot_be_read_is_a_gap_and_no_change(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Gate.read
    refused = {"app.py"}

    def refusing(gate: Gate, path: str) -> Source | Gap:
        return Gap(path, "unreadable", "Permission denied") if path in refused else read(gate, path)

    monkeypatch.setattr(Gate, "read", refusing)
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    assert codebase.status().state == "current"
    assert codebase.refresh().generation == 1
    refused.clear()
    assert codebase.status().state == "stale"
    assert codebase.refresh().added == 1
    refused.add("app.py")
    (root / "app.py").write_text("def other():\n    return 1\n")
    assert codebase.refresh().removed == 1
    assert codebase.status().state == "current"
    codebase.close()
