"""The one gate through which every byte of a repository is read: build, refresh, watch, answers and tools alike.

Behind it a text is inside the root, not on the deny-list, not binary, decoded, and free of recognisable secrets.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from llama_index_codeindex.engine.errors import FileDenied, FileNotIndexed, PathOutsideRoot, action
from llama_index_codeindex.engine.files.decode import decode
from llama_index_codeindex.engine.files.deny import is_denied
from llama_index_codeindex.engine.files.jail import (
    LinkOnTheWay,
    NotAFile,
    clean_path,
    link_reason,
    native,
    open_inside,
    relative_path,
)
from llama_index_codeindex.engine.files.notebook import cell_sources
from llama_index_codeindex.engine.files.redact import redact
from llama_index_codeindex.engine.model import Gap, Source

# Raised with every change to what the gate makes of the same bytes: decoding, redaction, notebooks. An index whose texts
# passed an older gate is rebuilt, because a secret that only the newer one knows may be in it.
GATE_VERSION = 2

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
            if is_denied(clean_path(path)):
                return Gap(path, "denied")
            with os.fdopen(open_inside(self.root, path), "rb") as file:
                if self._is_linked_secret(path, os.fstat(file.fileno())):
                    return Gap(path, "denied", "a hard link to a denied file")
                data = file.read(self.max_file_bytes + 1)
        except PathOutsideRoot:
            return Gap(path, "link_outside")
        except LinkOnTheWay:
            return Gap(path, link_reason(str(self.root), str(self.root / native(path))))
        except NotAFile as error:
            return Gap(path, "unreadable" if error.is_folder else "special_file", str(error))
        except OSError as error:
            return Gap(path, "unreadable", error.strerror or "")
        except ValueError:  # a lone surrogate, which no file system takes
            return Gap(path, "undecodable", "its name is not text")
        if len(data) > self.max_file_bytes:
            return Gap(path, "too_large", f"more than {self.max_file_bytes} bytes")
        return make_source(path, data)

    def _is_linked_secret(self, path: str, status: os.stat_result) -> bool:
        """Say whether a file is a denied file of its own folder or the root's under a second name.

        The walk knows all denied files it met and so finds the others too; this holds where no walk went before.
        """
        if status.st_nlink < 2:
            return False
        identity = (status.st_dev, status.st_ino)
        folders = {self.root, (self.root / native(path)).parent}
        return any(identity in _denied_identities(folder, folder.stat().st_mtime_ns) for folder in folders)

    def require(self, path: str) -> Source:
        """Return the source at a path that a caller names, in any spelling.

        Raises:
            PathOutsideRoot: The path leaves the root.
            FileDenied: The file is never read: it may hold secrets, is binary, or is too large.
            FileNotIndexed: There is no such file, or the system refuses it.
        """
        relative = relative_path(path, self.root)
        found = self.read(relative)
        if isinstance(found, Source):
            return found
        if found.reason == "link_outside":
            raise PathOutsideRoot(f"The path to {PurePosixPath(relative).name!r} leaves the root.")
        if found.reason == "unreadable":
            raise FileNotIndexed(f"{relative!r} cannot be read: {found.detail or 'unknown reason'}.")
        raise FileDenied(
            f"{relative!r} is not read: {found.reason.replace('_', ' ')}.",
            next_action=action("search_code", query=PurePosixPath(relative).stem or relative),
        )


@lru_cache(maxsize=64)
def _denied_identities(folder: Path, _mtime_ns: int) -> frozenset[tuple[int, int]]:
    """Return device and number of the denied files in a folder, as of its last change."""
    found = set()
    for name in os.listdir(folder):
        if is_denied(f"{folder.name}/{name}"):
            status = os.lstat(folder / name)
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def make_source(path: str, data: bytes) -> Source | Gap:
    """Return the source made of a file's bytes, wherever they come from, or the gap it leaves."""
    decoded = decode(data)
    if decoded is None:
        return Gap(path, "binary")
    text, encoding = decoded
    if _is_minified(path, text):
        return Gap(path, "minified")
    if path.lower().endswith(".ipynb"):
        sources = cell_sources(text)
        if sources is None:
            return Gap(path, "not_evaluated", "not a notebook")
        text = sources
    text, redactions = redact(text)
    return Source(path, text, hashlib.sha256(data).hexdigest(), encoding, redactions)


def _is_minified(path: str, text: str) -> bool:
    name = PurePosixPath(path.lower())
    if name.suffix not in _BUNDLED:
        return False
    if re.fullmatch(r".+(?:\.min|-min|\.bundle)", name.stem) and len(text) > _MINIFIED_LINE:
        return True
    return len(text) > _MINIFIED_BYTES and len(text) > _MINIFIED_LINE * (text.count("\n") + 1)
