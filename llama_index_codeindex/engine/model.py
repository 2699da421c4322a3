"""The frozen types that travel between the rooms."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

GapReason = Literal[
    "binary",  # a NUL byte, or a format that is no text
    "budget",  # the walk budget ended before it
    "cache_dir",  # a well-known or self-declared cache folder, not listed
    "denied",  # may hold secrets; never read
    "link",  # an alias of something inside the root, read under its real path
    "link_broken",
    "link_outside",
    "minified",
    "nested_repository",  # another repository or worktree inside this one
    "not_evaluated",  # readable, but not understood here
    "special_file",  # a FIFO, socket or device; never opened
    "too_large",
    "undecodable",  # a name that no UTF-8 output could show
    "unparsed",  # read, but its grammar failed: cut by lines, so its symbols are missing
    "unreadable",
]

Mode = Literal["all", "meaning", "path", "symbol"]

EmptyReason = Literal[
    "empty_index",
    "filtered_out",
    "gone",
    "no_known_word",
    "no_lane",
    "no_neighbours",
    "no_path",
    "no_phrase",
    "no_symbol",
    "no_tokens",
    "no_vectors",
]

# Why an answer is empty, for people.
EMPTY_SENTENCES: dict[EmptyReason, str] = {
    "empty_index": "The index holds no code yet.",
    "filtered_out": "The question is answered, but the filters leave none of it.",
    "gone": "What answers the question has been deleted since it was indexed.",
    "no_known_word": "No word of the question is in the code.",
    "no_lane": "What could answer the question is unavailable for now.",
    "no_neighbours": "No other code resembles this place.",
    "no_path": "No path of the index fits.",
    "no_phrase": "No code holds the quoted text.",
    "no_symbol": "No definition of that name is in the index.",
    "no_tokens": "The question holds no word to look for.",
    "no_vectors": "The model or the index has no vectors to search by meaning.",
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that the walk admits. `path` is relative to the root, in POSIX form."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Something the walk met that is not in the index, and why."""

    path: str
    reason: GapReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file as every later room sees it: decoded, secrets redacted, line count unchanged."""

    path: str
    text: str
    content_hash: str
    encoding: str
    redactions: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines are 1-based and inclusive, and include decorators and the attached comment."""

    name: str
    qualified: str
    kind: str
    scope: str
    start_line: int
    end_line: int
    name_line: int
    signature: str


class Reference(NamedTuple):
    """A use of a name: `kind` is call, type, import, inherit, or value where it is only handed on."""

    name: str
    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file: whole lines, or a part of one line that is longer than the limit, from `offset` on.

    `symbol` is the qualified name of the chunk's main definition, `scope` the definition around it, and `context`
    the header line of that scope, which the embedder and the reader get with the text but which is not in the span.
    """

    ordinal: int
    start_line: int
    end_line: int
    text: str
    symbol: str = ""
    kind: str = ""
    scope: str = ""
    context: str = ""
    part: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """What the syntax room finds in one source."""

    language: str
    chunks: tuple[Chunk, ...]
    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()
    structural: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer. `text` is what the file holds now; `lanes` maps each lane that found it to its rank there."""

    row: int  # the chunk's key inside one generation
    chunk_id: str
    file_path: str
    start_line: int
    end_line: int
    text: str
    score: float
    language: str
    symbol: str = ""
    symbol_kind: str = ""
    scope: str = ""
    context: str = ""
    content_hash: str = ""
    category: str = "source"
    lanes: dict[str, int] = field(default_factory=dict)
    stale: bool = False
    focus_line: int = 0  # the line that matches best; 0 when the whole chunk does
    source: str = ""  # which index it came from, when several are searched

    def place(self) -> dict[str, Any]:
        """Return where it is and what is there."""
        return {
            "file_path": self.file_path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "symbol": self.symbol,
        }

    def summary(self) -> dict[str, Any]:
        """Return the public JSON form, without the text."""
        return {
            **self.place(),
            "symbol_kind": self.symbol_kind,
            "language": self.language,
            "score": round(self.score, 4),
            "lanes": dict(self.lanes),
            "stale": self.stale,
        }


@dataclass(frozen=True, slots=True)
class Watermark:
    """Which snapshot of the code an answer describes."""

    generation: int = 0
    state: str = "current"
    commit: str = ""
    branch: str = ""
    dirty_digest: str = ""
    scanned_at: str = ""
    files: int = 0
    chunks: int = 0
    gaps: dict[str, int] = field(default_factory=dict)
    parser_fingerprint: str = ""
    embedding_model: str = ""
    embedded_share: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, and how far they can be trusted.

    `empty_reason` says why there are none, and `filtered_preview` which places filters removed, if it was them: the first
    three, without their text.
    """

    hits: list[Hit]
    degraded: bool
    degraded_reasons: list[str]
    watermark: Watermark
    empty_reason: EmptyReason | Literal[""] = ""
    filtered_preview: tuple[Hit, ...] = ()

    @property
    def explanation(self) -> str:
        """Why there are no hits, in a sentence for people; empty when there are some."""
        return EMPTY_SENTENCES[self.empty_reason] if self.empty_reason else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the public JSON form."""
        shown: dict[str, Any] = {
            "hits": [hit.summary() for hit in self.hits],
            "degraded": self.degraded,
            "degraded_reasons": list(self.degraded_reasons),
            "watermark": self.watermark.to_dict(),
        }
        if self.empty_reason:
            shown["empty_reason"] = self.empty_reason
        if self.filtered_preview:
            shown["filtered_preview"] = [hit.place() for hit in self.filtered_preview]
        return shown


def count_gaps(gaps: list[Gap]) -> dict[str, int]:
    """Return how many gaps there are of each reason, in alphabetical order."""
    return dict(sorted(Counter(gap.reason for gap in gaps).items()))
