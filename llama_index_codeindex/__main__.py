"""The way in: `codeindex`, or `python -m llama_index_codeindex`.

It loads nothing before it can answer an interrupt: the engine takes a moment to load, and a person may change their mind in it.
"""

from __future__ import annotations

import gc
import os
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command and return its exit code; an interrupt ends it without a traceback, whenever it comes."""
    try:
        # numpy starts a thread per core for large products of matrices, and there are none here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.disable()  # loading makes many objects, and none of them is garbage
        from llama_index_codeindex.cli import main as run

        gc.freeze()
        gc.enable()
        return run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
