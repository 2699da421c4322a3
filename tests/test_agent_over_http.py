"""An agent with a model behind a real OpenAI-compatible interface finds its way by `next_step` alone."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer

import llama_index_codeindex
from llama_index_codeindex import CodeIndex

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]
QUESTION = "what does `open_inside` check before it opens a file"


class Script(BaseHTTPRequestHandler):
    """Answers as a model would: search, follow `next_step`, then quote what was read."""

    requests: list[dict[str, Any]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(asked)
        body = json.dumps({"choices": [{"index": 0, "message": self.reply(asked)}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        answers = [json.loads(m["content"]) for m in asked["messages"] if m["role"] == "tool"]
        if not answers:
            question = [m["content"] for m in asked["messages"] if m["role"] == "user"][-1]
            return self.tool_call("search_code", {"query": question})
        if "text" not in answers[-1] and len(answers) < 3:
            following = answers[-1].get("next_step") or answers[-1]["error"]["next_action"]
            return self.tool_call(following["tool"], following["params"])
        read = answers[-1]
        line = next(n for n, text in enumerate(read["text"].split("\n")) if text.startswith("def open_inside"))
        place = f"{read['file_path']}:{read['start_line'] + line}"
        return {"role": "assistant", "content": f"open_inside does it, see {place}."}

    def tool_call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(params)}
        call = {"id": f"call-{len(self.requests)}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep the test's output quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    Script.requests = []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/v1/chat/completions"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def as_json(message: ChatMessage) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.role == MessageRole.TOOL:
        shown["tool_call_id"] = message.additional_kwargs["tool_call_id"]
    return shown


def over_http(url: str) -> MockFunctionCallingLLM:
    """Return a function-calling model that asks a server."""

    def answer(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        tools = [tool.metadata.to_openai_tool() for tool in kwargs["tools"]]
        body = json.dumps({"model": "scripted", "messages": [as_json(m) for m in messages], "tools": tools}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as reply:
            said = json.load(reply)["choices"][0]["message"]
        calls = [
            ToolCallBlock(
                tool_call_id=call["id"], tool_name=call["function"]["name"],
                tool_kwargs=json.loads(call["function"]["arguments"]),
            )
            for call in said.get("tool_calls") or ()
        ]  # fmt: skip
        if calls:
            return ChatMessage(role=MessageRole.ASSISTANT, blocks=calls)
        return ChatMessage(role=MessageRole.ASSISTANT, content=said["content"])

    return MockFunctionCallingLLM(response_generator=answer)


def test_an_agent_answers_about_a_real_repository_in_at_most_three_tool_calls(server: str, tmp_path: Path) -> None:
    root = Path(llama_index_codeindex.__file__).parent
    index = CodeIndex.from_path(root, cache_dir=tmp_path, embed_model=None)

    async def run() -> str:
        agent = FunctionAgent(tools=index.as_tools(), llm=over_http(server), system_prompt="Answer.", streaming=False)
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        return str(await agent.run(user_msg=QUESTION, memory=memory))

    answer = asyncio.run(run())
    index.close()
    lines = (root / "engine" / "files" / "jail.py").read_text("utf-8").split("\n")
    number = next(n for n, line in enumerate(lines, 1) if line.startswith("def open_inside"))
    assert answer == f"open_inside does it, see engine/files/jail.py:{number}."
    assert len(Script.requests) <= 4  # at most three tool calls, then the answer
    first = Script.requests[0]
    assert [m["role"] for m in first["messages"]] == ["system", "user"] and first["messages"][0]["content"] == "Answer."
    assert {tool["function"]["name"] for tool in first["tools"]} >= {"search_code", "read_lines"}
