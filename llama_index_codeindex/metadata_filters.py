"""LlamaIndex's metadata filters: what they mean, once, for the retriever and for the vector store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
