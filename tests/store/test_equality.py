"""An index that grew by refreshes equals one that is built at once: rows, answers, scores and ranks."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from llama_index_codeindex.engine.codebase import Codebase
from tests.store.support import CountingEmbedder, answers, commit, contents, git, write

SEQUENCES = int(os.environ.get("CODEINDEX_SEQUENCES", "15"))
STEPS = int(os.environ.get("CODEINDEX_STEPS", "8"))

QUESTIONS = (
    "open connection",
    "load_config",
    "Store.save",
    "how is the cache invalidated",
    "src/alpha.py",
    "conn",
    "retry after timeout",
)
FOLDERS = ("", "src/", "src/deep/", "lib/", "tests/")
NAMES = ("alpha.py", "beta.py", "gamma.ts", "notes.md", "delta.go", "data.bin", "odd name é.py")
WORDS = ("connection", "config", "cache", "store", "retry", "timeout", "invalidate", "parse", "token", "save")
IGNORES = ("", "lib/\n", "*.md\n", "src/deep\n!alpha.py\n", "*\n!*.py\n!*/\n")

paths = st.builds(lambda folder, name: folder + name, st.sampled_from(FOLDERS), st.sampled_from(NAMES))
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)


def python_text(parts: list[str]) -> str:
    lines = [f"from lib.{parts[0]} import load_{parts[-1]}", ""]
    for number, word in enumerate(parts):
        lines += [
            f"def {word}_{parts[0]}_{number}(value):",
            f'    """Handle the {word} of a {parts[-1]}."""',
            f"    return load_{word}(value, {parts[0]})",
            "",
        ]
    lines += [f"class {parts[0].title()}:", f"    def {parts[-1]}(self):", f"        return open_{parts[0]}(self)", ""]
    return "\n".join(lines)


def text_for(path: str, parts: list[str]) -> str | bytes:
    if path.endswith(".bin"):
        return b"\0" + " ".join(parts).encode()
    if path.endswith(".md"):
        return f"# About {parts[0]}\n\nHow the {' and the '.join(parts)} work.\n"
    if path.endswith(".ts"):
        return "".join(f"export function {w}Handler(x: {w.title()}) {{ return load_{w}(x); }}\n" for w in parts)
    if path.endswith(".go"):
        return "package main\n" + "".join(f"\nfunc {w.title()}() error {{\n\treturn open{w}()\n}}\n" for w in parts)
    return python_text(parts)


class Tree(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="codeindex-equal-")).resolve()
        self.root = self.base / "repository"
        self.root.mkdir()
        git(self.root, "init", "-q", "-b", "main")
        self.embedder = CountingEmbedder()
        self.grown = Codebase(self.root, self.base / "grown", self.embedder)
        self.builds = 0
        self.branches = ["main"]

    @initialize(first=st.lists(st.tuples(paths, words), min_size=3, max_size=8))
    def begin(self, first: list[tuple[str, list[str]]]) -> None:
        for path, parts in first:
            write(self.root, {path: text_for(path, parts)})
        commit(self.root, "first")

    def files(self) -> list[Path]:
        found = [path for path in sorted(self.root.rglob("*")) if path.is_file() and ".git" not in path.parts]
        return [path for path in found if path.name != ".gitignore"]

    def pick(self, number: int) -> Path | None:
        files = self.files()
        return files[number % len(files)] if files else None

    @rule(path=paths, parts=words)
    def edit(self, path: str, parts: list[str]) -> None:
        write(self.root, {path: text_for(path, parts)})

    @rule(number=st.integers(0, 99), lines=st.integers(1, 5))
    def shift(self, number: int, lines: int) -> None:
        path = self.pick(number)
        if path is not None:
            path.write_bytes(b"#\n" * lines + path.read_bytes())

    @rule(number=st.integers(0, 99))
    def cut_the_end(self, number: int) -> None:
        path = self.pick(number)
        if path is not None:
            text = path.read_bytes()
            path.write_bytes(text[: len(text) // 2])

    @rule(number=st.integers(0, 99), place=paths)
    def rename(self, number: int, place: str) -> None:
        path = self.pick(number)
        if path is not None:
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            path.replace(self.root / place)

    @rule(number=st.integers(0, 99))
    def delete(self, number: int) -> None:
        path = self.pick(number)
        if path is not None:
            path.unlink()

    @rule(folder=st.sampled_from(FOLDERS[1:]))
    def delete_folder(self, folder: str) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)

    @rule(number=st.integers(0, 99), old=st.sampled_from(WORDS))
    def rewrite_unseen(self, number: int, old: str) -> None:
        """Another content of the same size, with the times set back."""
        path = self.pick(number)
        if path is not None:
            before = path.stat()
            path.write_bytes(path.read_bytes().replace(old.encode(), old[::-1].encode()))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(number=st.integers(0, 99), mode=st.sampled_from((0o644, 0o755)), seconds=st.sampled_from((0, 1_000_000_000)))
    def touch(self, number: int, mode: int, seconds: int) -> None:
        path = self.pick(number)
        if path is not None:
            path.chmod(mode)
            os.utime(path, (seconds, seconds) if seconds else None)

    @rule(rules=st.sampled_from(IGNORES))
    def ignore(self, rules: str) -> None:
        (self.root / ".gitignore").write_text(rules)

    @rule(branch=st.sampled_from(("main", "feature", "other")))
    def switch(self, branch: str) -> None:
        commit(self.root, "before the switch")
        if branch in self.branches:
            git(self.root, "checkout", "-q", branch)
        else:
            git(self.root, "checkout", "-q", "-b", branch)
            self.branches.append(branch)

    @rule()
    def commit_all(self) -> None:
        commit(self.root, "more")

    @rule()
    def open_again(self) -> None:
        self.grown.close()
        self.grown = Codebase(self.root, self.base / "grown", self.embedder)

    @invariant()
    def equals_a_new_index(self) -> None:
        self.grown.refresh()
        self.builds += 1
        fresh = Codebase(self.root, self.base / f"fresh{self.builds}", CountingEmbedder())
        try:
            fresh.refresh()
            assert contents(self.grown) == contents(fresh)
            assert answers(self.grown, QUESTIONS) == answers(fresh, QUESTIONS)
            ours, theirs = self.grown.status(), fresh.status()
            assert (ours.state, ours.embedded_share, ours.dirty_digest, ours.commit, ours.branch, ours.gaps) == (
                theirs.state, theirs.embedded_share, theirs.dirty_digest, theirs.commit, theirs.branch, theirs.gaps
            )  # fmt: skip
            generation = ours.generation
            assert self.grown.refresh().is_noop
            assert self.grown.status().generation == generation
        finally:
            fresh.close()
            shutil.rmtree(self.base / f"fresh{self.builds}")

    def teardown(self) -> None:
        self.grown.close()
        shutil.rmtree(self.base)


TestEquality = Tree.TestCase
TestEquality.settings = settings(
    max_examples=SEQUENCES,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize="CODEINDEX_SEQUENCES" not in os.environ,
    database=None,
    # Making a failing sequence smaller takes minutes: every step builds an index.
    phases=[Phase.generate, *([Phase.shrink] if "CODEINDEX_SHRINK" in os.environ else [])],
    suppress_health_check=list(HealthCheck),
)
