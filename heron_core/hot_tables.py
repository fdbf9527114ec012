"""The hot path of keyed state: tables in memory (heron_core.state.memory).

One source in two forms, as hot_path.py explains. hot_tables.h has the C function that replaces the
Python function under `if not cython.compiled`. Code that runs once per snapshot is in
state/table_changes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from heron_core.state.plain_types import IMMUTABLE
from heron_core.state.protocol import ABSENT, StateKind, StateTable, TableId

if TYPE_CHECKING:
    import cython
else:

    def _same(kind: Any) -> Any:
        return kind

    cython = SimpleNamespace(compiled=False, cclass=_same, no_gc=_same)  # as in hot_path.py

CHANGED_MIN = 1000
"""Changed entries up to this number are noted one by one, however small the table; far more than
the table's entries means keys that came and went, and then the whole table is saved."""
EXAMINED_EACH_WRITE = 2
"""Entries examined per write: one would suffice without new writes; more only slow a write."""

if not cython.compiled:
    from heron_core.state.plain_types import (
        cannot_change,
        is_value_of,
        packed_changes,
        packed_entries,
    )  # fmt: skip


class MemoryTable:
    """What both kinds of tables have in common."""

    __slots__ = ("codec", "entries", "id", "kinds")

    def __init__(self, table_id: TableId, codec: Any) -> None:
        self.id = table_id
        self.codec = codec
        self.entries: dict[Any, Any] = {}
        self.kinds: set[type] = set(IMMUTABLE)
        """Types of which a value or a `sub` could be packed."""

    def _check(self, key: Any, value: Any) -> None:
        """StateError at the first value or `sub` of a type that cannot be saved."""
        if type(value) not in self.kinds:
            self.codec.pack_value(value, self.id.name, key)
            self.kinds.add(type(value))

    def all_keys(self) -> Iterator[Any]:
        """See StateTable."""
        return iter(list(self.entries))


@cython.no_gc
@cython.cclass
class Cell:
    """The value of a key, and the epoch of its table in which the change was noted.

    A value is replaced in place, so get and put of a key need one look-up, and noting a change
    needs no second dict: with many keys each look-up waits for memory. A compiled cell is invisible
    to the garbage collector: a million cells would take the collector long.
    """

    __slots__ = ("noted_in", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        """ABSENT in a cell that was removed."""
        self.noted_in: int = 0


class FlatTable(MemoryTable):
    """One entry per key: (key, None) -> the cell of a value."""

    __slots__ = ("_epoch", "_gone", "_last", "_last_key", "_mutable", "_noted", "_noted_keys")

    def __init__(self, table_id: TableId, codec: Any) -> None:
        MemoryTable.__init__(self, table_id, codec)
        assert is_value_of(Cell(ABSENT), ABSENT)  # as hot_tables.h has it
        self._epoch: int = 0
        """The snapshots that were taken."""
        self._noted_keys: list[Any] | None = None
        """Keys changed since the last snapshot, each once, in order of the change; None: everything
        is new.
        """
        self._noted: list[Cell] = []
        """Their cells."""
        self._gone: dict[Any, Cell] = {}
        """Removed cells among the changes: a later put of the key reuses its cell."""
        self._mutable: set[Any] | None = set() if table_id.kind is StateKind.PLAIN else None
        """Keys of values that user code may hold on to and change at any time."""
        self._last_key: Any = ABSENT
        self._last: Cell | None = None
        """The cell read last: the next put mostly replaces its value."""

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        cell: Cell | None = self.entries.get(key)
        if cell is None:
            return ABSENT
        self._last_key, self._last = key, cell
        if self._noted_keys is not None and not cannot_change(cell.value):
            self._note(key, cell)
        return cell.value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        if self._mutable is not None:
            # Heron's components may put unsaveable values, as long as the state is not saved.
            if cannot_change(value):
                self._mutable.discard(key)
            else:
                self._mutable.add(key)
        elif not cannot_change(value):
            self._check(key, value)
        cell: Cell | None = self._last if key is self._last_key else self.entries.get(key)
        if cell is None:
            cell = self._gone.pop(key, None) if self._gone else None
            if cell is None:
                cell = Cell(ABSENT)
            self.entries[key] = cell
        cell.value = value
        if self._noted_keys is not None and cell.noted_in != self._epoch:
            self._note(key, cell)

    def _note(self, key: Any, cell: Cell) -> None:
        if self._noted_keys is not None and cell.noted_in != self._epoch:
            cell.noted_in = self._epoch
            self._noted_keys.append(key)
            self._noted.append(cell)

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        cell: Cell | None = self.entries.pop(key, None)
        if cell is None:
            return
        self._last_key, self._last = ABSENT, None
        if self._mutable is not None:
            self._mutable.discard(key)
        if self._noted_keys is not None:
            self._note(key, cell)
            cell.value = ABSENT
            self._gone[key] = cell
            if len(self._noted) > len(self.entries) + CHANGED_MIN:
                self._forget_noted()

    def _forget_noted(self) -> None:
        self._noted_keys = None
        self._noted = []
        self._gone = {}

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        value = self.get(key)
        return [] if value is ABSENT else [(None, value)]

    def last(self, key: Any) -> Any:
        """See StateTable; there is no list here."""
        return None

    def clear(self) -> None:
        """See StateTable."""
        self.entries.clear()
        self._last_key, self._last = ABSENT, None
        self._forget_noted()
        if self._mutable is not None:
            self._mutable.clear()

    # --- snapshots (heron_core.state.table_changes) ---------------------------------------------

    @property
    def is_all_new(self) -> bool:
        """Whether a snapshot has to have all entries."""
        return self._noted_keys is None

    def note_changes(self) -> None:
        """Changes are noted from here on: a snapshot has what was before."""
        self._epoch += 1
        self._noted_keys, self._noted, self._gone = [], [], {}

    def values(self) -> list[Any]:
        """All values, in the order of `entries`."""
        return [cell.value for cell in self.entries.values()]

    def changes(self) -> tuple[list[Any], list[Any], list[Any]]:
        """The changes: present keys, their values, removed keys."""
        keys: list[Any] = []
        values: list[Any] = []
        cell: Cell
        for key, cell in zip(self._noted_keys or [], self._noted, strict=True):
            if cell.value is not ABSENT:
                keys.append(key)
                values.append(cell.value)
        for key in self._mutable or ():
            cell = self.entries[key]
            if cell.noted_in != self._epoch or self._noted_keys is None:
                keys.append(key)
                values.append(cell.value)
        return keys, values, list(self._gone)

    def packed(self, *, full: bool) -> tuple[bytes, bytes, list[Any]] | None:
        """All entries, or the changes: keys and values as msgpack arrays, removed keys; None where
        `values` and `changes` have to be packed."""
        if full:
            found = packed_entries(self.entries, ABSENT)
        elif self._noted_keys is None or self._mutable:
            return None
        else:
            found = packed_changes(self._noted_keys, self._noted, ABSENT)
        return None if found is None else (*found, [] if full else list(self._gone))

    def load(self, keys: list[Any], values: list[Any]) -> None:
        """Take over entries of a snapshot."""
        self._last_key, self._last = ABSENT, None
        for key, value in zip(keys, values, strict=True):
            self.entries[key] = Cell(value)
            if self._mutable is not None and not cannot_change(value):
                self._mutable.add(key)


class NestedTable(MemoryTable):
    """Many entries for a key: (key, sub) -> value."""

    __slots__ = (
        "_changed_key", "_changed_last", "_changes", "_last", "_last_key", "changed", "size",
    )  # fmt: skip

    def __init__(self, table_id: TableId, codec: Any) -> None:
        MemoryTable.__init__(self, table_id, codec)
        self.size: int = 0
        """How many entries there are."""
        self.changed: dict[Any, dict[Any, Any]] | None = None
        """key -> sub -> value or ABSENT, both in the order of their first change; None: everything
        is new since the last snapshot."""
        self._changes: int = 0
        """How many values `changed` has."""
        self._last_key: Any = ABSENT
        self._last: dict[Any, Any] | None = None
        """The entries read last: the next put is mostly among them."""
        self._changed_key: Any = ABSENT
        self._changed_last: dict[Any, Any] | None = None
        """Of `changed` the values of the key that was changed last."""

    def _entries_of(self, key: Any) -> dict[Any, Any] | None:
        if key is not self._last_key:
            self._last_key, self._last = key, self.entries.get(key)
        return self._last

    def _change(self, key: Any, sub: Any, value: Any) -> None:
        if self.changed is not None:
            values = self._changed_last
            if values is None or key is not self._changed_key:
                values = self.changed.get(key)
                if values is None:
                    values = self.changed[key] = {}
                self._changed_key, self._changed_last = key, values
            before: cython.Py_ssize_t = len(values)
            values[sub] = value
            self._changes += len(values) - before

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        entries = self._entries_of(key)
        value = ABSENT if entries is None else entries.get(sub, ABSENT)
        if self.changed is not None and not cannot_change(value) and value is not ABSENT:
            self._change(key, sub, value)
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        if not cannot_change(sub):
            self._check(key, sub)
        self._put(key, value, sub, self._entries_of(key))

    def append(self, key: Any, value: Any) -> None:
        """Put a value behind the last index of a key's list."""
        entries = self._entries_of(key)
        at = 0 if entries is None else next(reversed(entries)) + 1
        self._put(key, value, at, entries)

    def _put(self, key: Any, value: Any, sub: Any, entries: dict[Any, Any] | None) -> None:
        if not cannot_change(value):
            self._check(key, value)
        if entries is None:
            entries = {sub: value}
            self.entries[key] = entries
            self._last_key, self._last = key, entries
            self.size += 1
        else:
            before: cython.Py_ssize_t = len(entries)
            entries[sub] = value
            self.size += len(entries) - before
        if self.changed is not None:
            self._change(key, sub, value)

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        entries = self._entries_of(key)
        if entries is None or entries.pop(sub, ABSENT) is ABSENT:
            return
        self.size -= 1
        if not entries:
            del self.entries[key]
            self._last_key, self._last = ABSENT, None
        if self.changed is not None:
            self._change(key, sub, ABSENT)
            self._forget_if_many()

    def remove_all(self, key: Any) -> None:
        """Remove all entries of a key."""
        entries = self.entries.pop(key, None)
        if entries is None:
            return
        self._last_key, self._last = ABSENT, None
        self.size -= len(entries)
        if self.changed is not None:
            for sub in entries:
                self._change(key, sub, ABSENT)
            self._forget_if_many()

    def _forget_if_many(self) -> None:
        if self._changes > self.size + CHANGED_MIN:
            self._note_from(None)

    def _note_from(self, changed: dict[Any, dict[Any, Any]] | None) -> None:
        self.changed = changed
        self._changes = 0
        self._changed_key, self._changed_last = ABSENT, None

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        entries = self._entries_of(key)
        if entries is None:
            return []
        if self.changed is not None:
            self._note(key, entries)
        return list(entries.items())

    def values(self, key: Any) -> list[Any]:
        """As `items`, the values alone."""
        entries = self._entries_of(key)
        if entries is None:
            return []
        if self.changed is not None:
            self._note(key, entries)
        return list(entries.values())

    def _note(self, key: Any, entries: dict[Any, Any]) -> None:
        """Those of a key are handed out, and may be changed."""
        for sub, value in entries.items():
            if not cannot_change(value):
                self._change(key, sub, value)

    def last(self, key: Any) -> Any:
        """See StateTable."""
        entries = self.entries.get(key)
        return next(reversed(entries)) if entries else None

    def clear(self) -> None:
        """See StateTable."""
        self.entries.clear()
        self._last_key, self._last = ABSENT, None
        self.size = 0
        self._note_from(None)

    @property
    def is_all_new(self) -> bool:
        """Whether a snapshot has to have all entries."""
        return self.changed is None

    def note_changes(self) -> None:
        """Changes are noted from here on: a snapshot has what was before."""
        self._note_from({})

    def recount(self) -> None:
        """After `entries` was changed from outside: a snapshot was taken over."""
        self._last_key, self._last = ABSENT, None
        self.size = sum(map(len, self.entries.values()))


class TimedTable:
    """A StateTable whose entries expire: a table beside a table, with the time when each does.

    Expired entries are invisible. An entry is removed when examined, and each write examines two
    more, so an unread entry is removed after as many writes as half of the entries.
    """

    __slots__ = (
        "_clock", "_deadlines", "_entries", "_refreshes_on_read", "_secs", "_to_examine",
    )  # fmt: skip

    def __init__(
        self, entries: StateTable, deadlines: StateTable, time_to_live: Any,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        """`time_to_live`: see heron_core.state.time_to_live."""
        self._entries = entries
        self._deadlines = deadlines
        self._secs: float = time_to_live.secs
        self._refreshes_on_read: bool = time_to_live.refresh_on_read
        self._clock = clock
        self._to_examine: Iterator[tuple[Any, Any]] = iter(())

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        now: cython.double = self._clock()
        if self._is_expired(key, sub, now):
            return ABSENT
        value = self._entries.get(key, sub)
        if self._refreshes_on_read and value is not ABSENT:
            self._prolong(key, sub, now)
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        now: cython.double = self._clock()
        self._entries.put(key, value, sub)
        self._prolong(key, sub, now)
        self._examine(now)

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        self._entries.remove(key, sub)
        self._deadlines.remove(key, sub)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        now: cython.double = self._clock()
        alive = []
        for sub, value in self._entries.items(key):
            if not self._is_expired(key, sub, now):
                alive.append((sub, value))
                if self._refreshes_on_read:
                    self._prolong(key, sub, now)
        return alive

    def last(self, key: Any) -> Any:
        """See StateTable: an index may belong to an expired entry, as long as the index is not
        reused.
        """
        return self._entries.last(key)

    def all_keys(self) -> Iterator[Any]:
        """See StateTable."""
        for key in self._entries.all_keys():
            if self._has_any(key):
                yield key

    def _has_any(self, key: Any) -> bool:
        """Whether one of a key's entries is alive."""
        for sub, _ in self._entries.items(key):
            if not self._is_expired(key, sub, self._clock()):
                return True
        return False

    def clear(self) -> None:
        """See StateTable."""
        self._entries.clear()
        self._deadlines.clear()

    def _prolong(self, key: Any, sub: Any, now: cython.double) -> None:
        self._deadlines.put(key, now + self._secs, sub)

    def _is_expired(self, key: Any, sub: Any, now: cython.double) -> bool:
        """Whether the entry has expired, removing an expired entry. An entry written before the
        state had a time to live starts its time now.
        """
        deadline = self._deadlines.get(key, sub)
        if deadline is ABSENT:
            if self._entries.get(key, sub) is not ABSENT:
                self._prolong(key, sub, now)
            return False
        if now < deadline:
            return False
        self.remove(key, sub)
        return True

    def _examine(self, now: cython.double) -> None:
        seen: cython.Py_ssize_t = 0
        for key, sub in islice(self._to_examine, EXAMINED_EACH_WRITE):
            self._is_expired(key, sub, now)
            seen += 1
        if seen < EXAMINED_EACH_WRITE:
            self._to_examine = self._pairs()

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        for key in self._deadlines.all_keys():
            for sub, _ in self._deadlines.items(key):
                yield key, sub
