"""A git that is nobody's: no configuration of the person or the machine reaches these tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., bytes]


@pytest.fixture(autouse=True)
def config_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point everything git reads from a home folder at an empty one, and return its configuration folder."""
    home = tmp_path_factory.mktemp("home")
    config = home / "config"
    config.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    for name, value in (("NAME", "A"), ("EMAIL", "a@example.org")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    return config


@pytest.fixture
def git() -> Git:
    """Return a function that runs git in a folder and returns what it prints."""

    def run(folder: Path, *arguments: str) -> bytes:
        command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout

    return run


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    """Return the top of an empty repository."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder
