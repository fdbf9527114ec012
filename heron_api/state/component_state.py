"""The state that an instance gets: Heron's keys and values, and keyed states beside them."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from heron_api.method_shapes import checked_call
from heron_api.state.key_of_tuple import FieldsOf, GroupedFields, keys_of_tuples
from heron_api.state.state import HashMapState
from heron_core.errors import HeronError, StateError
from heron_core.native import TupleKeys
from heron_core.state.file_snapshot import StateBytes
from heron_core.state.in_flight_table import Item, put_in_flight, take_in_flight
from heron_core.state.named_states import NamedStates
from heron_core.state.parts import KeyRange, decode_parts, gather
from heron_core.state.protocol import ABSENT, StateKind, TableId
from heron_core.state.questions import StateReader, reader_of
from heron_core.state.states import ListState, MapState, ReducingState, ValueState
from heron_core.state.timer_service import TimerService

_PLAIN = TableId("", StateKind.PLAIN, nested=False)


class ComponentState(HashMapState):
    """What `init_state` is called with; all of it is for the main thread.

    `put`, `get`, `delete`, `enumerate` and `clear` are about keys and values of this one instance,
    as in Heron; the others make states by the key of the tuple that is being processed.
    """

    def __init__(self, named: NamedStates, grouped_by: GroupedFields | None = None) -> None:
        """`grouped_by`: of all inputs, if all are grouped by fields."""
        self.named = named
        self.grouped_by = grouped_by or {}
        self._table = named.backend.table(_PLAIN)
        self.is_fixed = False
        """Whether it has what belongs to this instance and is divided by no key."""

    # --- Heron's, and Storm's KeyValueState -----------------------------------------------------

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value` under `key`."""
        self.is_fixed = True
        self._table.put(key, value)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value of `key`, `default` if there is none."""
        value = self._table.get(key)
        return default if value is ABSENT else value

    def delete(self, key: Hashable) -> Any:
        """Forget `key`; returns what it had, None if nothing."""
        value = self.get(key)
        self._table.remove(key)
        return value

    def enumerate(self) -> "Iterator[tuple[int, Hashable]]":
        """(0, first key), (1, second key), …"""
        return iter(enumerate(self._table.all_keys()))

    def __iter__(self) -> Iterator[tuple[Hashable, Any]]:
        """(key, value) of each, as Storm's state gives them."""
        return ((key, self._table.get(key)) for key in self._table.all_keys())

    def clear(self) -> None:
        """Forget all that was put; keyed states stay."""
        self._table.clear()

    def __str__(self) -> str:
        return str(dict(self))

    # --- keyed states ---------------------------------------------------------------------------

    def value_state(
        self,
        name: str,
        default: Any = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[Any]:
        """One value for each key; a `default` that can be called is called for each use."""
        return self.named.value_state(name, default, ttl_secs, refresh_on_read)

    def list_state(
        self, name: str, ttl_secs: float | None = None, refresh_on_read: bool = False
    ) -> ListState[Any]:
        """A list for each key."""
        return self.named.list_state(name, ttl_secs, refresh_on_read)

    def map_state(
        self, name: str, ttl_secs: float | None = None, refresh_on_read: bool = False
    ) -> MapState[Any, Any]:
        """A dict for each key."""
        return self.named.map_state(name, ttl_secs, refresh_on_read)

    def reducing_state(
        self,
        name: str,
        reduce: Callable[[Any, Any], Any],
        default: Any = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ReducingState[Any]:
        """One value for each key, to which others are added by `reduce(so far, new)`."""
        checked = checked_call(f"reducing_state {name}", reduce)
        return self.named.reducing_state(
            name, reduce, default, ttl_secs, refresh_on_read, checked.check
        )

    def timer_service(self) -> TimerService:
        """The timers of all keys (KeyedProcessBolt fires them)."""
        return self.named.timer_service()

    # --- for window bolts -----------------------------------------------------------------------

    def key_of_tuple(self) -> TupleKeys | None:
        """How to find the key of a tuple; None if keys do not tell which instance has it."""
        component = self.named.current.component
        return keys_of_tuples(component, self.grouped_by) if self.grouped_by else None

    # --- for engines ----------------------------------------------------------------------------

    @property
    def given(self) -> "ComponentState":
        """What `init_state` is called with."""
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
        """Those that were restored, which run again; the state has them no more."""
        return take_in_flight(self.named.backend)

    def reader(self, name: str) -> StateReader:
        """A state by its name, to be read as it is now, without a change of it."""
        named = self.named
        return reader_of(named.backend, named.current.component, name, named.now())

    def snapshot(self) -> bytes:
        """All of it, as it is now; StateError naming what cannot be saved."""
        return self.named.backend.snapshot()

    def deferred_snapshot(self) -> StateBytes:
        """The same for a checkpoint store."""
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
