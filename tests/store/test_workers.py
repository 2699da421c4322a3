"""Reading and parsing in other processes: the same index, and nothing that a process can do loses more than one file."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Gap
from llama_index_codeindex.engine.store import workers as workers_module
from llama_index_codeindex.engine.store.builder import BuildOptions, Progress
from llama_index_codeindex.engine.store.contents import Parsed
from llama_index_codeindex.engine.store.workers import Workers, suitable_workers
from tests.store.support import contents, make_repository

FILES: dict[str, str | bytes] = {
    **{
        f"part_{n}.py": f"import os\n\n\ndef door_{n}(width):\n    return os.path.join(width, 'door {n}')\n"
        for n in range(40)
    },
    "web/app.ts": "export class App {\n  run(): void {\n    start();\n  }\n}\n",
    "notes.md": "# Doors\n\nHow doors are made.\n",
    "ключ.py": "def ключ():\n    return 'дверь'\n",
    "image.bin": b"\x00\x01",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", FILES)


def built(root: Path, cache: Path, workers: int) -> Codebase:
    codebase = Codebase(root, cache, options=BuildOptions(workers=workers))
    codebase.refresh()
    return codebase


def test_workers_make_the_same_index(root: Path, tmp_path: Path) -> None:
    assert contents(built(root, tmp_path / "a", 2)) == contents(built(root, tmp_path / "b", 0))


def test_files_come_in_their_order(root: Path) -> None:
    paths = sorted(FILES)
    with Workers(Gate(root), 1200, 2) as workers:
        found = list(workers.parse(paths))
    ids = [item.path if isinstance(item, Gap) else item.content.chunks[0].chunk_id.partition("#")[0] for item in found]
    assert ids == paths


def test_a_file_that_kills_its_parser_is_cut_by_lines(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = workers_module._Worker.ask

    def deadly(worker: workers_module._Worker, batch: Sequence[str]) -> list[Parsed | Gap]:
        if "part_7.py" in batch:
            worker._process.kill()
        return ask(worker, batch)

    monkeypatch.setattr(workers_module._Worker, "ask", deadly)
    codebase = built(root, tmp_path / "cache", 2)
    (gap,) = [gap for gap in codebase.gaps() if gap.reason == "unparsed"]
    assert (gap.path, gap.detail) == ("part_7.py", "the parser crashed")
    assert codebase.search("door_7").hits[0].file_path == "part_7.py"
    assert {hit.symbol for hit in codebase.search("door_8").hits} >= {"door_8"}
    assert codebase.status().files == len(FILES) - 1


def test_without_an_interpreter_to_start_this_process_parses(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    codebase = built(root, tmp_path / "cache", 2)
    assert codebase.status().files == len(FILES) - 1
    assert not [gap for gap in codebase.gaps() if gap.reason == "unparsed"]


def test_nothing_of_the_repository_is_imported(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "imported"
    for name in ("pickle", "numpy", "tree_sitter", "sitecustomize", "signal"):
        (root / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend("")
    assert built(root, tmp_path / "cache", 2).status().files > len(FILES)
    assert not mark.exists()


def test_a_script_without_a_guard_runs_once(root: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from llama_index_codeindex.engine.codebase import Codebase\n"
        "from llama_index_codeindex.engine.store.builder import BuildOptions\n"
        f"codebase = Codebase({str(root)!r}, {str(tmp_path / 'cache')!r}, options=BuildOptions(workers=2))\n"
        "print(codebase.refresh().added)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == (f"{len(FILES) - 1}\n", "")


def test_a_refresh_that_is_cancelled_leaves_no_process(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[workers_module._Worker] = []
    make = workers_module._Worker.__init__

    def noting(worker: workers_module._Worker, gate: Gate, max_chars: int) -> None:
        make(worker, gate, max_chars)
        started.append(worker)

    monkeypatch.setattr(workers_module._Worker, "__init__", noting)

    def cancel(progress: Progress) -> None:
        if progress.stage == "parse" and progress.done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Codebase(root, tmp_path / "cache", options=BuildOptions(workers=2)).refresh(cancel)
    assert started
    assert all(worker._process.poll() is not None for worker in started)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("codeindex-worker")]


def test_few_files_are_not_worth_a_process() -> None:
    assert suitable_workers(100) == 0
    assert suitable_workers(100_000) != 1
