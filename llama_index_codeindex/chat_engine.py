"""A chat engine that grounds every turn in the code, and never puts retrieved text into a system message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.callbacks import CallbackManager, trace_method
from llama_index.core.chat_engine.types import AgentChatResponse, BaseChatEngine, StreamingAgentChatResponse
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.settings import Settings
from llama_index.core.tools import ToolOutput
from llama_index.core.types import Thread

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.grounding import RETRIEVED, Grounded, Grounder, pack_tokens, root_of, system_text
from llama_index_codeindex.memory import CodeContextMemoryBlock
from llama_index_codeindex.postprocessor import ContextPackPostprocessor

if TYPE_CHECKING:
    from llama_index_codeindex.indices import CodeIndex

# Kept free of history beside the pack: system message, question, and the templates of the model.
_RESERVED_TOKENS = 512
_SMALLEST_HISTORY = 512


@dataclass
class StreamingCodeChatResponse(StreamingAgentChatResponse):
    """A streaming response with the facts of its answer in `metadata`."""

    metadata: dict[str, Any] = field(default_factory=dict)


class CodeContextChatEngine(BaseChatEngine):
    """Chat about a code base.

    Every turn the code is searched for the message; the pack and the message reach the model as one user message. The
    system message holds the rule and your `system_prompt`. The history keeps questions and answers as they were said,
    never an old pack. Responses carry `source_nodes`, and in `metadata` the facts of the answer: `hits`, `degraded`,
    `degraded_reasons`, `approx_tokens`, `left_out` and `watermark`.
    """

    def __init__(
        self,
        grounder: Grounder,
        llm: LLM,
        memory: BaseMemory,
        prefix_messages: Sequence[ChatMessage],
        callback_manager: CallbackManager | None = None,
    ) -> None:
        if any(isinstance(block, CodeContextMemoryBlock) for block in getattr(memory, "memory_blocks", ())):
            raise InvalidArgument(
                "This engine retrieves by itself; a memory with a CodeContextMemoryBlock would do so twice.",
                suggestion="Use the block with SimpleChatEngine or an agent, or this engine with a plain memory.",
            )
        self._grounder = grounder
        self._llm = llm
        self._memory = memory
        self._prefix_messages = list(prefix_messages)
        self.callback_manager = callback_manager or CallbackManager([])
        for processor in [*grounder.node_postprocessors, grounder.packer]:
            processor.callback_manager = self.callback_manager

    @classmethod
    def from_defaults(
        cls,
        index: CodeIndex | None = None,
        llm: LLM | None = None,
        *,
        retriever: BaseRetriever | None = None,
        chat_history: list[ChatMessage] | None = None,
        memory: BaseMemory | None = None,
        system_prompt: str | None = None,
        prefix_messages: Sequence[ChatMessage] | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
        similarity_top_k: int = RETRIEVED,
    ) -> CodeContextChatEngine:
        """Return an engine over an index, or over any retriever whose nodes carry this package's metadata.

        Args:
            index: The index to search.
            llm: The language model; LlamaIndex's `Settings.llm` by default.
            retriever: Searched in place of an index.
            chat_history: What was said before.
            memory: Where the history is kept; by default a buffer that leaves room for the pack.
            system_prompt: Stands before the rule in the system message.
            prefix_messages: Stand before the history, in place of a `system_prompt`.
            node_postprocessors: Applied before the pack.
            similarity_top_k: How many hits the pack is chosen from.

        Raises:
            InvalidArgument: Neither or both of `index` and `retriever`, or of `system_prompt` and `prefix_messages`.
        """
        if (index is None) == (retriever is None):
            raise InvalidArgument("Give an index or a retriever, and not both.")
        if system_prompt is not None and prefix_messages is not None:
            raise InvalidArgument("Give a system_prompt or prefix_messages, and not both.")
        llm = llm or Settings.llm
        source = retriever if index is None else index.as_retriever(similarity_top_k)
        assert source is not None
        packers = [p for p in node_postprocessors or () if isinstance(p, ContextPackPostprocessor)]
        packer = packers[-1] if packers else ContextPackPostprocessor(root=root_of(source), max_tokens=pack_tokens(llm))
        if memory is None:
            window = llm.metadata.context_window - max(llm.metadata.num_output, 0)
            limit = max(window - packer.max_tokens - _RESERVED_TOKENS, _SMALLEST_HISTORY)
            # A `Memory` would open a database for every conversation, which nobody closes.
            memory = ChatMemoryBuffer.from_defaults(chat_history=chat_history or [], token_limit=limit)
        elif chat_history:
            memory.set(chat_history)
        prefix = _with_rule(prefix_messages or (), system_prompt, llm.metadata.system_role)
        return cls(Grounder(source, packer, node_postprocessors or ()), llm, memory, prefix, Settings.callback_manager)

    @trace_method("chat")
    def chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """Answer a message."""
        grounded, messages = self._prepare(message, chat_history)
        answer = self._llm.chat(messages).message
        turn = _Turn(self._memory, message)
        turn.put(ChatMessage(role=MessageRole.ASSISTANT, content=answer.content or ""))
        return AgentChatResponse(
            response=answer.content or "", sources=_sources(grounded), source_nodes=grounded.nodes,
            metadata=grounded.facts,
        )  # fmt: skip

    @trace_method("chat")
    async def achat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """Answer a message, without blocking the event loop."""
        grounded, messages = await self._aprepare(message, chat_history)
        answer = (await self._llm.achat(messages)).message
        turn = _Turn(self._memory, message)
        await turn.aput(ChatMessage(role=MessageRole.ASSISTANT, content=answer.content or ""))
        return AgentChatResponse(
            response=answer.content or "", sources=_sources(grounded), source_nodes=grounded.nodes,
            metadata=grounded.facts,
        )  # fmt: skip

    @trace_method("chat")
    def stream_chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> StreamingCodeChatResponse:
        """Answer a message token by token; the turn enters the history when the answer is complete."""
        grounded, messages = self._prepare(message, chat_history)
        response = StreamingCodeChatResponse(
            chat_stream=self._llm.stream_chat(messages), sources=_sources(grounded), source_nodes=grounded.nodes,
            metadata=grounded.facts,
        )  # fmt: skip
        turn = cast(BaseMemory, _Turn(self._memory, message))
        thread = Thread(target=response.write_response_to_history, args=(turn,))
        response.write_response_to_history_thread = thread
        thread.start()
        return response

    @trace_method("chat")
    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingCodeChatResponse:
        """Answer a message token by token, without blocking the event loop."""
        grounded, messages = await self._aprepare(message, chat_history)
        response = StreamingCodeChatResponse(
            achat_stream=await self._llm.astream_chat(messages), sources=_sources(grounded),
            source_nodes=grounded.nodes, metadata=grounded.facts,
        )  # fmt: skip
        turn = cast(BaseMemory, _Turn(self._memory, message))
        response.awrite_response_to_history_task = asyncio.create_task(response.awrite_response_to_history(turn))
        return response

    def reset(self) -> None:
        """Forget the conversation."""
        self._memory.reset()

    @property
    def chat_history(self) -> list[ChatMessage]:
        """The conversation: raw questions and answers."""
        return self._memory.get_all()

    def _prepare(self, message: str, history: list[ChatMessage] | None) -> tuple[Grounded, list[ChatMessage]]:
        if history is not None:
            self._memory.set(history)
        grounded = self._grounder.ground(message)
        return grounded, [*self._prefix_messages, *self._memory.get(input=message), grounded.message()]

    async def _aprepare(self, message: str, history: list[ChatMessage] | None) -> tuple[Grounded, list[ChatMessage]]:
        if history is not None:
            await self._memory.aset(history)
        grounded = await self._grounder.aground(message)
        return grounded, [*self._prefix_messages, *await self._memory.aget(input=message), grounded.message()]


def safe_chat_engine(retriever: BaseRetriever, llm: LLM | None = None, **kwargs: Any) -> CodeContextChatEngine:
    """Return a chat engine for a retriever that would otherwise go to one of LlamaIndex's own.

    `ContextChatEngine` and `CondensePlusContextChatEngine` put what they retrieve into the system message, where text
    from a repository speaks with the authority of the application. This one puts it into the user message, as data.

    Args:
        retriever: Any retriever.
        llm: The language model; LlamaIndex's `Settings.llm` by default.
        kwargs: Further arguments of `CodeContextChatEngine.from_defaults`.
    """
    return CodeContextChatEngine.from_defaults(retriever=retriever, llm=llm, **kwargs)


class _Turn:
    """Writes a whole turn: the question as it was asked, then the answer. A turn that fails leaves no half behind."""

    def __init__(self, memory: BaseMemory, question: str) -> None:
        self._memory = memory
        self._question = ChatMessage(role=MessageRole.USER, content=question)

    def put(self, answer: ChatMessage) -> None:
        self._memory.put(self._question)
        self._memory.put(answer)

    async def aput(self, answer: ChatMessage) -> None:
        await self._memory.aput(self._question)
        await self._memory.aput(answer)


def _with_rule(prefix: Sequence[ChatMessage], system_prompt: str | None, role: MessageRole) -> list[ChatMessage]:
    """Return the prefix with the rule at the end of its first system message."""
    messages = list(prefix)
    if messages and messages[0].role in (MessageRole.SYSTEM, MessageRole.DEVELOPER):
        first = messages.pop(0)
        return [ChatMessage(role=first.role, content=system_text(first.content)), *messages]
    return [ChatMessage(role=role, content=system_text(system_prompt)), *messages]


def _sources(grounded: Grounded) -> list[ToolOutput]:
    return [
        ToolOutput(
            tool_name="codeindex",
            content=json.dumps(grounded.facts, default=str),
            raw_input={"message": grounded.question},
            raw_output=grounded.facts,
        )
    ]
