"""The context pack as a node postprocessor: put it last."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.utils import get_tokenizer

from llama_index_codeindex.engine.context.pack import MAX_HITS, MAX_LINES, MAX_TOKENS, Pack, make_pack
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.jail import resolve_root
from llama_index_codeindex.engine.model import Hit
from llama_index_codeindex.engine.search.texts import DiskTexts


class ContextPackPostprocessor(BaseNodePostprocessor):
    """Turn retrieved nodes into a context pack: few lines, read from disk now, as delimited data.

    Every excerpt stays a node of its own, with exact lines, so citations and `source_nodes` work. The first one carries
    the instruction that what follows is data. The nodes given are not changed.

    Args:
        root: The code base the nodes come from; without it the nodes' own text is used.
        max_hits: How many excerpts at most.
        max_lines: How many lines each at most: the window that matches best.
        max_tokens: A hard cap on the whole; the lowest ranks are dropped first, the best is shortened.
        tokenizer: Turns a text into tokens; LlamaIndex's global one by default.
    """

    root: str | None = Field(default=None, description="The code base the nodes come from.")
    max_hits: int = Field(default=MAX_HITS, ge=1, description="How many excerpts at most.")
    max_lines: int = Field(default=MAX_LINES, ge=1, description="How many lines an excerpt has at most.")
    max_tokens: int = Field(default=MAX_TOKENS, ge=100, description="How many tokens the pack has at most.")
    tokenizer: Callable[[str], Sequence[Any]] | None = Field(default=None, exclude=True, description="Counts tokens.")

    def __init__(self, root: str | os.PathLike[str] | None = None, **kwargs: Any) -> None:
        super().__init__(root=None if root is None else os.fspath(root), **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the postprocessor is serialised."""
        return "ContextPackPostprocessor"

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has for this postprocessor's tokenizer."""
        return len((self.tokenizer or get_tokenizer())(text))

    def pack(self, nodes: Sequence[NodeWithScore], question: str = "") -> Pack:
        """Return the pack of some nodes, best first.

        Args:
            nodes: Retrieved nodes; their order is their rank.
            question: What the windows are chosen for.

        Raises:
            RootError: The root cannot be used.
        """
        # The root was admitted when it was indexed; here only its files are read.
        texts = DiskTexts(Gate(resolve_root(self.root, allow_broad=True))) if self.root is not None else None
        hits = [_hit(rank, node, texts) for rank, node in enumerate(nodes)]
        first = nodes[0].node.metadata if nodes else {}
        return make_pack(
            hits, question, max_hits=self.max_hits, max_lines=self.max_lines, max_tokens=self.max_tokens,
            count_tokens=self.count_tokens, generation=_number(first.get("generation"), 0),
            commit=str(first.get("commit") or ""),
        )  # fmt: skip

    def nodes_of(self, pack: Pack, nodes: Sequence[NodeWithScore]) -> list[NodeWithScore]:
        """Return the excerpts of a pack as nodes; `nodes` are those that the pack was made of."""
        packed = []
        for number, (block, text) in enumerate(zip(pack.blocks, pack.rendered_blocks(), strict=True)):
            origin = nodes[block.hit.row]
            metadata = {
                **origin.node.metadata, "start_line": block.start_line, "end_line": block.end_line,
                "truncated": block.truncated, "left_out": list(pack.left_out),
            }  # fmt: skip
            hidden = list(metadata)
            node = TextNode(
                id_=origin.node.node_id,
                text=f"{pack.preamble()}\n\n{text}" if number == 0 else text,
                metadata=metadata,
                excluded_embed_metadata_keys=hidden,
                excluded_llm_metadata_keys=hidden,
                relationships=dict(origin.node.relationships),
            )
            packed.append(NodeWithScore(node=node, score=origin.score))
        return packed

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.nodes_of(self.pack(nodes, query_bundle.query_str if query_bundle else ""), nodes)


def _hit(rank: int, scored: NodeWithScore, texts: DiskTexts | None) -> Hit:
    """Return a node as a hit with its text as it is now; `row` is its rank."""
    node, facts = scored.node, scored.node.metadata
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    path = str(facts.get("file_path") or "")
    start, end = _number(facts.get("start_line"), 1), _number(facts.get("end_line"), 0)
    stale = bool(facts.get("stale", False))
    if texts is not None and path:
        lines = texts.lines(path)
        found = _place(lines, text, start) if lines is not None else None
        stale = stale or found is None
        start = found or start
        end = 0 if found else end
    height = text.rstrip("\n").count("\n")
    return Hit(
        row=rank, chunk_id=node.node_id, file_path=path or node.node_id, start_line=start,
        end_line=max(end, start + height), text=text, score=float(scored.score or 0.0),
        language=str(facts.get("language") or ""), symbol=str(facts.get("symbol") or ""),
        context=str(facts.get("context") or ""), stale=stale,
    )  # fmt: skip


def _place(lines: list[str], text: str, start: int) -> int | None:
    """Return the line on which a text begins now: where it was, or the place next to it; None when it is gone."""
    whole = "".join(lines)
    found: list[int] = []
    at = whole.find(text) if text.strip() else -1
    line, counted = 1, 0
    while at >= 0:
        line += whole.count("\n", counted, at)
        counted = at
        found.append(line)
        if line >= start:
            break  # later ones are farther away
        at = whole.find(text, at + 1)
    return min(found, key=lambda line: abs(line - start), default=None)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
