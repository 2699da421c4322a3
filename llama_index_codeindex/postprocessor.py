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
from llama_index_codeindex.engine.search.texts import DiskTexts, locate_text


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

    def pack(self, nodes: Sequence[NodeWithScore], question: str = "") -> Pack:
        """Return the pack of some nodes, best first.

        Args:
            nodes: Retrieved nodes; their order is their rank.
            question: What the windows are chosen for.

        Raises:
            RootError: The root cannot be used.
        """
        tokenizer = self.tokenizer or get_tokenizer()
        texts = DiskTexts(Gate(resolve_root(self.root))) if self.root is not None else None
        hits = [hit for rank, node in enumerate(nodes) if (hit := _hit(rank, node, texts)) is not None]
        first = nodes[0].node.metadata if nodes else {}
        return make_pack(
            hits, question, max_hits=self.max_hits, max_lines=self.max_lines, max_tokens=self.max_tokens,
            count_tokens=lambda text: len(tokenizer(text)), generation=int(first.get("generation") or 0),
            commit=str(first.get("commit") or ""),
        )  # fmt: skip

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        pack = self.pack(nodes, query_bundle.query_str if query_bundle else "")
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


def _hit(rank: int, scored: NodeWithScore, texts: DiskTexts | None) -> Hit | None:
    """Return a node as a hit with its text as it is now, or None when its file is gone. `row` is its rank."""
    node, facts = scored.node, scored.node.metadata
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    path = str(facts.get("file_path") or "")
    start, end = _line(facts.get("start_line"), 1), _line(facts.get("end_line"), 0)
    stale = bool(facts.get("stale", False))
    if texts is not None and path:
        located = locate_text(texts, path, start, end, text, str(facts.get("content_hash") or ""))
        if located is None:
            return None
        text, start, end, stale = located.text, located.start_line, located.end_line, located.stale
    return Hit(
        row=rank, chunk_id=node.node_id, file_path=path or node.node_id, start_line=start,
        end_line=max(end, start + text.rstrip("\n").count("\n")), text=text, score=float(scored.score or 0.0),
        language=str(facts.get("language") or ""), symbol=str(facts.get("symbol") or ""),
        context=str(facts.get("context") or ""), stale=stale,
    )  # fmt: skip


def _line(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
