"""Types of values that user code cannot change in place, and the packing of them that C does."""

from typing import Any

IMMUTABLE: frozenset[type] = frozenset(
    {int, float, str, bytes, bool, type(None), complex, frozenset}
)
"""Exact types whose values cannot change in place. A tuple may hold a list."""


def cannot_change(value: Any) -> bool:
    """Whether a value is of one of the types IMMUTABLE."""
    return type(value) in IMMUTABLE


def packed_changes(keys: list[Any], cells: list[Any], absent: Any) -> tuple[bytes, bytes] | None:
    """The msgpack arrays of keys and of the values of their cells, without cells of `absent`; None
    if one is not plain: always in Python, whose packer takes whole lists."""
    return None


def packed_entries(entries: dict[Any, Any], absent: Any) -> tuple[bytes, bytes] | None:
    """The same of a dict: key -> cell."""
    return None


def is_value_of(cell: Any, value: Any) -> bool:
    """Whether C finds the value of a cell: called by the compiled tables alone."""
    return bool(cell.value is value)
