"""The tuples in flight at a task, as entries of its state: saved, divided and restored with it.

Each tuple has a key that the task owns, so another number of tasks divides the tuples as any keyed
state: the key of the tuple if its stream is grouped by fields, otherwise a key that is searched
for.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from heron_core.state.keys import owner
from heron_core.state.parts import KeyRange
from heron_core.state.protocol import StateBackend, StateKind, StateTable, TableId

TABLE = TableId("__in_flight", StateKind.LIST, nested=True, indexed=True)
"""Table of the tuples in flight. No state of a user has this name: it is no public identifier."""
SPREAD = 16
"""So many keys are looked for: among so many tasks are tuples without a key divided later."""

Item = tuple[str, str, int | None, Any]
"""Component, stream, task, values."""


def put_in_flight(
    backend: StateBackend, key_range: KeyRange, items: Sequence[Item], item_keys: Sequence[Any]
) -> None:
    """Save these items with the next snapshot, in place of the previous ones; `item_keys` are the
    keys of the items, None for an item without one."""
    if not items and TABLE not in backend.names():
        return
    table = backend.table(TABLE)
    _empty(table)
    spread = own_keys(key_range) if None in item_keys else []
    for position, (item, key) in enumerate(zip(items, item_keys, strict=True)):
        table_key = spread[position % SPREAD] if key is None else key
        table.put(table_key, list(item), position)


def take_in_flight(backend: StateBackend) -> list[Item]:
    """The saved items in order; the state keeps none of them."""
    if TABLE not in backend.names():
        return []
    table = backend.table(TABLE)
    found = [entry for key in table.all_keys() for entry in table.items(key)]
    _empty(table)
    found.sort(key=lambda entry: int(entry[0]))
    return [(item[0], item[1], item[2], item[3]) for _, item in found]


def _empty(table: StateTable) -> None:
    """Entry by entry: after a `clear` the next snapshot would have all of the state again."""
    for key in table.all_keys():
        for position, _ in table.items(key):
            table.remove(key, position)


def own_keys(key_range: KeyRange) -> list[str]:
    """Some keys that the task owns."""
    return list(_first(SPREAD, key_range))


def _first(number: int, key_range: KeyRange) -> Iterator[str]:
    numbers = count()
    for _ in range(number):
        yield next(
            key for each in numbers if owner(key := f"__{each}", key_range.tasks) == key_range.index
        )
