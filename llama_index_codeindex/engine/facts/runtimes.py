"""Files that only pin a language or tool: `.nvmrc`, `.tool-versions`, `rust-toolchain.toml` and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llama_index_codeindex.engine.facts.documents import Malformed, open_toml, string, table
from llama_index_codeindex.engine.facts.draft import Draft, Parser

_VERSION = re.compile(r"[\w.+*/^~<>=@:-]{1,64}")
# asdf calls some tools by other names than their own manifests.
_TOOLS = {"nodejs": "node", "golang": "go"}


def version_file(name: str) -> Parser:
    """Return the parser of a file that holds nothing but versions of one runtime."""

    def parse(text: str, draft: Draft) -> None:
        for line, entry in _entries(text):
            if not _VERSION.fullmatch(entry):
                raise Malformed(f"line {line} is not a version")
            draft.runtime(name, entry.removeprefix(f"{name}-"), line)
        if not draft.runtimes:
            raise Malformed("it states no version")

    return parse


def tool_versions(text: str, draft: Draft) -> None:
    """Read asdf's `.tool-versions`: a tool and its versions on each line."""
    for line, entry in _entries(text):
        tool, *versions = entry.split()
        if not versions or not all(map(_VERSION.fullmatch, versions)):
            raise Malformed(f"line {line} is no tool with a version")
        for version in versions:
            draft.runtime(_TOOLS.get(tool, tool), version, line)


def _entries(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if entry := line.split("#", 1)[0].strip():
            yield number, entry


def rust_toolchain(text: str, draft: Draft) -> None:
    """Read a `rust-toolchain.toml`, or a `rust-toolchain` of either form."""
    if "[" not in text:
        version_file("rust")(text, draft)
        return
    document = open_toml(text)
    channel = string(table(document.data.get("toolchain")).get("channel"))
    draft.runtime("rust", channel, document.line("toolchain", "channel"))
    if not channel:
        draft.note("it names no channel")
