from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms.mock import MockLLMWithChatMemoryOfLastCall
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import TextNode

from llama_index_codeindex import CodeIndex, CodeIndexError, HybridCodeRetriever
from llama_index_codeindex.chat_engine import CodeContextChatEngine, safe_chat_engine
from llama_index_codeindex.engine.files.jail import resolve_root
from llama_index_codeindex.grounding import RULE

QUESTION = "how is a refund made"


@pytest.fixture(autouse=True)
def event_loop_of_the_thread() -> Iterator[None]:
    """Give LlamaIndex's synchronous calls a loop; they would make one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CodeIndex]:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "shop.py").write_text(
        "def refund(order):\n    x = {order!r}  # {query_str} {{context_str}} {% raw %}\n    return x\n"
    )
    made = CodeIndex.from_path(root, cache_dir=tmp_path / "cache", embed_model=None)
    yield made
    made.close()


@pytest.fixture
def llm() -> MockLLMWithChatMemoryOfLastCall:
    return MockLLMWithChatMemoryOfLastCall(max_tokens=4, is_chat_model=True)


def sent(llm: MockLLMWithChatMemoryOfLastCall) -> list[ChatMessage]:
    assert llm.last_chat_messages is not None
    return list(llm.last_chat_messages)


def ask(engine: CodeContextChatEngine, way: str, question: str) -> Any:
    """Ask in one of the four ways and return the finished response."""

    async def stream() -> Any:
        response = await engine.astream_chat(question)
        assert "".join([token async for token in response.async_response_gen()])
        return response

    if way == "chat":
        return engine.chat(question)
    if way == "achat":
        return asyncio.run(engine.achat(question))
    if way == "astream_chat":
        return asyncio.run(stream())
    response = engine.stream_chat(question)
    assert "".join(response.response_gen)
    return response


WAYS = ("chat", "stream_chat", "achat", "astream_chat")


@pytest.mark.parametrize("way", WAYS)
def test_pack_and_question_are_one_user_message(
    index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall, way: str
) -> None:
    engine = CodeContextChatEngine.from_defaults(index=index, llm=llm, system_prompt="Be brief.")
    response = ask(engine, way, QUESTION)
    system, user = sent(llm)
    assert (system.role, user.role) == (MessageRole.SYSTEM, MessageRole.USER)
    assert system.content == f"Be brief.\n\n{RULE}"
    content = user.content or ""
    assert content.endswith(f"end]]\n\n{QUESTION}") and "def refund(order):" in content
    assert "x = {order!r}  # {query_str} {{context_str}} {% raw %}" in content
    assert [n.metadata["file_path"] for n in response.source_nodes] == ["shop.py"]
    assert response.metadata["hits"][0]["symbol"] == "refund"
    assert response.metadata["degraded_reasons"] == ["no_embedding_model"] and response.metadata["degraded"]
    assert response.metadata["watermark"]["generation"] == 1
    assert 0 < response.metadata["approx_tokens"] <= 1500
    assert response.sources[0].raw_output == response.metadata


@pytest.mark.parametrize("way", WAYS)
def test_history_keeps_what_was_said_and_no_pack(
    index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall, way: str
) -> None:
    engine = index.as_chat_engine(llm)
    for question in (QUESTION, "and {context_str} what is {query_str}?"):
        ask(engine, way, question)
    roles = [message.role.value for message in engine.chat_history]
    assert roles == ["user", "assistant"] * 2
    assert [m.content for m in engine.chat_history][::2] == [QUESTION, "and {context_str} what is {query_str}?"]
    messages = sent(llm)
    assert [m.content for m in messages[1:3]] == [QUESTION, "text text text text"]
    assert sum("begin shop.py" in (m.content or "") for m in messages) == 1
    # What looks like a template in the history stays as it was said.
    ask(engine, way, "third")
    assert sent(llm)[3].content == "and {context_str} what is {query_str}?"
    engine.reset()
    assert engine.chat_history == []


def test_nothing_found_still_asks_the_model_and_says_so(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    response = index.as_chat_engine(llm).chat("zzzqqq")
    assert "No excerpt of the repository matches" in (sent(llm)[-1].content or "")
    assert (sent(llm)[-1].content or "").endswith("\n\nzzzqqq")
    assert response.response == "text text text text"
    assert response.metadata is not None and response.metadata["hits"] == []
    assert response.metadata["empty_reason"] == "no_known_word" and response.metadata["watermark"]["generation"] == 1


def test_a_failing_model_leaves_no_half_turn(index: CodeIndex) -> None:
    class Broken(MockLLMWithChatMemoryOfLastCall):
        def chat(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("down")

    engine = index.as_chat_engine(Broken(max_tokens=4, is_chat_model=True))
    with pytest.raises(ConnectionError):
        engine.chat(QUESTION)
    assert engine.chat_history == []


def test_history_makes_room_for_the_pack(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    engine = index.as_chat_engine(llm, chat_history=[ChatMessage(role="user", content="word " * 9000)])
    engine.chat(QUESTION)
    engine.chat(QUESTION)
    total = sum(len(llm_tokens(m.content or "")) for m in sent(llm))
    assert total <= llm.metadata.context_window


def llm_tokens(text: str) -> list[Any]:
    from llama_index.core.utils import get_tokenizer

    return list(get_tokenizer()(text))


def test_prefix_messages_keep_their_place(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    prefix = [ChatMessage(role="system", content="Own."), ChatMessage(role="user", content="hi")]
    index.as_chat_engine(llm, prefix_messages=prefix).chat(QUESTION)
    assert [m.content for m in sent(llm)][:2] == [f"Own.\n\n{RULE}", "hi"]


def test_chat_history_argument_replaces_the_history(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    engine = index.as_chat_engine(llm, memory=ChatMemoryBuffer.from_defaults(token_limit=1000))
    engine.chat(QUESTION)
    engine.chat("second", chat_history=[ChatMessage(role="user", content="earlier")])
    assert [m.content for m in engine.chat_history] == ["earlier", "second", "text text text text"]


def test_arguments_that_contradict_are_refused(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    with pytest.raises(CodeIndexError):
        CodeContextChatEngine.from_defaults(llm=llm)
    with pytest.raises(CodeIndexError):
        CodeContextChatEngine.from_defaults(index=index, retriever=index.as_retriever(), llm=llm)
    with pytest.raises(CodeIndexError):
        index.as_chat_engine(llm, system_prompt="a", prefix_messages=[])


def test_safe_variant_for_a_retriever_in_one_line(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    retriever = index.as_retriever()
    memory = ChatMemoryBuffer.from_defaults(token_limit=1000)
    ContextChatEngine.from_defaults(retriever=retriever, llm=llm, memory=memory).chat(QUESTION)
    assert "def refund" in (sent(llm)[0].content or "") and sent(llm)[0].role == MessageRole.SYSTEM  # the trap
    safe_chat_engine(retriever, llm).chat(QUESTION)
    assert "def refund" not in (sent(llm)[0].content or "") and "def refund" in (sent(llm)[-1].content or "")


def test_safe_variant_for_nodes_in_memory(llm: MockLLMWithChatMemoryOfLastCall) -> None:
    retriever = HybridCodeRetriever.from_nodes([TextNode(text="def refund(): pass\n", metadata={"file_path": "a.py"})])
    response = safe_chat_engine(retriever, llm).chat("refund")
    assert "def refund(): pass" in (sent(llm)[-1].content or "") and response.source_nodes


@pytest.mark.parametrize("way", ["query", "aquery"])
def test_query_engine_exposes_facts(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall, way: str) -> None:
    engine = index.as_query_engine(llm)
    response = engine.query(QUESTION) if way == "query" else asyncio.run(engine.aquery(QUESTION))
    system, user = sent(llm)
    assert system.content == RULE and (user.content or "").endswith(f"end]]\n\n{QUESTION}")
    facts = response.metadata
    assert facts is not None and facts["hits"][0]["file_path"] == "shop.py" and facts["watermark"]["generation"] == 1
    assert [n.node.metadata["symbol"] for n in response.source_nodes] == ["refund"]
    assert response.source_nodes[0].node.node_id in facts


def test_query_engine_without_hits_asks_the_model(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    response = index.as_query_engine(llm).query("zzzqqq")
    assert str(response) == "text text text text" and response.source_nodes == []
    assert "No excerpt of the repository matches" in (sent(llm)[-1].content or "")


def test_query_engine_streams(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    response = index.as_query_engine(llm, streaming=True).query(QUESTION)
    assert "".join(response.response_gen).rstrip() == "text text text text"  # type: ignore[union-attr, arg-type]
    assert response.source_nodes and response.metadata is not None and response.metadata["hits"]


def test_query_engine_tool(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    tool = index.as_query_engine_tool(llm)
    assert tool.metadata.name == "ask_code" and str(tool.call(QUESTION)) == "text text text text"


def test_small_windows_get_small_packs(index: CodeIndex) -> None:
    class Small(MockLLMWithChatMemoryOfLastCall):
        @property
        def metadata(self) -> Any:
            return super().metadata.model_copy(update={"context_window": 900})

    llm = Small(max_tokens=4, is_chat_model=True)
    root = resolve_root(index.root)
    for n in range(6):
        (root / f"refund_{n}.py").write_text(f"def refund_{n}(order):\n" + "    order.refund(order, 'refund')\n" * 25)
    index.refresh()
    response = index.as_query_engine(llm).query(QUESTION)
    assert llm.last_called_chat_function == ["chat"]  # the pack was not cut into several calls
    assert response.metadata is not None and response.metadata["approx_tokens"] <= 360


def test_sync_calls_work_inside_a_running_loop(index: CodeIndex, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    async def handler() -> str:
        return str(index.as_chat_engine(llm).chat(QUESTION)) + str(index.as_query_engine(llm).query(QUESTION))

    assert asyncio.run(handler()) == "text text text text" * 2


def test_a_revision_is_quoted_as_it_was(tmp_path: Path, llm: MockLLMWithChatMemoryOfLastCall) -> None:
    root = tmp_path / "history"
    root.mkdir()
    (root / "shop.py").write_text("def refund(order):\n    return 'first'\n")
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    (root / "shop.py").write_text("def refund(order):\n    return 'second'\n")
    index = CodeIndex.at_revision(root, "HEAD", cache_dir=tmp_path / "cache")
    index.as_chat_engine(llm).chat(QUESTION)
    index.close()
    assert "return 'first'" in (sent(llm)[-1].content or "")
