"""LlamaIndex's metadata filters: what they mean, once, for the retriever and for the vector store."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from llama_index_codeindex.engine.errors import InvalidArgument
from llama_index_codeindex.engine.search.filters import Condition


def matches(filters: MetadataFilters | MetadataFilter, metadata: Mapping[str, Any]) -> bool:
    """Say whether metadata passes nested filters. A key that is missing passes only `!=`, `nin` and `is_empty`.

    Raises:
        InvalidArgument: An operator is not known here, or a value does not fit its operator.
    """
    if isinstance(filters, MetadataFilter):
        return _holds(filters, metadata)
    verdicts = (matches(part, metadata) for part in filters.filters)
    if filters.condition == FilterCondition.OR:
        return any(verdicts) if filters.filters else True
    if filters.condition == FilterCondition.NOT:
        return not any(verdicts)
    return all(verdicts)


def keys_of(filters: MetadataFilters | MetadataFilter) -> frozenset[str]:
    """Return every key that filters ask about."""
    if isinstance(filters, MetadataFilter):
        return frozenset((filters.key,))
    return frozenset(key for part in filters.filters for key in keys_of(part))


def condition_of(filters: MetadataFilters) -> Condition:
    """Return filters as the engine takes them.

    Raises:
        InvalidArgument: A key is unknown.
    """
    return Condition(keys_of(filters), lambda facts: matches(filters, facts))


class MetadataColumns:
    """The metadata of many nodes, by key and value, so that a filter looks at each value once and not at every node.

    A key becomes a column when a filter first asks about it.

    Args:
        nodes: The metadata by number. It is not copied: say `added` and `removed` when it changes.
    """

    def __init__(self, nodes: Mapping[int, Mapping[str, Any]]) -> None:
        self._nodes = nodes
        self._columns: dict[str, dict[Hashable, tuple[Any, set[int]]]] = {}

    def added(self, number: int) -> None:
        """Take note of a node that is new in `nodes`."""
        for key, column in self._columns.items():
            self._put(column, number, self._nodes[number].get(key))

    def removed(self, number: int, metadata: Mapping[str, Any]) -> None:
        """Take note of a node that has left `nodes`, with this metadata."""
        for key, column in self._columns.items():
            place = _place_of(metadata.get(key))
            _, numbers = column[place]
            numbers.discard(number)
            if not numbers:
                del column[place]

    def passing(self, filters: MetadataFilters | MetadataFilter) -> set[int]:
        """Return the numbers of the nodes that pass; `matches` says what that means.

        Raises:
            InvalidArgument: An operator is not known here, or a value does not fit its operator.
        """
        if isinstance(filters, MetadataFilter):
            return self._passing_one(filters)
        if not filters.filters:
            return set(self._nodes)
        parts = [self.passing(part) for part in filters.filters]
        if filters.condition == FilterCondition.OR:
            return set().union(*parts)
        if filters.condition == FilterCondition.NOT:
            return set(self._nodes).difference(*parts)
        return set.intersection(*sorted(parts, key=len))

    def _passing_one(self, part: MetadataFilter) -> set[int]:
        column = self._column(part.key)
        if part.operator == FilterOperator.EQ and isinstance(part.value, str):
            return set(column.get(_place_of(part.value), (None, ()))[1])
        if part.operator == FilterOperator.IN and all(isinstance(value, str) for value in _several(part)):
            return _union(column.get(_place_of(value), (None, ()))[1] for value in _several(part))
        return _union(numbers for value, numbers in column.values() if _holds(part, {part.key: value}))

    def _column(self, key: str) -> dict[Hashable, tuple[Any, set[int]]]:
        if key not in self._columns:
            column: dict[Hashable, tuple[Any, set[int]]] = {}
            for number, metadata in self._nodes.items():
                self._put(column, number, metadata.get(key))
            self._columns[key] = column
        return self._columns[key]

    @staticmethod
    def _put(column: dict[Hashable, tuple[Any, set[int]]], number: int, value: Any) -> None:
        column.setdefault(_place_of(value), (value, set()))[1].add(number)


def _place_of(value: Any) -> Hashable:
    """Return what a value is kept under: `1`, `1.0` and `True` are equal and yet not the same to every operator."""
    if value is None or isinstance(value, (str, int, float)):
        return type(value), value
    return "json", json.dumps(value, sort_keys=True, default=repr)


def _union(sets: Iterable[Iterable[int]]) -> set[int]:
    found: set[int] = set()
    for numbers in sets:
        found.update(numbers)
    return found


_ORDERINGS: dict[FilterOperator, Callable[[Any, Any], bool]] = {
    FilterOperator.GT: lambda value, wanted: value > wanted,
    FilterOperator.GTE: lambda value, wanted: value >= wanted,
    FilterOperator.LT: lambda value, wanted: value < wanted,
    FilterOperator.LTE: lambda value, wanted: value <= wanted,
}


def _holds(part: MetadataFilter, metadata: Mapping[str, Any]) -> bool:
    value, wanted, operator = metadata.get(part.key), part.value, part.operator
    if operator == FilterOperator.IS_EMPTY:
        return value is None or value in ("", [], {})
    if operator == FilterOperator.NE:
        return bool(value != wanted)
    if operator == FilterOperator.NIN:
        return value not in _several(part)
    if value is None:
        return False
    if operator == FilterOperator.EQ:
        return bool(value == wanted)
    if operator == FilterOperator.IN:
        return value in _several(part)
    if operator in _ORDERINGS:
        return _compare(part, value)
    if operator in (FilterOperator.ANY, FilterOperator.ALL):
        held = value if isinstance(value, (list, tuple, set)) else [value]
        found = [item in held for item in _several(part)]
        return any(found) if operator == FilterOperator.ANY else all(found)
    if operator == FilterOperator.CONTAINS:
        return wanted in value if isinstance(value, (list, tuple, set, str)) else False
    if operator == FilterOperator.TEXT_MATCH:
        return str(wanted) in str(value)
    if operator == FilterOperator.TEXT_MATCH_INSENSITIVE:
        return str(wanted).casefold() in str(value).casefold()
    raise InvalidArgument(f"The filter operator {operator.value!r} is not supported.")


def _several(part: MetadataFilter) -> list[Any]:
    if not isinstance(part.value, list):
        raise InvalidArgument(f"The filter on {part.key!r} with {part.operator.value!r} takes a list.")
    return part.value


def _compare(part: MetadataFilter, value: Any) -> bool:
    try:
        return _ORDERINGS[part.operator](value, part.value)
    except TypeError:
        raise InvalidArgument(f"The filter on {part.key!r} compares values of different types.") from None
