"""Measure retrieval on a repository of your own: questions from a file, or made from its docstrings.

The metrics are those of LlamaIndex's `RetrieverEvaluator` (`hit_rate`, `mrr`, `ndcg`), over places instead of node ids: a
target is a file, or lines of a file, and any hit that touches it counts.
"""

from __future__ import annotations

import ast
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.files.categories import categorise
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.jail import resolve_root
from llama_index_codeindex.engine.files.walk import walk
from llama_index_codeindex.engine.model import Source, SourceFile
from llama_index_codeindex.engine.syntax.chunking import split_lines

# A docstring says what a function does in its first sentence; a shorter one says too little to be asked for.
_MIN_WORDS = 4
_MAX_WORDS = 30


@dataclass(frozen=True, slots=True)
class Target:
    """A place that answers a question; without lines, the whole file."""

    path: str
    start_line: int | None = None
    end_line: int | None = None

    def is_met_by(self, path: str, start_line: int, end_line: int) -> bool:
        """Say whether a hit touches this place."""
        if path != self.path:
            return False
        if self.start_line is None:
            return True
        return start_line <= (self.end_line or self.start_line) and end_line >= self.start_line


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the places that answer it."""

    query: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over questions, each between 0 and 1."""

    questions: int
    ndcg: float
    mrr: float
    hit_rate: dict[int, float]  # by k

    def to_dict(self) -> dict[str, object]:
        """Return the figures for a JSON file."""
        return asdict(self)


def load_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Return the questions of a JSON file: a list of `{"query", "targets"}`, a target a path or an object with lines.

    Raises:
        InvalidArgument: The file is not of that form.
    """
    try:
        rows = json.loads(Path(path).read_text("utf-8"))
        return [Question(str(row["query"]), tuple(_target(target) for target in row["targets"])) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(
            f"{Path(path).name} is no list of questions: {type(error).__name__}.",
            suggestion='Write [{"query": "…", "targets": ["src/a.py", {"path": "src/b.py", "start_line": 3, "end_line": 9}]}].',
        ) from None


def save_questions(questions: Iterable[Question], path: str | os.PathLike[str]) -> None:
    """Write questions in the form that `load_questions` reads."""
    rows = [asdict(question) for question in questions]
    Path(path).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _target(given: object) -> Target:
    if isinstance(given, str):
        return Target(given)
    if not isinstance(given, dict):
        raise TypeError("a target is a path or an object")
    return Target(str(given["path"]), given.get("start_line"), given.get("end_line"))


def evaluate(
    retriever: BaseRetriever, questions: Sequence[Question], ks: Sequence[int] = (1, 3, 5, 10), depth: int = 10
) -> Evaluation:
    """Ask every question and return the means.

    Args:
        retriever: Any retriever whose nodes carry `file_path`, `start_line` and `end_line`; let it return `depth` nodes.
        questions: The questions.
        ks: For which k to give the hit rate.
        depth: Hits below this rank do not count.

    Raises:
        InvalidArgument: There is no question.
    """
    if not questions:
        raise InvalidArgument(
            "There is no question to ask.", suggestion="Load questions, or make them from docstrings."
        )
    ranks = [target_ranks(retriever.retrieve(question.query)[:depth], question.targets) for question in questions]
    best = [min((rank for rank in found if rank), default=0) for found in ranks]
    count = len(questions)
    return Evaluation(
        count,
        sum(ndcg(found, depth) for found in ranks) / count,
        sum(1 / rank if rank else 0.0 for rank in best) / count,
        {k: sum(0 < rank <= k for rank in best) / count for k in ks},
    )


def target_ranks(nodes: Sequence[NodeWithScore], targets: Sequence[Target]) -> list[int]:
    """Return the rank, from 1, of the first node that meets each target; 0 where none does."""
    ranks = []
    for target in targets:
        places = (
            rank
            for rank, node in enumerate(nodes, 1)
            if target.is_met_by(
                str(node.node.metadata.get("file_path", "")),
                int(node.node.metadata.get("start_line", 0)),
                int(node.node.metadata.get("end_line", 0)),
            )
        )
        ranks.append(next(places, 0))
    return ranks


def ndcg(ranks: Sequence[int], depth: int = 10) -> float:
    """Return the normalised discounted cumulative gain with binary gains (Järvelin and Kekäläinen, 2002).

    Args:
        ranks: The rank of the first hit of each target; 0 where there is none.
        depth: How many ranks count.
    """
    gained = sum(1 / math.log2(rank + 1) for rank in set(ranks) if 0 < rank <= depth)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(depth, len(ranks))))
    return gained / ideal if ideal else 0.0


def questions_from_docstrings(
    root: str | os.PathLike[str], out: str | os.PathLike[str], limit: int | None = None
) -> list[Question]:
    """Make questions from the docstrings of a Python code base, and a copy of it without them.

    The question is a docstring's first sentence, the target the lines of its function. In the copy the docstring's lines
    are blank, so that line numbers stay and no answer is found by the question's own words.

    Args:
        root: The code base.
        out: The folder for the copy; it must not exist or be empty.
        limit: How many questions at most, spread evenly over the code base.

    Raises:
        RootError: The root cannot be used.
        InvalidArgument: `out` holds files.
    """
    source_root, target = resolve_root(root), Path(out)
    if target.exists() and any(target.iterdir()):
        raise InvalidArgument(f"The folder {target.name!r} is not empty.", suggestion="Name a new folder.")
    gate = Gate(source_root)
    questions: list[Question] = []
    for found in walk(source_root):
        source = gate.read(found.path) if isinstance(found, SourceFile) else found
        if not isinstance(source, Source):
            continue
        text = source.text
        if found.path.endswith(".py"):
            asked, text = _ask(source)
            questions.extend(asked if categorise(found.path) == "source" else ())
        copy = target / found.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(text.encode("utf-8"))
    if limit is None or len(questions) <= limit:
        return questions
    return [questions[at * len(questions) // limit] for at in range(limit)]


def _ask(source: Source) -> tuple[list[Question], str]:
    """Return the questions of a file, and its text without docstrings."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return [], source.text
    lines = split_lines(source.text)
    questions = []
    for node, docstring in _documented(tree):
        assert docstring.end_lineno is not None
        text = docstring.value.value if isinstance(docstring.value, ast.Constant) else ""
        first, last = docstring.lineno, docstring.end_lineno
        if lines[first - 1][: docstring.col_offset].strip():
            continue  # behind other code on its line
        indent = " " * docstring.col_offset
        lines[first - 1 : last] = [indent + "...\n", *["\n"] * (last - first)]
        sentence = _first_sentence(str(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and sentence and node.end_lineno:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            questions.append(Question(sentence, (Target(source.path, start, node.end_lineno),)))
    return questions, "".join(lines)


def _documented(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Expr]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield node, first


def _first_sentence(docstring: str) -> str:
    """Return the first sentence if it is one that somebody might ask, else an empty string."""
    sentence = " ".join(docstring.strip().split("\n\n", 1)[0].split()).split(". ", 1)[0].rstrip(".")
    words = sentence.split()
    is_markup = sentence.startswith((":", ">>>", "@", "..", "TODO"))
    return sentence if _MIN_WORDS <= len(words) <= _MAX_WORDS and not is_markup else ""
