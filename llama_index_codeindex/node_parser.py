"""Node parsers: cutting code along its symbols, and splitting what any parser left too large."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.callbacks import CallbackManager
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, MetadataMode, NodeRelationship, TextNode
from llama_index.core.utils import get_tokenizer, get_tqdm_iterable

from llama_index_codeindex.engine.model import Chunk, Outline
from llama_index_codeindex.engine.store.contents import chunk_ids, text_hash
from llama_index_codeindex.engine.syntax.chunking import MAX_CHARS
from llama_index_codeindex.engine.syntax.languages import BY_NAME
from llama_index_codeindex.engine.syntax.outline import SYNTAX_VERSION, outline
from llama_index_codeindex.engine.syntax.splitting import Limits, split_oversized

_DEFAULT_ID_FUNC = NodeParser.model_fields["id_func"].default

# The metadata that places a node. It is kept out of what embedder and LLM are given; `context` is not.
LOCATION_KEYS = [
    "file_path", "start_line", "end_line", "language", "category", "symbol", "symbol_kind", "scope", "content_hash",
    "part", "encoding", "symbols",
]  # fmt: skip
# The header of the enclosing definition, above the text, and nothing else.
_METADATA_TEMPLATE = "{value}"
_TEXT_TEMPLATE = "{metadata_str}\n{content}"


class _CodeNodeParser(NodeParser):
    """What both parsers share: exact offsets, round trips, and an async twin that leaves the event loop free."""

    include_prev_next_rel: bool = Field(
        default=False, description="Whether nodes know their neighbours; each link copies the neighbour's metadata."
    )

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Any:
        """Return the parser that `to_dict` described; the default `id_func` is written as a name, which is dropped."""
        kept = {k: v for k, v in data.items() if not (k == "id_func" and not callable(v))}
        return super().from_dict(kept, **kwargs)

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress, **kwargs)

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        # The base class looks offsets up by text, which finds the wrong one of two equal chunks.
        offsets = {id(n): (n.start_char_idx, n.end_char_idx) for n in nodes if isinstance(n, TextNode)}
        nodes = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node in nodes:
            if isinstance(node, TextNode):
                node.start_char_idx, node.end_char_idx = offsets[id(node)]
        return nodes

    def _identify(self, number: int, node: BaseNode, deterministic: str) -> str:
        """Return the id of a node: deterministic, unless the caller brought an `id_func`."""
        if self.id_func is _DEFAULT_ID_FUNC:
            return deterministic
        return str(self.id_func(number, node))


class SymbolNodeParser(_CodeNodeParser):
    """Cut source files into nodes along their classes, functions and other definitions.

    Every non-blank line of a file is in exactly one node, with exact `start_line` and `end_line`. The language comes from
    the document's `language`, else from its `file_path`, else from its id. Files that no grammar fits are cut at blank
    lines.

    Args:
        max_chars: No node has more characters.
        include_prev_next_rel: Whether nodes know their neighbours.
        id_func: Makes node ids; by default they follow from path, symbol and content, so that equal files give equal ids.
        callback_manager: LlamaIndex's callbacks.
    """

    max_chars: int = Field(default=MAX_CHARS, ge=40, description="No node has more characters.")
    syntax_version: int = Field(default=SYNTAX_VERSION, description="Changes when the same text is cut otherwise.")

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the parser is serialised."""
        return "SymbolNodeParser"

    @classmethod
    def from_defaults(
        cls,
        max_chars: int = MAX_CHARS,
        include_metadata: bool = True,
        include_prev_next_rel: bool = False,
        callback_manager: CallbackManager | None = None,
        id_func: Callable[[int, Document], str] | None = None,
    ) -> SymbolNodeParser:
        """Return a parser; see the class."""
        return cls(
            max_chars=max_chars, include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel,
            callback_manager=callback_manager or CallbackManager([]), id_func=id_func or _DEFAULT_ID_FUNC,
        )  # fmt: skip

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        found: list[BaseNode] = []
        taken: dict[str, int] = {}
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing code"):
            found.extend(self._parse(node, taken))
        return found

    def _parse(self, document: BaseNode, taken: dict[str, int]) -> list[TextNode]:
        text = document.get_content(metadata_mode=MetadataMode.NONE)
        path = str(document.metadata.get("file_path") or document.node_id)
        language = BY_NAME.get(str(document.metadata.get("language") or ""))
        result = outline(path, text, self.max_chars, language)
        source = document.as_related_node_info()
        starts = _line_starts(text)
        nodes = []
        # A node that was itself cut from a file says where in it it starts.
        lines_before, chars_before = _line(document, 1) - 1, _offset(document)
        hashes = [text_hash(chunk.text) for chunk in result.chunks]
        for chunk, identity in zip(result.chunks, chunk_ids(path, result.chunks, hashes), strict=True):
            start = chars_before + starts[chunk.start_line - 1] + chunk.offset
            # Two documents may be parts of one file and hold the same text.
            taken[identity] = taken.get(identity, -1) + 1
            if taken[identity]:
                identity = f"{identity}~{taken[identity]}"
            nodes.append(
                TextNode(
                    id_=self._identify(chunk.ordinal, document, identity),
                    text=chunk.text,
                    metadata=self._metadata(document, chunk, path, result, lines_before),
                    excluded_embed_metadata_keys=_hidden(document.excluded_embed_metadata_keys, document.metadata),
                    excluded_llm_metadata_keys=_hidden(document.excluded_llm_metadata_keys, document.metadata),
                    metadata_template=_METADATA_TEMPLATE,
                    text_template=_TEXT_TEMPLATE,
                    relationships={NodeRelationship.SOURCE: source},
                    start_char_idx=start,
                    end_char_idx=start + len(chunk.text),
                )
            )
        return nodes

    def _metadata(
        self, document: BaseNode, chunk: Chunk, path: str, result: Outline, lines_before: int
    ) -> dict[str, Any]:
        metadata: dict[str, Any] = dict(document.metadata) if self.include_metadata else {}
        metadata |= {
            "file_path": path,
            "start_line": lines_before + chunk.start_line,
            "end_line": lines_before + chunk.end_line,
            "language": result.language,
            "symbol": chunk.symbol,
            "symbol_kind": chunk.kind,
            "scope": chunk.scope,
            "content_hash": text_hash(chunk.text),
        }
        optional = {"part": chunk.part, "context": chunk.context, "symbols": _symbols_of(chunk, result, lines_before)}
        return metadata | {key: value for key, value in optional.items() if value}


def _symbols_of(chunk: Chunk, result: Outline, lines_before: int) -> str:
    """Return the definitions of a chunk that holds several, as JSON: vector stores take flat metadata only."""
    inside = [
        [s.kind, s.name, s.qualified, s.scope, s.start_line + lines_before, s.end_line + lines_before]
        for s in result.symbols
        if chunk.start_line <= s.name_line <= chunk.end_line
    ]
    return json.dumps(inside, ensure_ascii=False) if len(inside) > 1 else ""


class OversizedNodeSplitter(_CodeNodeParser):
    """Split nodes over a limit, whichever parser made them, and pass the others through.

    Pieces joined give the node's text. Each has its exact lines, if the node has them, and `part` as `1/3`.

    Args:
        max_chars: No piece has more characters.
        max_lines: No piece has more lines, if given.
        max_tokens: No piece has more tokens, if given.
        tokenizer: Turns a text into tokens; LlamaIndex's global one by default.
    """

    max_chars: int = Field(default=4 * MAX_CHARS, ge=1, description="No piece has more characters.")
    max_lines: int | None = Field(default=None, ge=1, description="No piece has more lines.")
    max_tokens: int | None = Field(default=None, ge=1, description="No piece has more tokens.")
    tokenizer: Callable[[str], Sequence[Any]] | None = Field(default=None, exclude=True, description="Counts tokens.")

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the splitter is serialised."""
        return "OversizedNodeSplitter"

    @classmethod
    def from_defaults(
        cls,
        max_chars: int = 4 * MAX_CHARS,
        max_lines: int | None = None,
        max_tokens: int | None = None,
        tokenizer: Callable[[str], Sequence[Any]] | None = None,
        include_metadata: bool = True,
        include_prev_next_rel: bool = False,
        callback_manager: CallbackManager | None = None,
        id_func: Callable[[int, Document], str] | None = None,
    ) -> OversizedNodeSplitter:
        """Return a splitter; see the class."""
        return cls(
            max_chars=max_chars, max_lines=max_lines, max_tokens=max_tokens, tokenizer=tokenizer,
            include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel,
            callback_manager=callback_manager or CallbackManager([]), id_func=id_func or _DEFAULT_ID_FUNC,
        )  # fmt: skip

    def _limits(self) -> Limits:
        if self.max_tokens is None:
            return Limits(self.max_chars, self.max_lines)
        tokenizer = self.tokenizer or get_tokenizer()
        return Limits(self.max_chars, self.max_lines, self.max_tokens, lambda text: len(tokenizer(text)))

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        limits = self._limits()
        found: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Splitting nodes"):
            found.extend(self._split(node, limits))
        return found

    def _split(self, node: BaseNode, limits: Limits) -> list[BaseNode]:
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        pieces = split_oversized(text, limits)
        if len(pieces) == 1 and isinstance(node, TextNode):
            return [node.model_copy()]
        source = node.source_node or node.as_related_node_info()
        offset = _offset(node)
        # Nodes of parsers that count no lines have none; a whole document starts at the first.
        line = _line(node, 1 if isinstance(node, Document) else 0)
        split: list[BaseNode] = []
        for number, piece in enumerate(pieces, 1):
            metadata: dict[str, Any] = dict(node.metadata) if self.include_metadata else {}
            metadata |= {"content_hash": text_hash(piece), "part": f"{number}/{len(pieces)}"}
            if line:
                metadata["start_line"] = line
                metadata["end_line"] = line + piece.count("\n") - piece.endswith("\n")
                line += piece.count("\n")
            split.append(
                TextNode(
                    id_=self._identify(number - 1, node, f"{node.node_id}/{number}"),
                    text=piece,
                    metadata=metadata,
                    excluded_embed_metadata_keys=_hidden(node.excluded_embed_metadata_keys, {}),
                    excluded_llm_metadata_keys=_hidden(node.excluded_llm_metadata_keys, {}),
                    metadata_template=getattr(node, "metadata_template", "{key}: {value}"),
                    text_template=getattr(node, "text_template", "{metadata_str}\n\n{content}"),
                    relationships={NodeRelationship.SOURCE: source},
                    start_char_idx=offset,
                    end_char_idx=offset + len(piece),
                )
            )
            offset += len(piece)
        return split


def _hidden(keys: Sequence[str], metadata: dict[str, Any]) -> list[str]:
    """Return the keys that embedder and LLM are not given: the document's own choice, the location, and its facts."""
    return list(dict.fromkeys([*keys, *LOCATION_KEYS, *(key for key in metadata if key != "context")]))


def _line(node: BaseNode, default: int) -> int:
    line = node.metadata.get("start_line")
    return line if isinstance(line, int) and line > 0 else default


def _offset(node: BaseNode) -> int:
    return (node.start_char_idx or 0) if isinstance(node, TextNode) else 0


def _line_starts(text: str) -> list[int]:
    starts = [0]
    while (end := text.find("\n", starts[-1])) >= 0:
        starts.append(end + 1)
    return starts
