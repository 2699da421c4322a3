"""Ignore rules with git's own meaning: parsing, bases, precedence, excluded parents.

A rule list keeps its order, because the last rule that matches decides. Most rules are plain names or `*.suffix`;
these are found through a dictionary, and only the others cost a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from llama_index_codeindex.engine.files.wildmatch import compile_wildmatch, literal_length

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file.

    `by_path` holds whether the pattern has a slash and so is matched against the path below the list's base, after
    the literal `prefix`; else the base name alone is matched.
    """

    negated: bool
    only_directories: bool
    by_path: bool
    prefix: bytes
    expression: re.Pattern[bytes] | None  # None: `prefix` is the whole pattern

    def matches(self, path_below: bytes, name: bytes, is_dir: bool) -> bool:
        """Say whether the rule matches a path below the list's base."""
        if self.only_directories and not is_dir:
            return False
        subject = path_below if self.by_path else name
        if self.expression is None:
            return subject == self.prefix
        return subject.startswith(self.prefix) and self.expression.fullmatch(subject, len(self.prefix)) is not None


class RuleList:
    """The rules of one ignore file.

    Args:
        data: The file's bytes.
        base: The folder the rules are relative to, from the repository's top: `b""` or `b"a/b/"`.
        ignore_case: git's `core.ignorecase`.
    """

    __slots__ = ("_by_name", "_fold", "_others", "_suffixes", "base", "rules")

    def __init__(self, data: bytes, base: bytes = b"", *, ignore_case: bool = False) -> None:
        self.base = base
        self._fold = ignore_case
        self.rules: list[Rule] = []
        self._by_name: dict[bytes, list[int]] = {}
        self._suffixes: dict[bytes, list[int]] = {}
        self._others: list[int] = []
        for line in _lines(data):
            self._add(line)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def _add(self, pattern: bytes) -> None:
        negated = pattern.startswith(b"!")
        pattern = pattern[negated:]
        only_directories = pattern.endswith(b"/")
        pattern = pattern[: len(pattern) - only_directories]
        by_path = b"/" in pattern
        if self._fold:
            pattern = pattern.lower()
        index = len(self.rules)
        if by_path and pattern.startswith(b"/"):
            pattern = pattern[1:]
        literal = literal_length(pattern)
        if literal == len(pattern):
            rule = Rule(negated, only_directories, by_path, pattern, None)
            slot = self._others if by_path else self._by_name.setdefault(pattern, [])
        else:
            # git compares the literal start byte by byte and hands only the rest to wildmatch.
            prefix = pattern[:literal] if by_path else b""
            expression = compile_wildmatch(pattern[len(prefix) :], path=by_path, ignore_case=self._fold)
            if expression is None:
                return
            rule = Rule(negated, only_directories, by_path, prefix, expression)
            is_suffix = not by_path and pattern.startswith(b"*.") and literal_length(pattern[1:]) == len(pattern) - 1
            # The dictionary is asked for the text after the last dot only.
            is_suffix = is_suffix and pattern.rfind(b".") == 1
            slot = self._suffixes.setdefault(pattern[1:], []) if is_suffix else self._others
        self.rules.append(rule)
        slot.append(index)

    def verdict(self, path: bytes, name: bytes, is_dir: bool) -> bool | None:
        """Return True if the last matching rule ignores the path, False if it re-admits it, None if none matches.

        Args:
            path: The path from the repository's top; it must lie below `base`.
            name: Its base name.
            is_dir: Whether it is a folder; a link to one is not.
        """
        if self._fold:
            path, name = path.lower(), name.lower()
        best = -1
        for index in reversed(self._by_name.get(name, ())):
            if not self.rules[index].only_directories or is_dir:
                best = index
                break
        if self._suffixes:
            dot = name.rfind(b".")
            for index in reversed(self._suffixes.get(name[dot:], ()) if dot >= 0 else ()):
                if index < best:
                    break
                if not self.rules[index].only_directories or is_dir:
                    best = index
                    break
        below = path[len(self.base) :]
        for index in reversed(self._others):
            if index < best:
                break
            if self.rules[index].matches(below, name, is_dir):
                best = index
                break
        return None if best < 0 else not self.rules[best].negated


def _lines(data: bytes) -> Iterable[bytes]:
    """Yield the pattern lines of an ignore file as git reads them."""
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    for line in data.split(b"\n"):
        if line.startswith(b"#"):
            continue
        line = line.removesuffix(b"\r").split(b"\0", 1)[0]
        line = _without_trailing_spaces(line)
        if line:
            yield line


def _without_trailing_spaces(line: bytes) -> bytes:
    """Drop trailing spaces unless a backslash escapes them; tabs stay, as in git."""
    end = 0
    position = 0
    while position < len(line):
        byte = line[position]
        position += 1
        if byte == 0x5C:
            position += 1
            end = min(position, len(line))
        elif byte != 0x20:
            end = position
    return line[:end]


class RuleStack:
    """The rule lists that apply inside one folder, strongest first.

    `own` lists (`.codeindexignore`) rank above git's, deeper files above shallower ones, and `.gitignore` files above
    `info/exclude` and the user's global file.
    """

    __slots__ = ("_git", "_own")

    def __init__(self, git: tuple[RuleList, ...] = (), own: tuple[RuleList, ...] = ()) -> None:
        self._git = git
        self._own = own

    def with_lists(self, git: RuleList | None, own: RuleList | None) -> RuleStack:
        """Return the stack for a folder that brings rule files of its own."""
        if not git and not own:
            return self
        return RuleStack((git, *self._git) if git else self._git, (own, *self._own) if own else self._own)

    def without_git(self) -> RuleStack:
        """Return the stack for another repository's top, where the outer repository's rules end."""
        return RuleStack((), self._own)

    def ignored(self, path: bytes, name: bytes, is_dir: bool) -> bool:
        """Say whether a path, none of whose parents is ignored, is ignored itself."""
        own = self.own_verdict(path, name, is_dir)
        if own is not None:
            return own
        for rules in self._git:
            verdict = rules.verdict(path, name, is_dir)
            if verdict is not None:
                return verdict
        return False

    def own_verdict(self, path: bytes, name: bytes, is_dir: bool) -> bool | None:
        """Return what `.codeindexignore` says of a path: ignored, re-admitted, or nothing."""
        for rules in self._own:
            verdict = rules.verdict(path, name, is_dir)
            if verdict is not None:
                return verdict
        return None
