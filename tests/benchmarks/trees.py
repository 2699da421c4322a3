"""The trees that are indexed: real Python code, grown by copies in which the names differ, and questions about them."""

from __future__ import annotations

import ast
import os
import random
import re
import subprocess
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# A name that people make up has an underscore or a capital. Plain words stay, as they do in real code that grows:
# keywords, prose, the commonest names. So do the names of the language's own methods.
_NAME = re.compile(r"\b(?!__)(?=\w*[_A-Z])[^\W\d]\w{5,}\b")
# The default of what is indexed; larger files are a gap of the walk's.
_MAX_BYTES = 1_000_000
_INSTALLED = {"site-packages", "dist-packages"}
# Words of a docstring's first line that make it a question.
_LEAST_WORDS = 4


@dataclass(slots=True)
class Questions:
    """What is asked about a tree."""

    prose: list[str] = field(default_factory=list)
    symbol: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)


def default_sources() -> list[Path]:
    """Return the folders of the standard library and of the installed packages."""
    return [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]


def _files(source: Path) -> Iterator[Path]:
    for path in sorted(source.rglob("*.py")):
        is_own = not _INSTALLED & set(path.relative_to(source).parts)
        if is_own and path.is_file() and not path.is_symlink() and 0 < path.stat().st_size <= _MAX_BYTES:
            yield path


def make_tree(root: Path, count: int, sources: Sequence[Path]) -> None:
    """Write a git repository of so many files.

    Fewer than there are: every so-and-so-manieth of all, so that small trees hold files like those of large ones. More:
    copies of all, each with its own names.
    """
    known = [(f"part_{number}", source, path) for number, source in enumerate(sources) for path in _files(source)]
    if not known:
        raise SystemExit("There is no Python file in the folders.")
    for number in range(count):
        copy, position = divmod(number, len(known)) if count > len(known) else (0, number * len(known) // count)
        part, source, path = known[position]
        name = path.relative_to(source).as_posix()
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if copy:
            # Letters, so that the last word of every name is another one.
            suffix = chr(ord("a") + copy % 26) * (1 + copy // 26) + "q"
            name, text = _rename(name, suffix), _rename(text, suffix)
        target = root / f"copy_{copy}" / part / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
    git(root, "init", "-q", "-b", "main")
    commit(root)


def _rename(text: str, suffix: str) -> str:
    return _NAME.sub(lambda name: name[0] + suffix, text)


def git(root: Path, *arguments: str) -> None:
    """Run git, whatever the user's settings."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    options = ("-c", "core.autocrlf=false", "-c", "gc.auto=0", "-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *options, *arguments], cwd=root, env=environment, capture_output=True, check=True)


def commit(root: Path) -> None:
    """Commit everything."""
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "all")


def python_files(root: Path) -> list[Path]:
    """Return the Python files of a tree."""
    return sorted(root.rglob("*.py"))


def ask_about(root: Path, count: int) -> Questions:
    """Return so many questions of each kind: first lines of docstrings, names that are defined, and ends of paths."""
    paths = python_files(root)
    random.Random(0).shuffle(paths)  # the same for the same tree
    found = Questions()
    for path in paths:
        if len(found.prose) >= count and len(found.symbol) >= count:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is in the files
                body = ast.parse(path.read_bytes()).body
        except (SyntaxError, ValueError):
            continue
        defined = [node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        first = [(ast.get_docstring(node) or "").partition("\n")[0] for node in defined]
        found.prose += [line for line in first if len(line.split()) >= _LEAST_WORDS][:2]
        found.symbol += [node.name for node in defined if len(node.name) > _LEAST_WORDS][:2]
        found.path.append("/".join(path.parts[-2:]))
    return Questions(found.prose[:count], found.symbol[:count], found.path[:count])
