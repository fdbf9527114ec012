"""The table of a state of monoids: objects in memory in front of the entries of a backend.

An object is unpacked at the first access of a key, and packed for a snapshot, not for each tuple.
Its states:

    absent ── get, put ──► live and changed ── flush ──► live and clean ── evicted ──► absent
                                   ▲                          │
                                   └──────── get, put ────────┘

User code may change an object after `get`, so the object counts as changed, as in memory.py. The
entries are complete after `flush`, which precedes each snapshot and each reading from outside.

A key of a partial state (StateKind.PARTIAL) may have several entries after a change of parallelism:
the parts of ended tasks. The first access of the key, or a flush, merges them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from heron_core.errors import StateError
from heron_core.state.keys import shown_key
from heron_core.state.monoid import Monoid, loaded, merged, stored
from heron_core.state.protocol import ABSENT, StateTable, TableId

LIVE_MAX = 10_000
"""Objects in memory: 40 MiB of sketches of 4 KiB. Beyond the limit the least recently used objects
are packed and leave."""
EVICTED = LIVE_MAX // 4
"""Objects that leave at once, after a flush of all changed objects."""
ONLY = 0
"""`sub` of the single entry of a key of a partial state after a flush."""


class MergeableTable:
    """A StateTable whose values are a monoid's."""

    def __init__(
        self, entries: StateTable, table_id: TableId, monoid: Monoid[Any], component: str
    ) -> None:
        self.id, self.monoid = table_id, monoid
        self._entries, self._component = entries, component
        self._sub = ONLY if table_id.nested else None
        self._live: dict[Any, Any] = {}
        """key -> object, the least recently used first."""
        self._changed: dict[Any, None] = {}
        """Keys of objects that may differ from their entries."""

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable: the object."""
        value = self._live.pop(key, ABSENT)
        if value is ABSENT:
            value = self._loaded(key)
        if value is not ABSENT:
            self._keep(key, value)
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable: `value` is an object. The first object of a key is packed at once, so
        that a monoid with wrong bytes is an error here; later objects are packed by `flush`."""
        if self._live.pop(key, ABSENT) is ABSENT and not self._entries.items(key):
            self._named(key, partial(stored, self.monoid, value, is_shown=True))
        self._keep(key, value)

    def _keep(self, key: Any, value: Any) -> None:
        self._live[key] = value
        self._changed[key] = None
        if len(self._live) > LIVE_MAX:
            self._evict()

    def _evict(self) -> None:
        self.flush()
        for key in list(self._live)[:EVICTED]:
            del self._live[key]

    def _loaded(self, key: Any) -> Any:
        entries = [entry for _, entry in self._entries.items(key)]
        if not entries:
            return ABSENT
        return self._named(key, partial(self._merged, entries))

    def _merged(self, entries: list[Any]) -> Any:
        first, *others = entries
        value = loaded(self.monoid, first)
        for other in others:
            value = merged(self.monoid, value, other)
        return value

    def _named(self, key: Any, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except StateError as error:
            raise StateError(
                f"{self._component}: the state {self.id.name!r}, key {shown_key(key)!r:.60}:"
                f" {error}"
            ) from error

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable: the key, with all its entries."""
        self._live.pop(key, None)
        self._changed.pop(key, None)
        for each, _ in self._entries.items(key):
            self._entries.remove(key, each)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        value = self.get(key)
        return [] if value is ABSENT else [(None, value)]

    def last(self, key: Any) -> Any:
        """See StateTable: None, as the table has no lists."""
        return None

    def all_keys(self) -> Iterator[Any]:
        """See StateTable."""
        new = [key for key in self._changed if not self._entries.items(key)]
        yield from [*self._entries.all_keys(), *new]

    def clear(self) -> None:
        """See StateTable."""
        self._entries.clear()
        self.restored()

    def flush(self) -> None:
        """Pack all changed objects. StateError naming state and key; the objects not packed then
        still count as changed."""
        if self.id.nested:
            self._merge_entries()
        for key in list(self._changed):
            entry = self._named(key, partial(stored, self.monoid, self._live[key], is_shown=True))
            for sub, _ in self._entries.items(key):
                if sub != self._sub:
                    self._entries.remove(key, sub)
            self._entries.put(key, entry, self._sub)
            del self._changed[key]

    def _merge_entries(self) -> None:
        """Merge the entries of ended tasks."""
        for key in list(self._entries.all_keys()):
            if key not in self._changed and len(self._entries.items(key)) > 1:
                self.get(key)

    def restored(self) -> None:
        """The entries were replaced: the objects are void."""
        self._live, self._changed = {}, {}


_table: type[StateTable] = MergeableTable
