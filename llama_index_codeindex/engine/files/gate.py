"""The one gate through which every byte of a repository is read: build, refresh, watch, answers and tools alike.

Behind it a text is inside the root, not on the deny-list, not binary, decoded, and free of recognisable secrets.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from llama_index_codeindex.engine.errors import FileDenied, PathOutsideRoot, action
from llama_index_codeindex.engine.files.decode import decode
from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.jail import open_inside, relative_path
from llama_index_codeindex.engine.files.redact import redact
from llama_index_codeindex.engine.model import Gap, Source

# The largest file read. Hand-written source above 1 MB is hardly ever seen; tables, dumps and bundles are.
MAX_FILE_BYTES = 1_000_000

# Formats that bundlers and generators write; in them alone, long lines mean minified and not just a long literal.
_BUNDLED = frozenset(".js .mjs .cjs .jsx .css .json .map .html .htm .svg .xml .wasm".split())
# Hand-written files of those formats stay well under these: lines of 200 characters, some data tables of 1,000.
_MINIFIED_BYTES = 20_000
_MINIFIED_LINE = 1_000


@dataclass(frozen=True, slots=True)
class Gate:
    """Reads files below a resolved root.

    Args:
        root: The root, resolved by `resolve_root`.
        max_file_bytes: Larger files are not read.
    """

    root: Path
    max_file_bytes: int = MAX_FILE_BYTES

    def read(self, path: str) -> Source | Gap:
        """Return the source at a relative path, or the gap it leaves. Never raises for what a file may be."""
        try:
            if is_denied(path):
                return Gap(path, "denied")
            with os.fdopen(open_inside(self.root, path), "rb") as file:
                data = file.read(self.max_file_bytes + 1)
        except PathOutsideRoot:
            return Gap(path, "link_outside")
        except OSError as error:
            return Gap(path, "unreadable", error.strerror or "not a regular file")
        if len(data) > self.max_file_bytes:
            return Gap(path, "too_large", f"more than {self.max_file_bytes} bytes")
        return make_source(path, data)

    def require(self, path: str) -> Source:
        """Return the source at a path that a caller names, in any spelling.

        Raises:
            PathOutsideRoot: The path leaves the root.
            FileDenied: The file is never read: it may hold secrets, is binary, or is too large.
        """
        relative = relative_path(path, self.root)
        found = self.read(relative)
        if isinstance(found, Source):
            return found
        if found.reason == "link_outside":
            raise PathOutsideRoot(f"The path to {PurePosixPath(relative).name!r} leaves the root.")
        raise FileDenied(
            f"{relative!r} is not read: {found.reason.replace('_', ' ')}.",
            next_action=action("search_code", query=PurePosixPath(relative).stem or relative),
        )


def make_source(path: str, data: bytes) -> Source | Gap:
    """Return the source made of a file's bytes, wherever they come from, or the gap it leaves."""
    decoded = decode(data)
    if decoded is None:
        return Gap(path, "binary")
    text, encoding = decoded
    if _is_minified(path, text):
        return Gap(path, "minified")
    text, redactions = redact(text)
    return Source(path, text, hashlib.sha256(data).hexdigest(), encoding, redactions)


def _is_minified(path: str, text: str) -> bool:
    name = PurePosixPath(path.lower())
    if name.suffix not in _BUNDLED:
        return False
    if name.stem.endswith((".min", "-min", ".bundle")) and len(text) > _MINIFIED_LINE:
        return True
    return len(text) > _MINIFIED_BYTES and len(text) > _MINIFIED_LINE * (text.count("\n") + 1)
