from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory

from llama_index_codeindex import CodeIndex, CodeIndexError
from llama_index_codeindex.chat_engine import CodeContextChatEngine
from llama_index_codeindex.memory import CodeContextMemoryBlock, code_memory

QUESTION = "how is a refund made"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CodeIndex]:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "shop.py").write_text("def refund(order):\n    return {order}  # {{ x }} {% raw %}\n")
    made = CodeIndex.from_path(root, cache_dir=tmp_path / "cache", embed_model=None)
    yield made
    made.close()


async def close(memory: Memory) -> None:
    """Close the database that a `Memory` opens; it has no `close` of its own."""
    engine = getattr(memory.sql_store, "_async_engine", None)
    if engine is not None:
        await engine.dispose()


def questions_to(index: CodeIndex, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    find = index.find

    def counted(query: str, *rest: Any) -> Any:
        asked.append(query)
        return find(query, *rest)

    monkeypatch.setattr(index, "find", counted)
    return asked


def test_pack_stands_before_the_question_in_its_message(index: CodeIndex) -> None:
    async def run() -> list[ChatMessage]:
        memory = code_memory(index)
        await memory.aput(ChatMessage(role="user", content=QUESTION))
        messages = await memory.aget()
        stored = await memory.aget_all()
        await close(memory)
        assert [m.content for m in stored] == [QUESTION]
        return messages

    (message,) = asyncio.run(run())
    assert message.role == MessageRole.USER
    # Joined without any separator, as some clients do, pack and question are still apart.
    joined = "".join(block.text for block in message.blocks if block.block_type == "text")
    assert joined.endswith(f"end]]\n\n{QUESTION}") and "return {order}  # {{ x }} {% raw %}" in joined


# The workflow engine looks at every attribute of an agent, pydantic's deprecated ones included.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211")
def test_an_agent_with_many_steps_retrieves_once(index: CodeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions_to(index, monkeypatch)
    seen: list[list[ChatMessage]] = []

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        seen.append(list(messages))
        done = sum(m.role == MessageRole.TOOL for m in messages)
        if done >= 3:
            return ChatMessage(role=MessageRole.ASSISTANT, content="done")
        call = ToolCallBlock(tool_call_id=f"c{done}", tool_name="index_status", tool_kwargs={})
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])

    async def run() -> list[ChatMessage]:
        memory = code_memory(index)
        agent = FunctionAgent(
            tools=index.as_tools(), llm=MockFunctionCallingLLM(response_generator=answer), system_prompt="Own.",
            streaming=False,
        )  # fmt: skip
        assert str(await agent.run(user_msg=QUESTION, memory=memory)) == "done"
        stored = await memory.aget_all()
        await close(memory)
        return stored

    stored = asyncio.run(run())
    assert asked == [QUESTION] and len(seen) == 4
    for messages in seen:
        assert [m.content for m in messages if m.role == MessageRole.SYSTEM] == ["Own."]
        assert sum("begin shop.py" in (m.content or "") for m in messages) == 1
    assert all("begin shop.py" not in (m.content or "") for m in stored)


def test_the_same_words_later_are_a_new_question(index: CodeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions_to(index, monkeypatch)

    async def run() -> str:
        block = CodeContextMemoryBlock(index=index)
        history = [ChatMessage(role="user", content="refund")]
        first = await block.aget(history)
        assert await block.aget([*history, ChatMessage(role="assistant", content="x")]) == first
        answered = [*history, ChatMessage(role="assistant", content="x")]
        await block.aget([*answered, ChatMessage(role="user", content="refund")])
        assert await block.aget([]) == "" and await block.aget([ChatMessage(role="user", content="  ")]) == ""
        assert block.last_facts["hits"][0]["file_path"] == "shop.py"
        return first

    assert "def refund" in asyncio.run(run())
    assert asked == ["refund", "refund"]


def test_a_memory_that_writes_into_the_system_message_is_refused(index: CodeIndex) -> None:
    async def run() -> None:
        memory = Memory.from_defaults(memory_blocks=[CodeContextMemoryBlock(index=index)])
        await memory.aput(ChatMessage(role="user", content=QUESTION))
        try:
            await memory.aget()
        finally:
            await close(memory)

    with pytest.raises(CodeIndexError, match="system message") as raised:
        asyncio.run(run())
    assert "insert_method='user'" in raised.value.suggestion


def test_llama_index_own_template_works_too(index: CodeIndex) -> None:
    async def run() -> list[ChatMessage]:
        memory = Memory.from_defaults(memory_blocks=[CodeContextMemoryBlock(index=index)], insert_method="user")  # type: ignore[arg-type]
        await memory.aput(ChatMessage(role="user", content=QUESTION))
        messages = await memory.aget()
        await close(memory)
        return messages

    (message,) = asyncio.run(run())
    assert message.role == MessageRole.USER and "return {order}  # {{ x }} {% raw %}" in (message.content or "")


def test_nothing_found_is_said(index: CodeIndex) -> None:
    block = CodeContextMemoryBlock(index=index)
    text = asyncio.run(block.aget([ChatMessage(role="user", content="zzzqqq")]))
    assert text == "No excerpt of the repository matches the question.\n\n"


def test_chat_engine_refuses_to_retrieve_twice(index: CodeIndex) -> None:
    memory = code_memory(index)
    with pytest.raises(CodeIndexError, match="twice"):
        CodeContextChatEngine.from_defaults(index=index, llm=MockFunctionCallingLLM(), memory=memory)
    asyncio.run(close(memory))
