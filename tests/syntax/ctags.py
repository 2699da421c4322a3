"""What universal-ctags finds in a source, for comparison."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

# What counts as a function, class or method. Left out: variables, imports, labels, and names that ctags makes up.
_KINDS = frozenset(
    "function func method singletonMethod constructor procedure subroutine generator getter setter class struct interface "
    "trait enum union record protocol object module macro typealias type typedef callback".split()
)
_LANGUAGES = {
    "bash": "Sh", "c": "C", "cpp": "C++", "csharp": "C#", "elixir": "Elixir", "go": "Go", "haskell": "Haskell", "java": "Java",
    "javascript": "JavaScript", "julia": "Julia", "kotlin": "Kotlin", "lua": "Lua", "objc": "ObjectiveC", "ocaml": "OCaml",
    "perl": "Perl", "php": "PHP", "python": "Python", "r": "R", "ruby": "Ruby", "rust": "Rust", "tsx": "TypeScript",
    "typescript": "TypeScript",
}  # fmt: skip


def available() -> bool:
    """Say whether a universal-ctags with JSON output is installed."""
    if shutil.which("ctags") is None:
        return False
    features = subprocess.run(["ctags", "--list-features"], capture_output=True, text=True, check=False)
    return "json" in features.stdout


def definitions(language: str, path: Path) -> list[tuple[str, int]] | None:
    """Return name and line of every definition, or None where ctags does not know the language."""
    if language not in _LANGUAGES:
        return None
    command = [
        "ctags",
        "--output-format=json",
        "--fields=+n",
        "--sort=no",
        "-f",
        "-",
        f"--language-force={_LANGUAGES[language]}",
    ]
    run = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True)
    found = []
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        if (
            tag.get("_type") == "tag"
            and tag["kind"] in _KINDS
            and not re.match(r"__anon|anonFunc|Anonymous|<lambda>", tag["name"])
        ):
            found.append((tag["name"], tag["line"]))
    return found
