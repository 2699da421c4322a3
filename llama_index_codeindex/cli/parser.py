"""What may be asked on the command line: commands, arguments, help, and what is said of a wrong use."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any, NoReturn

from llama_index_codeindex import __version__
from llama_index_codeindex.cli.completion import SHELLS
from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.graph.repomap import DEFAULT_BUDGET
from llama_index_codeindex.engine.watch import DEBOUNCE

_EXAMPLES = {
    "index": [".", "~/src/project --embed local"],
    "status": [".", ". --gaps", ". --json"],
    "search": [
        '. "how are retries decided"',
        ". UserService --json",
        '. "lang:python path:src/ open connection" --top-k 10',
        ". cache --under src/store --language rust",
    ],
    "pack": ['. "where is the cache invalidated"', '. "where is the cache invalidated" --top-k 3'],
    "facts": [".", ". --ecosystem npm --json"],
    "symbol": [". UserService.save", ". src/users.py#UserService.save"],
    "refs": [". UserService.save", ". UserService.save --callers --depth 3"],
    "map": [". --budget 4000", '. --query "how are retries decided"', ". --svg map.svg"],
    "watch": [".", ". --debounce 2"],
    "clear": ["."],
    "prune": ["", "--json"],
    "mcp": ["/path/to/repository"],
    "completion": ["bash > ~/.local/share/bash-completion/completions/codeindex", "fish | source"],
}
_SHOWN_IN_GENERAL = ("search", "pack", "refs", "map", "status")


class _Refused(Exception):
    """What a parser has to say of a wrong use; the parser may be that of one command."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser
        self.message = message


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Leave it to `parse` how it is said."""
        raise _Refused(self, message)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the command and its arguments.

    Raises:
        InvalidArgument: They cannot be understood, and JSON is asked for.
        SystemExit: They cannot be understood, which is said on standard error; or help or the version was shown.
    """
    try:
        return make_parser().parse_args(argv)
    except _Refused as refused:
        if not _wants_json(argv):
            argparse.ArgumentParser.error(refused.parser, refused.message)
        message = refused.message
        for argument in filter(os.path.isabs, argv):  # no error tells where on this machine something lies
            message = message.replace(argument, os.path.basename(argument.rstrip("/\\")))
        text = f"{message[:1].upper()}{message[1:]}."
        raise InvalidArgument(text, suggestion=f"See `{refused.parser.prog} --help`.") from None


def _wants_json(argv: Sequence[str]) -> bool:
    """Say whether JSON is asked for, in full or as argparse abbreviates, in a line that it does not understand."""
    options = argv[: list(argv).index("--")] if "--" in argv else argv
    return any(len(option) > 2 and "--json".startswith(option) for option in options)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="codeindex", description="Search a code base by question, symbol or path.",
        epilog=_examples(*_SHOWN_IN_GENERAL), formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"codeindex {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    index = _command(commands, "index", "build the index, or bring it to the state of the files")
    index.add_argument("--allow-broad-root", action="store_true", help="index a home directory or a file system's root")

    status = _command(commands, "status", "show which snapshot of the code the index describes")
    status.add_argument("--gaps", action="store_true", help="list what is not in the index, and why")

    search = _command(commands, "search", "find the places that answer a question")
    _add_query(search)
    search.add_argument("--mode", default="all", help="all, meaning, path or symbol (default: %(default)s)")

    pack = _command(commands, "pack", "print exactly what a model would be given")
    _add_query(pack)

    facts = _command(commands, "facts", "list declared packages, locked versions and runtimes")
    facts.add_argument("--ecosystem", default="", help="only this one, for example npm or pypi")

    symbol = _command(commands, "symbol", "find the definitions of a name")
    _add_name(symbol)

    refs = _command(commands, "refs", "list where a name is used, and how sure that is")
    _add_name(refs)
    refs.add_argument("--callers", action="store_true", help="what calls it, instead of every use")
    refs.add_argument("--depth", type=int, default=1, help="how many calls deep (default: %(default)s)")

    drawn = _command(commands, "map", "print the most used files and symbols under a budget of tokens")
    drawn.add_argument("--budget", type=int, default=DEFAULT_BUDGET, help="tokens a page costs (default: %(default)s)")
    drawn.add_argument("--query", type=_as_text, help="a question that the map is to be about")
    drawn.add_argument("--under", action="append", default=[], help="a file or folder that it is to be about")
    drawn.add_argument("--page", type=int, default=1, help="which page (default: %(default)s)")
    drawn.add_argument("--svg", metavar="FILE", help="draw a picture of the whole into this file instead")

    watch = _command(commands, "watch", "keep the index fresh until interrupted")
    watch.add_argument(
        "--debounce", type=float, default=DEBOUNCE, help="seconds without a change (default: %(default)s)"
    )

    clear = _command(commands, "clear", "remove the index of this folder")
    clear.set_defaults(embed="none")

    _command(commands, "mcp", "serve the tools to agents over the Model Context Protocol, on standard input and output")
    prune = _bare_command(commands, "prune", "remove the indexes of folders that do not exist any more")
    _add_output(prune)
    completion = _bare_command(commands, "completion", "print a completion script for a shell")
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    completion.set_defaults(json=False)
    return parser


def _bare_command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=_examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    return command


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cache-dir", help="where indexes are kept (default: the user's cache folder)")
    command.add_argument("--json", action="store_true", help="print JSON")


def _command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    command = _bare_command(commands, name, text)
    command.add_argument("root", metavar="ROOT", help="the folder of the code base")
    _add_output(command)
    command.add_argument("--embed", default="none", help="none: words alone (default); local: the packaged model, too")
    command.set_defaults(allow_broad_root=False)
    return command


def _examples(*commands: str) -> str:
    """Return examples of commands, as the end of a help text."""
    return "\n".join(
        ["examples:", *(f"  codeindex {name} {rest}".rstrip() for name in commands for rest in _EXAMPLES[name])]
    )


def _as_text(argument: str) -> str:
    """Return an argument as UTF-8, which terminals send whatever the locale says."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _add_query(command: argparse.ArgumentParser) -> None:
    command.add_argument("query", type=_as_text, metavar="QUERY", help="a question, a symbol or a path")
    command.add_argument("--top-k", default="5", help="how many hits at most (default: %(default)s)")
    command.add_argument(
        "--under", action="append", default=[], help="only below this folder, or matching this pattern"
    )
    command.add_argument("--language", action="append", default=[], help="only this language")


def _add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", type=_as_text, metavar="NAME", help="a name, qualified or not, or path#name")
