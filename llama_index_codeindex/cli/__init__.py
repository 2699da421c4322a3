"""The `codeindex` command. It stands on the engine alone, so that it starts in a fraction of a second.

`parser` says what may be asked, `commands` answers it, `output` shows the answer, and `completion` tells shells.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

from llama_index_codeindex.cli.commands import COMMANDS, FAILED, FOUND, INTERRUPTED, NOTHING
from llama_index_codeindex.cli.output import drop_output, show_error, tell
from llama_index_codeindex.cli.parser import parse
from llama_index_codeindex.engine.errors import CodeIndexError, InvalidArgument

__all__ = ["FAILED", "FOUND", "INTERRUPTED", "NOTHING", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 found or done, 1 nothing found, 2 an error."""
    if sys.stdout is None:
        tell("OUTPUT_FAILED: There is no standard output.")
        return FAILED
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of any script on any terminal
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
    except InvalidArgument as error:
        show_error(error, as_json=True, stream=sys.stderr)  # where argparse's own text goes
        return FAILED
    try:
        code = COMMANDS[arguments.command](arguments)
        if not sys.stdout.closed:  # as an MCP server leaves it
            sys.stdout.flush()  # here, where what goes wrong with it is still told
        return code
    except CodeIndexError as error:
        show_error(error, as_json=arguments.json)
        return FAILED
    except BrokenPipeError:
        # The reader went away; keep the interpreter from complaining about it at exit.
        drop_output()
        return FOUND
    except OSError as error:
        drop_output()
        tell(f"OUTPUT_FAILED: The answer cannot be written: {error.strerror}.")
        return FAILED
    except KeyboardInterrupt:
        tell("interrupted; the index is as it was")
        return INTERRUPTED
