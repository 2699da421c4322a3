"""`python -m llama_index_codeindex.cli`."""

from __future__ import annotations

import sys

from llama_index_codeindex.cli import main

if __name__ == "__main__":
    sys.exit(main())
