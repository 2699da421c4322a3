"""`Gemfile.lock`: sections with indented lines."""

from __future__ import annotations

import re

from llama_index_codeindex.engine.facts.documents import Malformed
from llama_index_codeindex.engine.facts.draft import Draft

_SPEC = re.compile(r"    (\S+) \(([^()\s]+)\)$")
_WANTED = re.compile(r"  ([^\s!(]+)(?: \(([^()]*)\))?!?$")
_SOURCES = ("GEM", "GIT", "PLUGIN SOURCE")
_SECTIONS = frozenset((*_SOURCES, "PATH", "PLATFORMS", "DEPENDENCIES", "CHECKSUMS", "RUBY VERSION", "BUNDLED WITH"))
# Ruby builds of one version for several platforms: `nokogiri (1.16.0-x86_64-linux)`.
_PLATFORM = re.compile(r"-(?:x86|x64|arm|aarch64|java|universal|mswin|mingw|ruby|musl|jruby|linux|darwin).*$")


def gemfile_lock(text: str, draft: Draft) -> None:
    """Read a `Gemfile.lock`."""
    asked: dict[str, str] = {}
    locked: dict[tuple[str, str], int] = {}
    section = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.rstrip()
        if not line:
            continue
        if not line.startswith(" "):
            if line not in _SECTIONS:
                raise Malformed(f"line {number} is no section of a lock file")
            section = line
        elif section in _SOURCES and (spec := _SPEC.match(line)):
            locked.setdefault((spec[1], _PLATFORM.sub("", spec[2])), number)
        elif section == "DEPENDENCIES" and (wanted := _WANTED.match(line)):
            asked[wanted[1]] = wanted[2] or ""
        elif section == "DEPENDENCIES":
            raise Malformed(f"line {number} is no dependency")
        elif section == "RUBY VERSION":
            draft.runtime("ruby", re.sub(r"p\d+$", "", line.strip().removeprefix("ruby ")), number)
        elif section == "BUNDLED WITH":
            draft.runtime("bundler", line.strip(), number)
    if not section:
        raise Malformed("no section of a lock file")
    for (name, version), number in locked.items():
        draft.add(name, asked.get(name, ""), number, resolved=version, direct=name in asked, locked=True)
