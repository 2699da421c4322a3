"""Fixtures that every room's tests share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeTree = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture(autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own git configuration and caches out of every test."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_DIR", raising=False)


@pytest.fixture
def tree(tmp_path: Path) -> MakeTree:
    """Write files below a new folder and return it."""

    def make(files: Mapping[str, str | bytes]) -> Path:
        root = tmp_path / "tree"
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        root.mkdir(exist_ok=True)
        return root

    return make
