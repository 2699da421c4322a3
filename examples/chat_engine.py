"""Chat about a code base: `python examples/chat_engine.py [ROOT]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from llama_index.core.llms import LLM, MockLLM

from llama_index_codeindex import CodeIndex

# The mock answers with five words. For a real server, replace it with:
#   from llama_index.llms.openai_like import OpenAILike
#   llm = OpenAILike(model="qwen3-coder", api_base="http://localhost:11434/v1", is_chat_model=True, context_window=32768)
llm: LLM = MockLLM(max_tokens=5, is_chat_model=True)


def main(root: str = ".", questions: Iterable[str] | None = None, cache_dir: str | None = None) -> None:
    """Answer line by line what is typed, token by token."""
    index = CodeIndex.from_path(root, cache_dir=cache_dir)
    engine = index.as_chat_engine(llm, system_prompt="Answer in the language of the question.")
    for question in questions if questions is not None else map(str.strip, sys.stdin):
        response = engine.stream_chat(question)
        for token in response.response_gen:
            print(token, end="", flush=True)
        print()
        for node in response.source_nodes:
            print(f"  {node.metadata['file_path']}:{node.metadata['start_line']}-{node.metadata['end_line']}")
    index.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
