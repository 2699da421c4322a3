"""Completion for shells: a script made of the parser itself, so that no option is ever missing from it.

It is printed once and kept by the user; completing then starts no Python, and needs no package.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_codeindex() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options
  case ${{COMP_WORDS[1]}} in
{cases}
    *) options="{commands}" ;;
  esac
  [[ $COMP_CWORD -eq 1 ]] && options="{commands}"
  if [[ $COMP_CWORD -gt 1 && $word != -* ]]; then
    local IFS=$'\\n'
    COMPREPLY=($(compgen -d -- "$word"))
  else
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}}
complete -o filenames -F _codeindex codeindex
"""


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of a shell, one of `SHELLS`."""
    commands = dict(_commands(parser))
    if shell == "fish":
        return _fish(commands)
    cases = "\n".join(
        f'    {name}) options="{" ".join(option for option, _ in _options(command))}" ;;'
        for name, (_, command) in commands.items()
    )
    text = _BASH.format(cases=cases, commands=" ".join([*commands, "--help", "--version"]))
    return f"autoload -U +X bashcompinit && bashcompinit\n{text}" if shell == "zsh" else text


def _fish(commands: dict[str, tuple[str, argparse.ArgumentParser]]) -> str:
    lines = ["complete -c codeindex -f"]
    for name, (text, command) in commands.items():
        lines.append(f"complete -c codeindex -n __fish_use_subcommand -a {name} -d {_quoted(text)}")
        seen = f"'__fish_seen_subcommand_from {name}'"
        lines.append(f"complete -c codeindex -n {seen} -a '(__fish_complete_directories)'")
        for option, told in _options(command):
            lines.append(f"complete -c codeindex -n {seen} -l {option.lstrip('-')} -d {_quoted(told)}")
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, argparse.ArgumentParser]]]:
    for action in parser._actions:  # argparse has no other door to its subparsers
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, (told.get(name, ""), command)


def _options(command: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in command._actions:
        for option in action.option_strings:
            if option.startswith("--"):
                yield option, (action.help or "").split(" (default", 1)[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
