"""Reading the states of one task by their names, without any change.

Unlike the states of user code, reading here refreshes no time to live and removes no expired entry;
expired entries are not seen. For the thread that owns the backend alone.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from heron_core.errors import UsageError
from heron_core.naming import first_of
from heron_core.state.key_order import order_of
from heron_core.state.keys import shown_key
from heron_core.state.monoid import shown_entry
from heron_core.state.named_states import deadlines_of
from heron_core.state.protocol import ABSENT, Absent, StateBackend, StateKind, TableId
from heron_core.typed_values import typed_text

READABLE = (
    StateKind.VALUE,
    StateKind.LIST,
    StateKind.MAP,
    StateKind.REDUCING,
    StateKind.MERGEABLE,
    StateKind.PARTIAL,
    StateKind.PLAIN,
)
"""Kinds of states that user code keeps by key; all further kinds are the engine's own."""
PUT = "put"
"""How the entries of Heron's put(key, value) are called, whose state has no name."""


class UnknownState(UsageError):
    """The component has no state of that name."""


class OtherKind(UsageError):
    """The state is of another kind than the question is for."""


class QueriedEntry(Struct, frozen=True):
    """A key and its value in a state."""

    order: bytes
    """See order_of."""
    text: str
    """JSON (typed_values.py): key and value."""


class StateReader:
    """Reads one state of a task."""

    def __init__(self, backend: StateBackend, table: TableId, now: float) -> None:
        """Entries that have expired by `now` are not seen."""
        self.table_id = table
        self._table = backend.table(table)
        deadlines = deadlines_of(table)
        self._deadlines = backend.table(deadlines) if deadlines in backend.names() else None
        self._now = now

    def all_keys(self) -> Iterator[Any]:
        """All keys, including those whose entries have all expired."""
        return self._table.all_keys()

    @property
    def keys_of_groups(self) -> Callable[[Iterable[int]], Iterator[Any]] | None:
        """Function for the keys of some key groups, if the backend has its keys in that order."""
        keys_of: Callable[[Iterable[int]], Iterator[Any]] | None
        keys_of = getattr(self._table, "keys_of", None)
        return keys_of

    def stored(self, key: Any) -> list[tuple[Any, Any]]:
        """(sub, value) of all that a key has, what has expired and is not removed yet included.
        Of a monoid's value the estimate, with the monoid and the size."""
        entries = self._table.items(key)
        if self.table_id.kind not in (StateKind.MERGEABLE, StateKind.PARTIAL):
            return entries
        return [(sub, shown_entry(entry)) for sub, entry in entries]

    def alive(self, key: Any) -> list[tuple[Any, Any]]:
        """(sub, value) of what a key has and what has not expired."""
        entries = self.stored(key)
        if self._deadlines is None:
            return entries
        return [pair for pair in entries if self._lives(key, pair[0])]

    def deadline(self, key: Any, sub: Any) -> float | None:
        """Time at which an entry expires; None if the entry does not expire."""
        if self._deadlines is None:
            return None
        deadline: float | Absent = self._deadlines.get(key, sub)
        return None if isinstance(deadline, Absent) else deadline

    def _lives(self, key: Any, sub: Any) -> bool:
        deadline = self.deadline(key, sub)
        return deadline is None or self._now < deadline

    def value(self, key: Any) -> Any:
        """The value that user code would get for a key; ABSENT without a value."""
        entries = self.alive(key)
        if not entries:
            return ABSENT
        if self.table_id.kind is StateKind.MAP:
            return dict(entries)
        if self.table_id.kind is StateKind.LIST or len(entries) > 1:
            return [value for _, value in entries]
        return entries[0][1]

    def value_of_map(self, key: Any, map_key: Any) -> Any:
        """One entry of a map; ABSENT without an entry, OtherKind if the state is no map."""
        if self.table_id.kind is not StateKind.MAP:
            raise OtherKind(
                f"the state {self.table_id.name!r} is a {self.table_id.kind} state, and only the"
                " entries of a map state have keys of their own: leave the map key out"
            )
        found = self._table.get(key, map_key)
        return found if found is not ABSENT and self._lives(key, map_key) else ABSENT


def reader_of(backend: StateBackend, component: str, name: str, now: float) -> StateReader:
    """Reader of the state `name` (PUT: the entries of put()); UnknownState with the existing names,
    OtherKind for a state of the engine's."""
    tables = {name_of(table): table for table in backend.names()}
    table = tables.get(name)
    if table is not None and table.kind not in READABLE:
        raise OtherKind(
            f"{component}.{name} is a {table.kind} state of the engine's own: value, list, map,"
            " reducing, mergeable and partial states can be read, and what put() keeps"
        )
    if table is None:
        known = [each for each, other in tables.items() if other.kind in READABLE]
        raise UnknownState(f"{component} has no state {name!r:.200} (it has: {first_of(known)})")
    return StateReader(backend, table, now)


def name_of(table: TableId) -> str:
    """A state's name for people."""
    return PUT if table.kind is StateKind.PLAIN else table.name


def entry_of(key: Any, value: Any) -> QueriedEntry:
    """A key with its value in the form of an answer."""
    shown = typed_text(shown_key(key))
    return QueriedEntry(order_of(key), f'{{"key":{shown},"value":{typed_text(value)}}}')


class KeyScan:
    """The first keys of a state in their order, found some keys at a time.

    The state may change in between: a key that comes meanwhile may be missing, a key that goes is
    left out, and a value is that of the last step.
    """

    def __init__(self, reader: StateReader, limit: int, prefix: Any = ABSENT) -> None:
        """`prefix`: of a text, or of the fields of a key of several; ABSENT: of all keys."""
        if prefix is not ABSENT and not isinstance(prefix, str | tuple | list):
            raise OtherKind(
                f"a prefix is a text, or a list of the first fields, not {prefix!r:.60}"
            )
        self._reader = reader
        self._keys = reader.all_keys()
        self._limit = limit
        self._prefix = tuple(prefix) if isinstance(prefix, list) else prefix
        self._largest: list[_Descending] = []
        """A heap of the smallest keys so far, the largest of these first."""

    def step(self, number: int) -> bool:
        """See so many keys; whether all have been seen."""
        for _ in range(number):
            key = next(self._keys, ABSENT)
            if key is ABSENT:
                return True
            if self._prefix is ABSENT or begins_with(key, self._prefix):
                self._offer(key)
        return False

    def _offer(self, key: Any) -> None:
        order = order_of(key)
        is_full = len(self._largest) == self._limit
        if is_full and order >= self._largest[0].order:
            return
        if not self._reader.alive(key):
            return
        added = _Descending(order, key)
        (heapq.heapreplace if is_full else heapq.heappush)(self._largest, added)

    def entries(self) -> Iterator[QueriedEntry]:
        """The keys found, with their values, in order."""
        for found in sorted(self._largest, reverse=True):
            value = self._reader.value(found.key)
            if value is not ABSENT:
                yield entry_of(found.key, value)


class _Descending:
    """A key in a heap whose first is the largest."""

    __slots__ = ("key", "order")

    def __init__(self, order: bytes, key: Any) -> None:
        self.order = order
        self.key = key

    def __lt__(self, other: "_Descending") -> bool:
        return self.order > other.order


def begins_with(key: Any, prefix: Any) -> bool:
    """Whether a key begins with a text, or with these fields, of which the last may be the
    beginning of a text."""
    if isinstance(prefix, str):
        first = key[0] if isinstance(key, tuple) and key else key
        return isinstance(first, str) and first.startswith(prefix)
    if not prefix:
        return True
    if not isinstance(key, tuple) or len(key) < len(prefix):
        return False
    *whole, last = prefix
    part = key[len(whole)]
    is_begun = part == last or (
        isinstance(part, str) and isinstance(last, str) and part.startswith(last)
    )
    return is_begun and list(key[: len(whole)]) == whole
