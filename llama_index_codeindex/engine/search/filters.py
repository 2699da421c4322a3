"""Filters: what a search may look at, decided before any lane ranks."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.files.ignore import RuleList
from llama_index_codeindex.engine.files.jail import relative_path
from llama_index_codeindex.engine.store.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search may look at; an empty field does not restrict.

    Args:
        under: Path prefixes (folders or files) or glob patterns in `.gitignore` syntax; one of them must match.
        languages: Names of languages.
        categories: File categories.
        kinds: Symbol kinds.
        exclude: Patterns for paths that are left out.
        where: A further condition on a file's path, language and category.
    """

    under: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    where: Callable[[dict[str, str]], bool] | None = None

    KEYS = ("under", "language", "category", "symbol_kind", "exclude")

    @classmethod
    def parse(cls, given: dict[str, object] | None) -> Filters:
        """Return the filters of a plain mapping, whose values are a string or a list of strings.

        Raises:
            InvalidArgument: A key is unknown, or a value is not a string.
        """
        values: dict[str, tuple[str, ...]] = {}
        for key, value in (given or {}).items():
            if key not in cls.KEYS:
                raise InvalidArgument(f"Unknown filter {key!r}.", suggestion=f"Filters are: {', '.join(cls.KEYS)}.")
            items = [value] if isinstance(value, str) else value
            if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
                raise InvalidArgument(f"The filter {key!r} takes a string or a list of strings.")
            values[key] = tuple(items)
        return cls(
            values.get("under", ()), values.get("language", ()), values.get("category", ()),
            values.get("symbol_kind", ()), values.get("exclude", ()),
        )  # fmt: skip

    def __bool__(self) -> bool:
        return bool(
            self.under or self.languages or self.categories or self.kinds or self.exclude or self.where is not None
        )

    def restricts_files(self) -> bool:
        """Say whether some files are left out, whatever their chunks are."""
        return bool(self.under or self.languages or self.categories or self.exclude or self.where is not None)

    def file_ids(self, catalog: Catalog) -> list[int] | None:
        """Return the ids of the files that pass, or None when every file does."""
        if not self.restricts_files():
            return None
        admits = _path_test(self.under)
        excluded = RuleList("\n".join(self.exclude).encode("utf-8", "surrogatepass")) if self.exclude else None
        kept: list[int] = []
        for file in catalog.files().values():
            if self.languages and file.language not in self.languages:
                continue
            if self.categories and file.category not in self.categories:
                continue
            if not admits(file.path) or (excluded is not None and _covered(excluded, file.path)):
                continue
            facts = {"file_path": file.path, "language": file.language, "category": file.category}
            if self.where is not None and not self.where(facts):
                continue
            kept.append(file.id)
        return kept


def _path_test(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    if not patterns:
        return lambda _: True
    prefixes = []
    globs = []
    for pattern in patterns:
        if any(mark in pattern for mark in "*?["):
            globs.append(pattern)
        else:
            if os.name != "nt" and "\\" in pattern:
                pattern = pattern.replace("\\", "/")
            prefixes.append(unicodedata.normalize("NFC", relative_path(pattern)))
    rules = RuleList("\n".join(globs).encode("utf-8", "surrogatepass"))

    def admits(path: str) -> bool:
        composed = unicodedata.normalize("NFC", path)
        if any(not prefix or composed == prefix or composed.startswith(prefix + "/") for prefix in prefixes):
            return True
        return bool(globs) and _covered(rules, path)

    return admits


def _covered(rules: RuleList, path: str) -> bool:
    """Say whether patterns match a path or a folder it lies in."""
    parts = path.encode("utf-8", "surrogatepass").split(b"/")
    return any(
        rules.verdict(b"/".join(parts[: end + 1]), parts[end], end + 1 < len(parts)) for end in range(len(parts))
    )
