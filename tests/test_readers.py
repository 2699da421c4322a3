"""`CodeReader` as LlamaIndex uses it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from llama_index.core import SimpleDirectoryReader
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode

from llama_index_codeindex.engine.errors import (
    FileDenied,
    FileNotIndexed,
    InvalidArgument,
    PathOutsideRoot,
    RootNotFound,
    RootTooBroad,
)
from llama_index_codeindex.engine.model import Gap
from llama_index_codeindex.readers import CodeReader

TOKEN = "gh" + "p_" + "a1B2" * 9


@pytest.fixture(autouse=True)
def nobodys_git(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep git configuration of the person and the machine out."""
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small repository."""
    top = tmp_path / "repo"
    files = {
        ".gitignore": "gen/\n",
        "app/main.py": f"def main():\n    return '{TOKEN}'\n",
        "app/__init__.py": "",
        "web/index.ts": "export const a = 1\n",
        "gen/out.py": "x = 1\n",
        ".env": "PASSWORD=hunter2\n",
        "logo.png": "\x89PNG\0\0",
    }
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    return top


def test_documents_and_gaps_account_for_everything(root: Path) -> None:
    reader = CodeReader(root=root)
    documents = {document.metadata["file_path"]: document for document in reader.load_data()}
    assert set(documents) == {".gitignore", "app/main.py", "app/__init__.py", "web/index.ts"}
    assert {gap.path: gap.reason for gap in reader.gaps} == {".env": "denied", "logo.png": "binary"}
    main = documents["app/main.py"]
    assert main.text == "def main():\n    return '[redacted]'\n"
    assert main.metadata["language"] == "python"
    assert main.metadata["encoding"] == "utf-8"
    assert documents["app/__init__.py"].text == ""


def test_metadata_stays_out_of_what_models_are_given(root: Path) -> None:
    document = CodeReader(root=root).load_data(extra_info={"team": "core"})[2]
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        shown = document.get_content(metadata_mode=mode)
        assert "team: core" in shown
        assert not any(f"{key}:" in shown for key in ("file_path", "content_hash", "encoding", "language", "category"))


def test_reads_lazily(root: Path) -> None:
    documents = CodeReader(root=root).lazy_load_data(extra_info={})
    first = next(documents)
    assert first.metadata["file_path"] == ".gitignore"
    (root / "web" / "index.ts").write_text("export const b = 2\n")
    assert [document.text for document in documents][-1] == "export const b = 2\n"


def test_a_file_that_goes_between_list_and_read_is_a_gap(root: Path) -> None:
    (root / "app" / "zz.py").write_text("x")
    reader = CodeReader(root=root)
    documents = reader.lazy_load_data()
    while next(documents).metadata["file_path"] != "app/__init__.py":
        pass
    (root / "app" / "zz.py").unlink()
    assert "app/zz.py" not in {document.metadata["file_path"] for document in documents}
    assert {gap.path: gap.reason for gap in reader.gaps}["app/zz.py"] == "unreadable"


def test_choices(root: Path) -> None:
    def paths(**choice: object) -> list[str]:
        return [document.metadata["file_path"] for document in CodeReader(root=root, **choice).load_data()]

    assert paths(include=["app/"]) == ["app/__init__.py", "app/main.py"]
    assert paths(exclude=["app/", ".gitignore"]) == ["web/index.ts"]
    assert paths(languages=["typescript"]) == ["web/index.ts"]
    assert paths(languages=["python"], exclude=["__init__.py"]) == ["app/main.py"]
    with pytest.raises(InvalidArgument):
        paths(languages=["pyhton"])


def test_the_size_cap_is_honoured_end_to_end(root: Path) -> None:
    (root / "big.py").write_text("x = 1\n" * 300_000)
    reader = CodeReader(root=root)
    assert "big.py" not in reader.list_resources()
    reader.load_data()
    assert {gap.path: gap.reason for gap in reader.gaps}["big.py"] == "too_large"
    raised = CodeReader(root=root, max_file_bytes=2_000_000)
    assert len({d.metadata["file_path"]: d.text for d in raised.load_data()}["big.py"]) == 1_800_000


def test_resources(root: Path) -> None:
    reader = CodeReader(root=root)
    assert reader.list_resources() == [".gitignore", "app/__init__.py", "app/main.py", "web/index.ts"]
    info = reader.get_resource_info("./app/main.py")
    status = (root / "app" / "main.py").stat()
    assert info == {
        "file_path": "app/main.py",
        "file_size": status.st_size,
        "last_modified": status.st_mtime_ns / 1e9,
        "language": "python",
    }
    assert set(reader.list_resources_with_info()) == set(reader.list_resources())
    assert [document.text for document in reader.load_resource("web/index.ts")] == ["export const a = 1\n"]
    assert len(reader.load_resources(reader.list_resources())) == 4
    assert reader.read_file_content(root / "app" / "main.py") == b"def main():\n    return '[redacted]'\n"


def test_one_file_obeys_the_rules_of_all(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("x")
    reader = CodeReader(root=root)
    for name, error in {
        "gen/out.py": FileNotIndexed,
        "gone.py": FileNotIndexed,
        ".env": FileDenied,
        "logo.png": FileDenied,
        "../outside.py": PathOutsideRoot,
        str(tmp_path / "outside.py"): PathOutsideRoot,
    }.items():
        with pytest.raises(error) as caught:
            reader.load_resource(name)
        assert str(tmp_path) not in json.dumps(caught.value.to_dict())
        with pytest.raises(error):
            reader.read_file_content(Path(name))
    if os.name != "nt":
        (root / "link.py").symlink_to(tmp_path / "outside.py")
        with pytest.raises(PathOutsideRoot):
            reader.load_resource("link.py")


def test_async_twins_leave_the_loop_free(root: Path) -> None:
    for number in range(300):
        (root / "app" / f"m{number}.py").write_text(f"def f{number}():\n    pass\n" * 20)
    reader = CodeReader(root=root)

    async def run() -> tuple[int, list[str]]:
        beats = 0

        async def heartbeat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0)
                beats += 1

        beating = asyncio.create_task(heartbeat())
        loaded = await reader.aload_data()
        assert len(list(await reader.alazy_load_data())) == len(loaded)
        assert await reader.alist_resources() == [document.metadata["file_path"] for document in loaded]
        streamed = [document.metadata["file_path"] async for document in reader.astream_data()]
        assert (await reader.aload_resource("app/m1.py"))[0].metadata["file_path"] == "app/m1.py"
        assert (await reader.aread_file_content(Path("app/m1.py"))).startswith(b"def f1")
        beating.cancel()
        assert streamed == [document.metadata["file_path"] for document in loaded]
        return beats, streamed

    beats, streamed = asyncio.run(run())
    assert len(streamed) == 304
    assert beats > 300


def test_serialisation_round_trip(root: Path) -> None:
    reader = CodeReader(root=root, include=["*.py"], languages=["python"], max_file_bytes=1234)
    again = CodeReader.from_dict(json.loads(json.dumps(reader.to_dict())))
    assert reader.to_dict()["class_name"] == "CodeReader"
    assert [d.text for d in again.load_data()] == [d.text for d in reader.load_data()]
    assert again == reader


def test_serves_as_a_file_extractor(root: Path) -> None:
    reader = SimpleDirectoryReader(
        str(root), recursive=True, required_exts=[".py"], exclude=["gen/*"], file_extractor={".py": CodeReader(root=root)}
    )  # fmt: skip
    texts = [document.text for document in reader.load_data()]
    assert "def main():\n    return '[redacted]'\n" in texts
    assert not any(TOKEN in text for text in texts)


def test_serves_in_a_pipeline(root: Path) -> None:
    pipeline = IngestionPipeline(readers=None, transformations=[SentenceSplitter(chunk_size=64, chunk_overlap=0)])
    nodes = pipeline.run(documents=CodeReader(root=root).load_data())
    assert {node.metadata["file_path"] for node in nodes} >= {"app/main.py", "web/index.ts"}


def test_roots_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RootNotFound):
        CodeReader(root=tmp_path / "nowhere").load_data()
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.py").write_text("x")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    with pytest.raises(RootTooBroad):
        CodeReader(root=home).load_data()
    assert len(CodeReader(root=home, allow_broad_root=True).load_data()) == 1


def test_two_loads_at_once_keep_their_gaps_apart(root: Path) -> None:
    reader = CodeReader(root=root)
    first, second = reader.lazy_load_data(), reader.lazy_load_data()
    for _ in zip(first, second, strict=True):
        pass
    assert sorted(reader.gaps, key=lambda gap: gap.path) == [
        Gap(".env", "denied"),
        Gap("logo.png", "binary"),
    ]
