"""What a snapshot takes of the tables in memory, and how they take it back."""

from typing import Any

from heron_core.native import FlatTable, NestedTable
from heron_core.state.protocol import ABSENT
from heron_core.state.snapshot import PackedEntries, TableChanges

Table = FlatTable | NestedTable


def everything_in(table: Table) -> TableChanges | PackedEntries:
    """All entries."""
    if isinstance(table, FlatTable):
        packed = table.packed(full=True)
        if packed is not None:
            return PackedEntries(*packed)
        return TableChanges(list(table.entries), None, table.values(), [], None)
    pairs = [(key, sub) for key, entries in table.entries.items() for sub in entries]
    values = [value for entries in table.entries.values() for value in entries.values()]
    return _nested(pairs, values, [])


def changes_of(table: Table) -> TableChanges | PackedEntries:
    """The entries that have changed since the last snapshot."""
    if isinstance(table, NestedTable):
        return _nested(*_sorted_out(table.changed or {}))
    packed = table.packed(full=False)
    if packed is not None:
        return PackedEntries(*packed)
    keys, values, gone = table.changes()
    return TableChanges(keys, None, values, gone, None)


def apply(changes: TableChanges, table: Table) -> None:
    """Take over what a chunk says."""
    if isinstance(table, NestedTable):
        _apply_nested(changes, table)
    else:
        for key in changes.removed:
            table.remove(key)
        table.load(changes.keys, changes.values)


def _apply_nested(changes: TableChanges, table: NestedTable) -> None:
    for key, sub in zip(changes.removed, changes.removed_subs or (), strict=True):
        entries = table.entries.get(key, {})
        entries.pop(sub, None)
        if not entries:
            table.entries.pop(key, None)
    for key, sub, value in zip(changes.keys, changes.subs or (), changes.values, strict=True):
        table.entries.setdefault(key, {})[sub] = value
    table.recount()


def _sorted_out(
    changed: dict[Any, dict[Any, Any]],
) -> tuple[list[tuple[Any, Any]], list[Any], list[tuple[Any, Any]]]:
    """Of what has changed: key and sub of entries that are there, their values, key and sub of
    those that are no more."""
    there: list[tuple[Any, Any]] = []
    values: list[Any] = []
    gone: list[tuple[Any, Any]] = []
    for key, values_by_sub in changed.items():
        for sub, value in values_by_sub.items():
            if value is ABSENT:
                gone.append((key, sub))
            else:
                there.append((key, sub))
                values.append(value)
    return there, values, gone


def _nested(
    pairs: list[tuple[Any, Any]], values: list[Any], gone: list[tuple[Any, Any]]
) -> TableChanges:
    keys, subs = [key for key, _ in pairs], [sub for _, sub in pairs]
    return TableChanges(keys, subs, values, [key for key, _ in gone], [sub for _, sub in gone])
