"""A worker: an interpreter of its own that reads and parses files. Run as a script by `workers`, never imported there.

It is started isolated, so that nothing in the current folder, which may be the repository, is imported. What it may
import from is the first thing it is told.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from functools import partial
from pathlib import Path


def main() -> None:
    """Answer batches of paths with what is in the files, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the parent ends this one
    requests = sys.stdin.buffer
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever an import prints is no reply
        sys.path[:], root, max_file_bytes, max_chars = pickle.load(requests)  # noqa: S301 - it comes from the parent
        from llama_index_codeindex.engine.files.gate import Gate
        from llama_index_codeindex.engine.store.contents import parse_file

        parse = partial(parse_file, Gate(Path(root), max_file_bytes).read, max_chars=max_chars)
        gc.freeze()  # what was imported stays
        gc.set_threshold(100_000)  # a file makes thousands of objects, hardly any of them in cycles
        reply = None  # ready
        while True:
            pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
            replies.flush()
            try:
                batch = pickle.load(requests)  # noqa: S301
            except EOFError:
                return
            reply = [parse(path) for path in batch]


if __name__ == "__main__":
    main()
