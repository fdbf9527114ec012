"""Types of values that user code cannot change in place, and the packing of their values in C."""

from typing import Any

IMMUTABLE: frozenset[type] = frozenset(
    {int, float, str, bytes, bool, type(None), complex, frozenset}
)
"""Exact types whose values cannot change in place. A tuple may hold a list."""


def cannot_change(value: Any) -> bool:
    """Whether a value is of one of the types IMMUTABLE."""
    return type(value) in IMMUTABLE


def packed_changes(keys: list[Any], cells: list[Any], absent: Any) -> tuple[bytes, bytes] | None:
    """The msgpack arrays of keys and of the values of their cells, cells of `absent` left out.

    None in Python, whose packer takes whole lists; in C, None if a key or a value is not plain."""
    return None


def packed_entries(entries: dict[Any, Any], absent: Any) -> tuple[bytes, bytes] | None:
    """The same of a dict: key -> cell."""
    return None


def is_value_of(cell: Any, value: Any) -> bool:
    """Whether C finds the value of a cell; only compiled tables have to ask."""
    return bool(cell.value is value)
