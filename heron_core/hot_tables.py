"""The hot path of keyed state: tables in memory (heron_core.state.memory).

As hot_path.py, one source for two ways to run it: see there. hot_tables.h has the C function that
takes the place of the Python one under `if not cython.compiled`. What runs once for a snapshot
stands in state/table_changes.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from heron_core.state.protocol import ABSENT, StateKind, TableId

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

CHANGED_MIN = 1000
"""So many changed entries are noted one by one, however few there are; far more than there are
entries is keys that came and went, and then everything is saved."""
IMMUTABLE: frozenset[type] = frozenset(
    {int, float, str, bytes, bool, type(None), complex, frozenset}
)
"""Exact types whose values cannot change in place. A tuple may hold a list."""

if not cython.compiled:

    def cannot_change(value: Any) -> bool:
        """Whether a value is of one of the types IMMUTABLE."""
        return type(value) in IMMUTABLE


class MemoryTable:
    """What both kinds of tables have in common."""

    __slots__ = ("changed", "codec", "entries", "id", "kinds")

    def __init__(self, table_id: TableId, codec: Any) -> None:
        self.id = table_id
        self.codec = codec
        self.entries: dict[Any, Any] = {}
        self.changed: dict[Any, Any] | None = None
        """key (or key and sub) -> value or ABSENT, in the order of their first change; None:
        everything is new since the last snapshot."""
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


class FlatTable(MemoryTable):
    """One entry for a key: (key, None) -> value."""

    __slots__ = ("mutable",)

    def __init__(self, table_id: TableId, codec: Any) -> None:
        MemoryTable.__init__(self, table_id, codec)
        self.mutable: set[Any] | None = set() if table_id.kind is StateKind.PLAIN else None
        """Keys of values that user code may hold on to and change at any time."""

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        value = self.entries.get(key, ABSENT)
        if self.changed is not None and not cannot_change(value) and value is not ABSENT:
            self.changed[key] = value
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        if self.mutable is not None:
            # Heron's components may put what cannot be saved, as long as nobody saves it.
            if cannot_change(value):
                self.mutable.discard(key)
            else:
                self.mutable.add(key)
        elif not cannot_change(value):
            self._check(key, value)
        self.entries[key] = value
        if self.changed is not None:
            self.changed[key] = value

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        if self.entries.pop(key, ABSENT) is ABSENT:
            return
        if self.mutable is not None:
            self.mutable.discard(key)
        if self.changed is not None:
            self.changed[key] = ABSENT
            if len(self.changed) > len(self.entries) + CHANGED_MIN:
                self.changed = None

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
        self.changed = None
        if self.mutable is not None:
            self.mutable.clear()


class NestedTable(MemoryTable):
    """Many entries for a key: (key, sub) -> value."""

    __slots__ = ("size",)

    def __init__(self, table_id: TableId, codec: Any) -> None:
        MemoryTable.__init__(self, table_id, codec)
        self.size: int = 0
        """How many entries there are."""

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        entries = self.entries.get(key)
        value = ABSENT if entries is None else entries.get(sub, ABSENT)
        if self.changed is not None and not cannot_change(value) and value is not ABSENT:
            self.changed[key, sub] = value
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        if not cannot_change(sub):
            self._check(key, sub)
        self._put(key, value, sub, self.entries.get(key))

    def append(self, key: Any, value: Any) -> None:
        """Put a value behind the last index of a key's list."""
        entries = self.entries.get(key)
        at = 0 if entries is None else next(reversed(entries)) + 1
        self._put(key, value, at, entries)

    def _put(self, key: Any, value: Any, sub: Any, entries: dict[Any, Any] | None) -> None:
        if not cannot_change(value):
            self._check(key, value)
        if entries is None:
            self.entries[key] = {sub: value}
            self.size += 1
        else:
            before: cython.Py_ssize_t = len(entries)
            entries[sub] = value
            self.size += len(entries) - before
        if self.changed is not None:
            self.changed[key, sub] = value

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        entries = self.entries.get(key)
        if entries is None or entries.pop(sub, ABSENT) is ABSENT:
            return
        self.size -= 1
        if not entries:
            del self.entries[key]
        if self.changed is not None:
            self.changed[key, sub] = ABSENT
            self._forget_if_many()

    def remove_all(self, key: Any) -> None:
        """Remove all entries of a key."""
        entries = self.entries.pop(key, None)
        if entries is None:
            return
        self.size -= len(entries)
        if self.changed is not None:
            for sub in entries:
                self.changed[key, sub] = ABSENT
            self._forget_if_many()

    def _forget_if_many(self) -> None:
        if self.changed is not None and len(self.changed) > self.size + CHANGED_MIN:
            self.changed = None

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        entries = self.entries.get(key)
        if entries is None:
            return []
        if self.changed is not None:
            self._note(key, entries)
        return list(entries.items())

    def values(self, key: Any) -> list[Any]:
        """As `items`, the values alone."""
        entries = self.entries.get(key)
        if entries is None:
            return []
        if self.changed is not None:
            self._note(key, entries)
        return list(entries.values())

    def _note(self, key: Any, entries: dict[Any, Any]) -> None:
        """Those of a key are handed out, and may be changed."""
        changed = self.changed
        if changed is not None:
            for sub, value in entries.items():
                if not cannot_change(value):
                    changed[key, sub] = value

    def last(self, key: Any) -> Any:
        """See StateTable."""
        entries = self.entries.get(key)
        return next(reversed(entries)) if entries else None

    def clear(self) -> None:
        """See StateTable."""
        self.entries.clear()
        self.size = 0
        self.changed = None
