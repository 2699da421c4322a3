"""A process that refreshes an index until it is killed; run with the root, the cache folder and a number."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from llama_index_codeindex.engine.codebase import Codebase
from tests.store.support import CountingEmbedder


def text_of(version: int, number: int) -> str:
    """Return a file whose every definition names the version that it belongs to."""
    return "".join(
        f"def version_{version}_of_{number}_{part}(value):\n    return value + {version}\n\n\n" for part in range(6)
    )


def write_version(root: Path, version: int, files: int = 25) -> None:
    for number in range(files):
        (root / f"part_{number}.py").write_text(text_of(version, number))


def main(root: str, cache: str) -> None:
    codebase = Codebase(root, cache, CountingEmbedder())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for version in itertools.count(int((Path(cache) / "version").read_text()) + 1):
        (Path(cache) / "next").write_text(str(version))
        os.replace(Path(cache) / "next", Path(cache) / "version")
        write_version(Path(root), version)
        codebase.refresh()


if __name__ == "__main__":
    main(*sys.argv[1:])
