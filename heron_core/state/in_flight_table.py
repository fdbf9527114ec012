"""The tuples in flight at a task, as entries of its state: saved, divided and restored with it.

Each tuple has a key of the task, so another number of tasks divides the tuples like any keyed
state: the tuple's own key if the stream is grouped by fields, otherwise a key of `own_keys`.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from heron_core.state.keys import owner
from heron_core.state.parts import KeyRange
from heron_core.state.protocol import StateBackend, StateKind, StateTable, TableId

TABLE = TableId("__in_flight", StateKind.LIST, nested=True, indexed=True)
"""Table of the tuples in flight. Names of user states are public identifiers, so a user's state
cannot have the name."""
SPREAD = 16
"""Keys for tuples without a key: at most so many tasks share these tuples after a rescale."""

Item = tuple[str, str, int | None, Any]
"""Component, stream, task, values."""


def put_in_flight(
    backend: StateBackend, key_range: KeyRange, items: Sequence[Item], item_keys: Sequence[Any]
) -> None:
    """Save the items with the next snapshot, in place of the previous items; `item_keys` are the
    keys of the items, None for an item without a key."""
    if not items and TABLE not in backend.names():
        return
    table = backend.table(TABLE)
    _empty(table)
    spread = own_keys(key_range) if None in item_keys else []
    for position, (item, key) in enumerate(zip(items, item_keys, strict=True)):
        table_key = spread[position % SPREAD] if key is None else key
        table.put(table_key, list(item), position)


def take_in_flight(backend: StateBackend) -> list[Item]:
    """Remove the saved items from the state, and return the items in order."""
    if TABLE not in backend.names():
        return []
    table = backend.table(TABLE)
    found = [entry for key in table.all_keys() for entry in table.items(key)]
    _empty(table)
    found.sort(key=lambda entry: int(entry[0]))
    return [(item[0], item[1], item[2], item[3]) for _, item in found]


def _empty(table: StateTable) -> None:
    """Entry by entry: after a `clear` the next snapshot would be a full copy of the state."""
    for key in table.all_keys():
        for position, _ in table.items(key):
            table.remove(key, position)


def own_keys(key_range: KeyRange) -> list[str]:
    """SPREAD keys of the task."""
    return list(_first(SPREAD, key_range))


def _first(number: int, key_range: KeyRange) -> Iterator[str]:
    numbers = count()
    for _ in range(number):
        yield next(
            key for each in numbers if owner(key := f"__{each}", key_range.tasks) == key_range.index
        )
