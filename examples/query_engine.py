"""Ask a code base one question: `python examples/query_engine.py [ROOT] [QUESTION]`."""

from __future__ import annotations

import sys

from llama_index.core.llms import LLM, MockLLM

from llama_index_codeindex import CodeIndex

# The mock repeats what it is given, so that you see what a model would read. For a real server, replace it with:
#   from llama_index.llms.openai_like import OpenAILike
#   llm = OpenAILike(model="qwen3-coder", api_base="http://localhost:11434/v1", is_chat_model=True, context_window=32768)
llm: LLM = MockLLM(is_chat_model=True)


def main(root: str = ".", question: str = "how is a path kept inside the root", cache_dir: str | None = None) -> None:
    """Print the answer, the places it stands on, and how far it can be trusted."""
    index = CodeIndex.from_path(root, cache_dir=cache_dir)
    response = index.as_query_engine(llm).query(question)
    print(response)
    facts = response.metadata or {}
    for hit in facts["hits"]:
        print(f"{hit['file_path']}:{hit['start_line']}-{hit['end_line']}  {hit['symbol']}")
    print(f"degraded: {facts['degraded_reasons']}, generation {facts['watermark']['generation']}")
    index.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
