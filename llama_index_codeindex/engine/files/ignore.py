"""Ignore rules with git's own meaning: parsing, bases, precedence, excluded parents.

A rule list keeps its order, because the last rule that matches decides. Every path of a walk asks every list, so a
list is arranged for that question: names, `*.suffix` and literal paths are found through dictionaries, and the other
patterns are tried one by one only after a joint expression has said that one of them matches. Before that the files
of a folder are asked about together, since most folders have none that any rule speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass

from llama_index_codeindex.engine.files.wildmatch import STAR, compile_expression, is_plain, literal_length, translate

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file.

    `by_path` holds whether the pattern has a slash and so is matched against the path below the list's base; else the
    base name alone is matched. `expression` is None where `literal` is the whole pattern.
    """

    negated: bool
    only_directories: bool
    by_path: bool
    literal: bytes
    expression: bytes | None

    @property
    def suffix(self) -> bytes:
        """The suffix with its dot, if the pattern is `*.suffix`, else nothing."""
        is_suffix = not self.by_path and self.literal.startswith(b"*.") and self.literal.rfind(b".") == 1
        return self.literal[1:] if is_suffix and literal_length(self.literal[1:]) == len(self.literal) - 1 else b""


def parse_rule(line: bytes, *, ignore_case: bool = False) -> Rule | None:
    """Return the rule of one pattern line, or None when it can match nothing."""
    negated = line.startswith(b"!")
    pattern = line[negated:]
    only_directories = pattern.endswith(b"/")
    pattern = pattern[: len(pattern) - only_directories]
    by_path = b"/" in pattern
    if ignore_case:
        pattern = pattern.lower()
    if by_path:
        pattern = pattern.removeprefix(b"/")
        if pattern.startswith(b"**/") and b"/" not in pattern[3:]:  # at any depth: that is, by its name
            by_path, pattern = False, pattern[3:]
    length = literal_length(pattern)
    if length == len(pattern):
        return Rule(negated, only_directories, by_path, pattern, None)
    # git compares the literal start byte by byte and hands only the rest to wildmatch.
    prefix = pattern[:length] if by_path else b""
    expression = translate(pattern[len(prefix) :], path=by_path)
    if expression is None:
        return None
    return Rule(negated, only_directories, by_path, pattern, re.escape(prefix) + expression)


class FolderNames:
    """The names of a folder's files, arranged so that rules can be asked about all of them at once.

    `suffixes` are what the names have from their last dot on, and `joined` has a NUL around each name.
    """

    __slots__ = ("every", "joined", "suffixes")

    def __init__(self, names: Collection[bytes]) -> None:
        self.every = frozenset(names)
        self.suffixes = {name[name.rfind(b".") :] for name in names}
        self.joined = b"\0%b\0" % b"\0".join(names)

    def below(self, base: bytes) -> bytes:
        """Return the files' paths, given that of their folder, joined in the same way."""
        return self.joined[:-1].replace(b"\0", b"\0" + base) + b"\0"

    def folded(self) -> FolderNames:
        """Return the names in lower case."""
        return FolderNames([name.lower() for name in self.every])


class _Patterns:
    """The wildcard patterns of a list that are matched against the base name, or those matched against the path."""

    __slots__ = ("_fold", "_joint", "_rules", "_screen")

    def __init__(self, rules: list[tuple[int, bytes]], *, ignore_case: bool) -> None:
        self._rules = rules[::-1]
        self._fold = ignore_case
        expressions = [expression for _, expression in rules]
        can_join = all(is_plain(expression) for expression in expressions)
        # Both are compiled by those who need them: a list that is never in doubt needs only the second.
        self._screen = b"|".join(b"(?:%b)" % expression for expression in expressions) if can_join else None
        self._joint = b"(?:%b)\\0" % b"|".join(map(_inside, expressions)) if can_join else None

    def last_match(self, text: bytes, best: int) -> int:
        """Return the index of the last pattern that matches, if that is above `best`, else `best`."""
        if self._screen is not None and not compile_expression(self._screen, self._fold).fullmatch(text):
            return best
        for index, expression in self._rules:
            if index < best:
                break
            if compile_expression(expression, self._fold).fullmatch(text):
                return index
        return best

    def may_match(self, joined: bytes) -> bool:
        """Say whether any pattern matches one of the texts in `joined`, which have NULs around them."""
        return self._joint is None or compile_expression(self._joint, self._fold).search(joined) is not None


def _inside(expression: bytes) -> bytes:
    """Return what finds an expression's match in joined texts; a star at its start need not be searched for."""
    return expression[len(STAR) :] if expression.startswith(STAR) else rb"\0" + expression


class _Table:
    """The rules of one list that can match a file, or those that can match a folder, by their place in the list."""

    __slots__ = ("_by_name", "_by_path", "_names", "_parents", "_paths", "_suffixes")

    def __init__(self, rules: Sequence[Rule | None], *, ignore_case: bool) -> None:
        self._names: dict[bytes, int] = {}
        self._suffixes: dict[bytes, int] = {}
        self._paths: dict[bytes, int] = {}
        others: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = ([], [])
        for index, rule in enumerate(rules):
            if rule is None:
                continue
            if rule.expression is None:
                (self._paths if rule.by_path else self._names)[rule.literal] = index
            elif rule.suffix:
                self._suffixes[rule.suffix] = index
            else:
                others[rule.by_path].append((index, rule.expression))
        self._parents = {path[: path.rfind(b"/") + 1] for path in self._paths}
        self._by_name, self._by_path = (
            _Patterns(found, ignore_case=ignore_case) if found else None for found in others
        )

    def last_match(self, below: bytes, name: bytes) -> int:
        """Return the index of the last rule that matches, or -1."""
        best = self._names.get(name, -1)
        if self._suffixes:
            best = max(best, self._suffixes.get(name[name.rfind(b".") :], -1))
        if self._paths:
            best = max(best, self._paths.get(below, -1))
        if self._by_name:
            best = self._by_name.last_match(name, best)
        if self._by_path:
            best = self._by_path.last_match(below, best)
        return best

    def candidates(self, base: bytes, names: FolderNames) -> Set[bytes]:
        """Return those of a folder's names that a rule may match, `base` being the folder below that of the list."""
        if self._by_name and self._by_name.may_match(names.joined):
            return names.every
        if self._by_path and self._by_path.may_match(names.below(base)):
            return names.every
        found = self._names.keys() & names.every
        if base in self._parents:
            found |= {name for name in names.every if base + name in self._paths}
        suffixes = self._suffixes.keys() & names.suffixes
        if suffixes:
            found |= {name for name in names.every if name[name.rfind(b".") :] in suffixes}
        return found


class RuleList:
    """The rules of one ignore file.

    Args:
        data: The file's bytes.
        base: The folder the rules are relative to, from the repository's top: `b""` or `b"a/b/"`.
        ignore_case: git's `core.ignorecase`.
    """

    __slots__ = ("_fold", "_for_files", "_for_folders", "_start", "base", "rules")

    def __init__(self, data: bytes, base: bytes = b"", *, ignore_case: bool = False) -> None:
        self.base = base
        self._start = len(base)
        self._fold = ignore_case
        parsed = (parse_rule(line, ignore_case=ignore_case) for line in pattern_lines(data))
        self.rules: list[Rule] = [rule for rule in parsed if rule is not None]
        self._for_folders = _Table(self.rules, ignore_case=ignore_case)
        files = [None if rule.only_directories else rule for rule in self.rules]
        self._for_files = _Table(files, ignore_case=ignore_case)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def verdict(self, path: bytes, name: bytes, is_dir: bool) -> bool | None:
        """Return True if the last matching rule ignores the path, False if it re-admits it, None if none matches.

        Args:
            path: The path from the repository's top; it must lie below `base`.
            name: Its base name.
            is_dir: Whether it is a folder; a link to one is not.
        """
        if self._fold:
            path, name = path.lower(), name.lower()
        table = self._for_folders if is_dir else self._for_files
        index = table.last_match(path[self._start :], name)
        return None if index < 0 else not self.rules[index].negated

    def candidates(self, base: bytes, names: FolderNames) -> Set[bytes]:
        """Return those of a folder's file names for which `verdict` may not be None: no others need be asked about.

        Args:
            base: The folder's path from the repository's top, with a trailing slash unless empty.
            names: The names of its files.
        """
        below = base[self._start :]
        if not self._fold:
            return self._for_files.candidates(below, names)
        found = self._for_files.candidates(below.lower(), names.folded())
        return {name for name in names.every if name.lower() in found} if found else found


def pattern_lines(data: bytes) -> Iterable[bytes]:
    """Yield the pattern lines of an ignore file as git reads them."""
    for line in data.removeprefix(_BOM).split(b"\n"):
        if line.startswith(b"#"):
            continue
        line = line.removesuffix(b"\r").split(b"\0", 1)[0]
        line = _without_trailing_spaces(line)
        if line:
            yield line


def _without_trailing_spaces(line: bytes) -> bytes:
    """Drop trailing spaces unless a backslash escapes them; tabs stay, as in git."""
    if not line.endswith(b" "):
        return line
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
        for rules in self._own:
            verdict = rules.verdict(path, name, is_dir)
            if verdict is not None:
                return verdict
        for rules in self._git:
            verdict = rules.verdict(path, name, is_dir)
            if verdict is not None:
                return verdict
        return False

    def candidates(self, base: bytes, names: FolderNames) -> set[bytes]:
        """Return those of a folder's file names that any rule may match; see `RuleList.candidates`."""
        found: set[bytes] = set()
        for rules in (*self._own, *self._git):
            found |= rules.candidates(base, names)
        return found

    def own_verdict(self, path: bytes, name: bytes, is_dir: bool) -> bool | None:
        """Return what `.codeindexignore` says of a path: ignored, re-admitted, or nothing."""
        for rules in self._own:
            verdict = rules.verdict(path, name, is_dir)
            if verdict is not None:
                return verdict
        return None
