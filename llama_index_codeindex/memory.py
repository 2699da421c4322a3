"""Code context as a memory block: for agents and simple chat engines that keep a `Memory`."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.core.prompts import RichPromptTemplate

from llama_index_codeindex.engine.context.pack import MAX_TOKENS
from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.grounding import RETRIEVED, Grounded, Grounder, root_of
from llama_index_codeindex.postprocessor import ContextPackPostprocessor

if TYPE_CHECKING:
    from llama_index_codeindex.indices import CodeIndex

# Conversations whose last pack is kept at once; one entry is a few kilobytes.
_KEPT = 32
# The asking memory stands three frames above the block; instrumentation may add a few.
_MAX_FRAMES = 16


class _PlainTemplate(RichPromptTemplate):  # type: ignore[no-redef]
    """Joins blocks with blank lines, the last one before the question included.

    LlamaIndex's template wraps them in tags, renders retrieved text with a template engine, and strips the line ends that
    part it from the question for clients that join message parts without any.
    """

    def __init__(self) -> None:
        super().__init__("{{ memory_blocks }}")

    def format_messages(self, llm: Any = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: ARG002
        blocks: list[ContentBlock] = []
        for _, content in kwargs["memory_blocks"]:
            for block in content:
                text = getattr(block, "text", None)
                blocks.append(block if text is None else TextBlock(text=text.rstrip("\n") + "\n\n"))
        return [ChatMessage(role=MessageRole.USER, blocks=blocks)]


class CodeContextMemoryBlock(BaseMemoryBlock[str]):
    """Give a conversation the code that its last question is about.

    Use it in a `Memory` with `insert_method="user"`: the pack then stands in the user's message, before the question.
    With LlamaIndex's default it would stand in the system message; the block refuses that. `code_memory` makes a fitting
    `Memory`. The code is searched once per question, however many steps an agent takes, and nothing is stored.

    Args:
        index: The index to search.
        similarity_top_k: How many hits the pack is chosen from.
        max_tokens: How many tokens the pack has at most.
    """

    name: str = Field(default="code_context", description="The name of the block.")
    description: str | None = Field(default="Excerpts of the code base.", description="What the block holds.")
    accept_short_term_memory: bool = Field(default=False, description="Nothing that was said is stored.")

    _grounder: Grounder = PrivateAttr()
    _packs: OrderedDict[tuple[str, int, str], Grounded] = PrivateAttr(default_factory=OrderedDict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(
        self, index: CodeIndex, similarity_top_k: int = RETRIEVED, max_tokens: int = MAX_TOKENS, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        retriever = index.as_retriever(similarity_top_k)
        self._grounder = Grounder(retriever, ContextPackPostprocessor(root=root_of(retriever), max_tokens=max_tokens))

    @property
    def last_facts(self) -> dict[str, Any]:
        """The facts of the newest answer: `hits`, `degraded`, `degraded_reasons`, `approx_tokens`, `watermark`."""
        with self._lock:
            return dict(next(reversed(self._packs.values())).facts) if self._packs else {}

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        _refuse_system_insertion()
        asked = [message for message in messages or () if message.role == MessageRole.USER]
        question = (asked[-1].content or "").strip() if asked else ""
        if not question:
            return ""
        # The same words asked again later are a new question: the code may have changed since.
        key = (str(block_kwargs.get("session_id") or ""), _count_turns(messages or ()), question)
        with self._lock:
            known = self._packs.get(key)
        if known is None:
            known = await self._grounder.aground(question)
            with self._lock:
                self._packs[key] = known
                while len(self._packs) > _KEPT:
                    self._packs.popitem(last=False)
        return known.pack.render()

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store nothing: the code is the memory."""

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:  # noqa: ARG002
        """Give the whole pack up: half a pack could lack its closing delimiter."""
        return None


def _count_turns(messages: Sequence[ChatMessage]) -> int:
    """Count the questions of a conversation. A caller may give the newest one twice, as history and as input."""
    turns = 0
    before: ChatMessage | None = None
    for message in messages:
        is_repeated = before is not None and before.role == message.role and before.content == message.content
        turns += message.role == MessageRole.USER and not is_repeated
        before = message
    return turns


def code_memory(index: CodeIndex, **kwargs: Any) -> Memory:
    """Return a `Memory` that grounds every question in the code, for agents and `SimpleChatEngine`.

    Args:
        index: The index to search.
        kwargs: Further arguments of `Memory.from_defaults`, such as `token_limit` or `session_id`.
    """
    blocks = [CodeContextMemoryBlock(index), *kwargs.pop("memory_blocks", ())]
    kwargs.setdefault("memory_blocks_template", _PlainTemplate())
    return Memory.from_defaults(memory_blocks=blocks, insert_method=InsertMethod.USER, **kwargs)


def _refuse_system_insertion() -> None:
    """Raise if the memory that asks would put the answer into a system message.

    LlamaIndex does not tell a block how it is inserted; the memory that asks is on the stack.

    Raises:
        InvalidArgument: It would.
    """
    frame = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        asking = frame.f_locals.get("self")
        if isinstance(asking, Memory):
            if asking.insert_method == InsertMethod.SYSTEM:
                raise InvalidArgument(
                    "This memory would put retrieved code into a system message.",
                    suggestion="Use Memory.from_defaults(..., insert_method='user'), or code_memory(index).",
                )
            return
        if frame.f_back is None:
            return
        frame = frame.f_back
