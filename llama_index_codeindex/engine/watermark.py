"""The watermark of an answer: which snapshot of the code it comes from, and how far that is the tree's."""

from __future__ import annotations

import json

from llama_index_codeindex.engine.model import Watermark
from llama_index_codeindex.engine.store.embedding import is_embedded
from llama_index_codeindex.engine.store.options import Embedder
from llama_index_codeindex.engine.store.store import View
from llama_index_codeindex.engine.store.tree import Tree


def watermark(view: View, tree: Tree, embedder: Embedder | None, *, changed: bool) -> Watermark:
    """Return the watermark of a generation.

    Args:
        view: The generation.
        tree: What it is compared with.
        embedder: The embedding model whose vectors it should have, or None.
        changed: Whether the tree's files are known to have moved on.
    """
    meta, store = view.meta, view.store
    share = _embedded_share(view, embedder)
    lacks_lane = view.lexical is None or (embedder is not None and share < 1.0 and view.chunks > 0)
    return Watermark(
        generation=view.generation, state=_state(view, tree, changed=changed, lacks_lane=lacks_lane),
        commit=meta.get("commit", ""), branch=meta.get("branch", ""), dirty_digest=meta.get("tree_digest", ""),
        scanned_at=max(meta.get("scanned_at", ""), store.verified_at if meta.get("stamp") else ""), files=view.files,
        chunks=view.chunks, gaps=json.loads(meta.get("gaps", "{}")), parser_fingerprint=meta.get("fingerprint", ""),
        embedding_model=embedder.model_id if embedder else "", embedded_share=round(share, 4),
    )  # fmt: skip


def _embedded_share(view: View, embedder: Embedder | None) -> float:
    if embedder is None or not view.chunks:
        return 0.0
    if is_embedded(view.meta, embedder.model_id):
        return 1.0
    return view.catalog.vectors.count(embedder.model_id) / view.chunks


def _state(view: View, tree: Tree, *, changed: bool, lacks_lane: bool) -> str:
    """Return the state: what went wrong comes before what is old, and that before what is incomplete."""
    meta = view.meta
    if view.store.failure or meta.get("failed"):
        return "failed"
    if not meta.get("stamp"):
        return "indexing"
    head = tree.head()
    if changed or (head.commit, head.branch) != (meta.get("commit", ""), meta.get("branch", "")):
        return "stale"
    return "partial" if lacks_lane else "current"
