"""What the README shows is run: its Python as it stands, its commands by the continuous checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_snippets_and_two_commands() -> None:
    assert SNIPPETS
    assert len(re.findall(r"^python3 -m venv", README, re.MULTILINE)) == 2


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_runs(snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "redact.py").write_text("def redact(token):\n    '''Hide a token.'''\n    return '[redacted]'\n")
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})


def test_every_public_name_in_the_readme_exists() -> None:
    import llama_index_codeindex

    for name in re.findall(r"`((?:Code|Symbol|Oversized|Hybrid|Context|Local)[A-Za-z]+)[(`]", README):
        if name != "CodeSplitter":
            assert name in llama_index_codeindex.__all__, name
