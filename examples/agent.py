"""Let an agent find its way through a code base: `python examples/agent.py [ROOT] [QUESTION]`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms import LLM
from llama_index.core.llms.mock import MockFunctionCallingLLM

from llama_index_codeindex import CodeIndex


def follow_next_step(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Stand in for a model: search for the question, do what the answer's `next_step` says, then stop."""
    answers = [json.loads(m.content or "{}") for m in messages if m.role == MessageRole.TOOL]
    if not answers:
        question = next(m.content for m in reversed(messages) if m.role == MessageRole.USER)
        step: dict[str, Any] = {"tool": "search_code", "params": {"query": question}}
    elif len(answers) == 1 and "next_step" in answers[0]:
        step = answers[0]["next_step"]
    else:
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"See {answers[-1].get('file_path', 'the search')}.")
    call = ToolCallBlock(tool_call_id=f"call-{len(answers)}", tool_name=step["tool"], tool_kwargs=step["params"])
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])


# For a real server, replace the mock with:
#   from llama_index.llms.openai_like import OpenAILike
#   llm = OpenAILike(model="qwen3-coder", api_base="http://localhost:11434/v1", is_chat_model=True,
#                    is_function_calling_model=True, context_window=32768)
llm: LLM = MockFunctionCallingLLM(response_generator=follow_next_step)


async def ask(root: str, question: str, cache_dir: str | None = None) -> str:
    """Return the agent's answer."""
    index = CodeIndex.from_path(root, cache_dir=cache_dir)
    agent = FunctionAgent(tools=index.as_tools(), llm=llm, system_prompt="Answer from the code base.", streaming=False)
    answer = str(await agent.run(user_msg=question))
    index.close()
    return answer


def main(root: str = ".", question: str = "how is a path kept inside the root", cache_dir: str | None = None) -> None:
    """Print the agent's answer."""
    print(asyncio.run(ask(root, question, cache_dir)))


if __name__ == "__main__":
    main(*sys.argv[1:])
