"""The notebooks run as they are kept, without a network, and the pages build without a warning.

A notebook whose outputs no longer match is written anew, cleaned of what differs from run to run, by
`python -m tests.test_notebooks`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

# Figures measured on the package's own source move a little with every change of it; a decimal may differ by so much.
_TOLERANCE = 0.1
_DECIMAL = re.compile(r"-?\d+\.\d+")

# Runs in an interpreter of its own: kernels, sockets and event loops warn of their own affairs.
_RUN = """
import sys
import nbformat
from nbclient import NotebookClient

path, folder = sys.argv[1:]
notebook = nbformat.read(path, 4)
NotebookClient(
    notebook, timeout=120, kernel_name="python3", record_timing=False, resources={"metadata": {"path": folder}}
).execute()
nbformat.write(notebook, path)
"""


def cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook."""
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return found


def source(cell: dict[str, Any]) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])


def said(cell: dict[str, Any]) -> str:
    """Return what a cell prints and what its last line is worth, as text."""
    texts = []
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream" and output["name"] == "stdout":
            texts.append("".join(output["text"]))
        elif "data" in output:
            texts.append("".join(output["data"].get("text/plain", "")) + "\n")
    return "".join(texts)


def is_same(kept: str, now: str) -> bool:
    """Say whether two texts are the same but for small differences of their decimals."""
    if _DECIMAL.sub("#", kept) != _DECIMAL.sub("#", now):
        return False
    pairs = zip(_DECIMAL.findall(kept), _DECIMAL.findall(now), strict=True)
    return all(abs(float(one) - float(other)) <= _TOLERANCE for one, other in pairs)


def execute(notebook: Path, work: Path) -> Path:
    """Run a notebook in a copy of its folder and return the copy of the notebook, with its new outputs."""
    folder = work / "notebooks"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("docs", ".ipynb_checkpoints"))
    copy = folder / notebook.name
    nowhere = "http://127.0.0.1:9"
    offline = {"HF_HUB_OFFLINE": "1", "http_proxy": nowhere, "https_proxy": nowhere, "MPLBACKEND": ""}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(copy), str(folder)],
        capture_output=True, text=True, env={**os.environ, **offline, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return copy


def test_there_are_notebooks() -> None:
    assert [path.name[0] for path in NOTEBOOKS] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_it_is_kept_with(notebook: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    for kept, now in zip(cells(notebook), cells(execute(notebook, tmp_path)), strict=True):
        old, new = said(kept), said(now)
        assert is_same(old, new), (
            f"cell {kept['id']}: run `python -m tests.test_notebooks`\n--- kept\n{old}\n--- now\n{new}"
        )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_clean(notebook: Path) -> None:
    text = "\n".join(source(cell) + said(cell) for cell in cells(notebook))
    for cell in cells(notebook):
        assert len(source(cell).splitlines()) <= 40, f"cell {cell['id']} is long"
        if cell["cell_type"] == "code":
            assert not cell["metadata"], f"cell {cell['id']} has metadata"
            names = [output.get("name") for output in cell["outputs"]]
            assert "stderr" not in names, f"cell {cell['id']} complains"
    counts = [cell["execution_count"] for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run `python -m tests.test_notebooks`"
    for pattern in (r"/home/", r"/root", r"/tmp", r"/var/", r"[A-Z]:\\", r"site-packages", r"0x[0-9a-f]{6}"):
        assert not re.search(pattern, text), pattern


def test_small_differences_of_decimals_are_no_difference() -> None:
    assert is_same("NDCG 0.70 of 20", "NDCG 0.75 of 20")
    assert not is_same("NDCG 0.70 of 20", "NDCG 0.90 of 20")
    assert not is_same("NDCG 0.70 of 20", "NDCG 0.70 of 21")


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(FOLDER / "docs" / "mkdocs.yml")]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "site")], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    import llama_index_codeindex

    page = (tmp_path / "site" / "api" / "index.html").read_text("utf-8")
    for name in llama_index_codeindex.__all__:
        assert re.search(rf'id="llama_index_codeindex[a-z_.]*\.{name}"', page), f"{name} is on no page"
    for html in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(r'(?:src|href)="(https?://[^"]+\.(?:js|css)[^"]*)"', html.read_text("utf-8"))
        assert not loaded, f"{html.name} loads {loaded}"


def _keep() -> None:
    """Run every notebook and keep its outputs, without what differs from run to run."""
    import tempfile

    for notebook in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as work:
            content = json.loads(execute(notebook, Path(work)).read_text("utf-8"))
        content["metadata"]["language_info"] = {"name": "python"}
        for cell in content["cells"]:
            cell["metadata"] = {}
            if "outputs" in cell:
                cell["outputs"] = _joined(cell["outputs"])
        notebook.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        sys.stdout.write(f"kept {notebook.name}\n")


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return outputs with the parts of standard output in one, and without what libraries log."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if output.get("name") == "stderr":
            continue
        before = joined[-1] if joined else {}
        if output["output_type"] == "stream" and before.get("name") == output["name"]:
            before["text"] = before["text"] + output["text"]
        else:
            joined.append(output)
    return joined


if __name__ == "__main__":
    _keep()
