"""The state of an instance: Heron's key-value state plus keyed states."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, overload

from heron_api.method_shapes import checked_call
from heron_api.state.key_of_tuple import FieldsOf, GroupedFields, keys_of_tuples
from heron_api.state.keyed_state import Container, K, M, V
from heron_api.state.state import HashMapState
from heron_core.errors import HeronError, StateError
from heron_core.native import TupleKeys
from heron_core.state.file_snapshot import StateBytes
from heron_core.state.in_flight_table import Item, put_in_flight, take_in_flight
from heron_core.state.mergeable import MergeableState, PartialState
from heron_core.state.monoid import Monoid
from heron_core.state.named_states import NamedStates
from heron_core.state.parts import KeyRange, decode_parts, gather
from heron_core.state.protocol import ABSENT, StateKind, TableId
from heron_core.state.questions import StateReader, reader_of
from heron_core.state.states import ListState, MapState, ReducingState, ValueState
from heron_core.state.timer_service import TimerService

_PLAIN = TableId("", StateKind.PLAIN, nested=False)


class ComponentState(HashMapState):
    """Argument of `init_state`; for use on the main thread only.

    `put`, `get`, `delete`, `enumerate` and `clear` operate on keys and values of the instance,
    as in Heron; the remaining methods create states by the key of the current tuple.
    """

    def __init__(self, named: NamedStates, grouped_by: GroupedFields | None = None) -> None:
        """`grouped_by`: of all inputs, if all are grouped by fields."""
        self.named = named
        self.grouped_by = grouped_by or {}
        self._table = named.backend.table(_PLAIN)
        self.is_fixed = False
        """Whether the state has per-instance data that no key divides."""

    # --- Heron's, and Storm's KeyValueState -----------------------------------------------------

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value` under `key`."""
        self.is_fixed = True
        self._table.put(key, value)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        value = self._table.get(key)
        return default if value is ABSENT else value

    def delete(self, key: Hashable) -> Any:
        """Delete `key`; return the deleted value, or None."""
        value = self.get(key)
        self._table.remove(key)
        return value

    def enumerate(self) -> "Iterator[tuple[int, Hashable]]":
        """(0, first key), (1, second key), …"""
        return iter(enumerate(self._table.all_keys()))

    def __iter__(self) -> Iterator[tuple[Hashable, Any]]:
        """Pairs (key, value), as in Storm's state."""
        return ((key, self._table.get(key)) for key in self._table.all_keys())

    def clear(self) -> None:
        """Delete all key-value entries; keyed states are unchanged."""
        self._table.clear()

    def __str__(self) -> str:
        return str(dict(self))

    # --- keyed states ---------------------------------------------------------------------------

    @overload
    def value_state(
        self,
        name: str,
        default: None = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[Any]: ...
    @overload
    def value_state(
        self,
        name: str,
        default: Container,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[Any]: ...
    @overload
    def value_state(
        self,
        name: str,
        default: Callable[[], V],
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[V]: ...
    @overload
    def value_state(
        self,
        name: str,
        default: V,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[V]: ...
    def value_state(
        self,
        name: str,
        default: Any = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[Any]:
        """One value per key; a callable `default` is called for each use."""
        return self.named.value_state(name, default, ttl_secs, refresh_on_read)

    def list_state(
        self, name: str, ttl_secs: float | None = None, refresh_on_read: bool = False
    ) -> ListState[V]:
        """A list for each key."""
        return self.named.list_state(name, ttl_secs, refresh_on_read)

    def map_state(
        self, name: str, ttl_secs: float | None = None, refresh_on_read: bool = False
    ) -> MapState[K, V]:
        """A dict for each key."""
        return self.named.map_state(name, ttl_secs, refresh_on_read)

    def reducing_state(
        self,
        name: str,
        reduce: Callable[[V, V], V],
        default: V | Callable[[], V] | None = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ReducingState[V]:
        """One value per key; `reduce(so far, new)` adds a value."""
        checked = checked_call(f"reducing_state {name}", reduce)
        return self.named.reducing_state(
            name, reduce, default, ttl_secs, refresh_on_read, checked.check
        )

    def mergeable_state(
        self,
        name: str,
        monoid: Monoid[M],
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> MergeableState[M]:
        """One value of a monoid per key; the current key is that of the tuple."""
        return self.named.mergeable_state(name, monoid, ttl_secs, refresh_on_read)

    def partial_state(self, name: str, monoid: Monoid[M]) -> PartialState[M]:
        """This task's part of a monoid's value; StateError where the input is grouped by fields,
        as each key has a whole value there."""
        if self.grouped_by:
            raise StateError(
                f"{self.named.current.component}: the partial state {name!r} is in a component"
                " grouped by fields, where a key has all its tuples at one task: use"
                " mergeable_state, or shuffle the input"
            )
        return self.named.partial_state(name, monoid)

    def timer_service(self) -> TimerService:
        """The timers of all keys (KeyedProcessBolt fires them)."""
        return self.named.timer_service()

    # --- for window bolts -----------------------------------------------------------------------

    def key_of_tuple(self) -> TupleKeys | None:
        """Function from a tuple to its key; None if keys do not determine the instance."""
        component = self.named.current.component
        return keys_of_tuples(component, self.grouped_by) if self.grouped_by else None

    # --- for engines ----------------------------------------------------------------------------

    @property
    def given(self) -> "ComponentState":
        """Implementation of the argument of `init_state`."""
        return self

    def keep_in_flight(
        self, key_range: KeyRange, tuples: Sequence[Any], fields_of: FieldsOf
    ) -> None:
        """The tuples in flight are part of the next snapshot, in place of those before."""
        name, grouped = self.named.current.component, self.grouped_by
        key_of = keys_of_tuples(name, grouped, fields_of) if grouped else None
        items = [(each.component, each.stream, each.task, list(each.values)) for each in tuples]
        keys = [None if key_of is None else key_of(each) for each in tuples]
        put_in_flight(self.named.backend, key_range, items, keys)

    def take_in_flight(self) -> list[Item]:
        """Restored tuples to be processed again; the call removes them from the state."""
        return take_in_flight(self.named.backend)

    def reader(self, name: str) -> StateReader:
        """A read-only view of a named state."""
        named = self.named
        named.flush()
        return reader_of(named.backend, named.current.component, name, named.now())

    def snapshot(self) -> bytes:
        """A snapshot of the state; StateError naming a value that cannot be saved."""
        self.named.flush()
        return self.named.backend.snapshot()

    def deferred_snapshot(self) -> StateBytes:
        """The snapshot for a checkpoint store."""
        self.named.flush()
        return self.named.backend.deferred_snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Restore a snapshot in place; state objects already held by user code stay valid.

        A snapshot may consist of parts of previous tasks' states: of each part the keys that this
        instance owns are restored.
        """
        try:
            parts = decode_parts(snapshot)
            if parts is None:
                self.named.backend.restore(snapshot)
            else:
                gather(self.named.backend, parts, self.named.current.component)
        except StateError:
            raise
        except HeronError as error:  # of its files
            raise StateError(f"{self.named.current.component}: {error}") from error
        self.is_fixed = next(iter(self._table.all_keys()), None) is not None
        self.named.restored()

    def close(self) -> None:
        """The instance ends."""
        self.named.backend.close()
