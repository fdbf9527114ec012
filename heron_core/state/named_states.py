"""All states of one component's instance, by name: the access of user code to states."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from heron_core.errors import StateError
from heron_core.native import TimedTable
from heron_core.records import replace
from heron_core.state.current_key import CurrentKey
from heron_core.state.mergeable import MergeableState, PartialState
from heron_core.state.mergeable_table import MergeableTable
from heron_core.state.monoid import Monoid, checked_monoid
from heron_core.state.protocol import StateBackend, StateKind, StateTable, TableId
from heron_core.state.states import ListState, MapState, ReducingState, ValueState
from heron_core.state.time_to_live import Clock, TimeToLive
from heron_core.state.timer_service import TimeDomain, TimerService

S = TypeVar("S")

_DEADLINES = "deadlines of "
_TIMERS = "timers by "
_WINDOWS = TableId("windows", StateKind.WINDOWS, nested=True)
_WATERMARK = TableId("watermark of windows", StateKind.WATERMARK, nested=False)
TABLES_MAX = 256
"""Ids in memory for readers, which ask with each question: a component declares some states."""


@dataclass(frozen=True, slots=True)
class _Declared:
    kind: StateKind
    time_to_live: TimeToLive | None
    table: StateTable


class NamedStates:
    """The states of an instance, in a single backend."""

    def __init__(self, backend: StateBackend, current: CurrentKey, clock: Clock) -> None:
        self.backend = backend
        self.current = current
        self._clock = clock
        self._declared: dict[str, _Declared] = {}
        self._mergeable: dict[str, MergeableTable] = {}
        self.handed_out: dict[str, Any] = {}
        """The first state of each name."""
        self.timers: TimerService | None = None
        """Timers of the instance; None before the first request for them."""

    @property
    def is_keyed(self) -> bool:
        """Whether any state was asked for: then the current key has to be known."""
        return bool(self._declared) or self.timers is not None

    def now(self) -> float:
        """Time by the clock of the times to live."""
        return self._clock()

    def timer_service(self) -> TimerService:
        """The timers of all keys; an instance has one service."""
        if self.timers is None:
            watermark = self.backend.table(_WATERMARK)
            self.timers = TimerService(self._timer_table, watermark, self.current)
        return self.timers

    def _timer_table(self, domain: TimeDomain) -> StateTable:
        return self.backend.table(TableId(_TIMERS + domain, StateKind.TIMERS, nested=True))

    def window_tables(self) -> tuple[StateTable, StateTable]:
        """(table of a window bolt's entries by key, table of the bolt's watermark)"""
        return self.backend.table(_WINDOWS), self.backend.table(_WATERMARK)

    def as_saved(self) -> "NamedStates":
        """The same states, for code that asks by the saved names and kinds."""
        return NamedStates(self.backend, self.current, self._clock)

    def restored(self) -> None:
        """The backend has another state now."""
        for table in self._mergeable.values():
            table.restored()
        if self.timers is not None:
            self.timers.restored()

    def value_state(
        self,
        name: str,
        default: Any = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> ValueState[Any]:
        """One value for each key. A callable `default` is called for each use."""
        table = self._table(name, StateKind.VALUE, ttl_secs, refresh_on_read)
        return self._noted(name, ValueState(table, self.current, default))

    def list_state(
        self, name: str, ttl_secs: float | None = None, refresh_on_read: bool = False
    ) -> ListState[Any]:
        """A list for each key; with a time to live, each element expires for itself."""
        table = self._table(name, StateKind.LIST, ttl_secs, refresh_on_read)
        return self._noted(name, ListState(table, self.current))

    def map_state(
        self, name: str, ttl_secs: float | None = None, refresh_on_read: bool = False
    ) -> MapState[Any, Any]:
        """A dict for each key; with a time to live, each entry expires for itself."""
        table = self._table(name, StateKind.MAP, ttl_secs, refresh_on_read)
        return self._noted(name, MapState(table, self.current))

    def reducing_state(
        self,
        name: str,
        reduce: Callable[[Any, Any], Any],
        default: Any = None,
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
        check: Callable[[Any], object] | None = None,
    ) -> ReducingState[Any]:
        """One value for each key, to which values are added by `reduce(so far, new)`. `check`
        raises for invalid results."""
        table = self._table(name, StateKind.REDUCING, ttl_secs, refresh_on_read)
        return self._noted(name, ReducingState(table, self.current, reduce, default, check))

    def mergeable_state(
        self,
        name: str,
        monoid: Monoid[Any],
        ttl_secs: float | None = None,
        refresh_on_read: bool = False,
    ) -> MergeableState[Any]:
        """One value of a monoid for each key."""
        objects = self._objects(name, StateKind.MERGEABLE, monoid)
        table = self._table(name, StateKind.MERGEABLE, ttl_secs, refresh_on_read, objects)
        return self._noted(name, MergeableState(table, self.current, monoid))

    def partial_state(self, name: str, monoid: Monoid[Any]) -> PartialState[Any]:
        """The task's part of a value that all tasks have together, without a key."""
        objects = self._objects(name, StateKind.PARTIAL, monoid)
        table = self._table(name, StateKind.PARTIAL, None, False, objects)
        whole = CurrentKey(self.current.component)
        whole.set(None)
        return self._noted(name, PartialState(table, whole, monoid))

    def _objects(self, name: str, kind: StateKind, monoid: Any) -> MergeableTable:
        """The table in front of a state's entries; StateError for another monoid than before."""
        component = self.current.component
        checked_monoid(monoid, f"{component}: the state {name!r}")
        table_id = TableId(name, kind, kind.is_nested)
        objects = self._mergeable.get(name)
        if objects is None:
            entries = self.backend.table(table_id)
            objects = MergeableTable(entries, table_id, monoid, component)
            self._mergeable[name] = objects
        if objects.monoid.label != monoid.label:
            raise StateError(
                f"{component}: the state {name!r} is declared twice, of {objects.monoid.label} and"
                f" of {monoid.label}"
            )
        return objects

    def flush(self) -> None:
        """Write values in memory to the backend. StateError naming an unpackable value."""
        for table in self._mergeable.values():
            table.flush()
        if self.timers is not None:
            self.timers.flush()

    def _noted(self, name: str, state: S) -> S:
        self.handed_out.setdefault(name, state)
        return state

    def _table(
        self,
        name: str,
        kind: StateKind,
        ttl_secs: float | None,
        refresh_on_read: bool,
        objects: StateTable | None = None,
    ) -> StateTable:
        """The one table of a name, or `objects` in front of the table; StateError if an earlier
        request for the name was different."""
        if not isinstance(name, str) or not name:
            raise StateError(f"{self.current.component}: a state's name is a text, not {name!r}")
        ttl = None if ttl_secs is None else TimeToLive(ttl_secs, refresh_on_read)
        declared = self._declared.get(name)
        if declared is None:
            table_id = TableId(name, kind, kind.is_nested, kind is StateKind.LIST)
            table = self._made(table_id, ttl, objects)
            declared = self._declared[name] = _Declared(kind, ttl, table)
        elif (declared.kind, declared.time_to_live) != (kind, ttl):
            raise StateError(
                f"{self.current.component}: the state {name!r} is declared twice, as a "
                f"{_described(declared.kind, declared.time_to_live)} and as a "
                f"{_described(kind, ttl)}"
            )
        return declared.table

    def _made(
        self, table_id: TableId, ttl: TimeToLive | None, objects: StateTable | None
    ) -> StateTable:
        entries = objects or self.backend.table(table_id)
        deadlines = deadlines_of(table_id)
        if ttl is not None:
            return TimedTable(entries, self.backend.table(deadlines), ttl, self._clock)
        if deadlines in self.backend.names():  # it had a time to live when it was saved
            self.backend.table(deadlines).clear()
        return entries


@lru_cache(TABLES_MAX)
def deadlines_of(table_id: TableId) -> TableId:
    """Table of the times at which entries of another table expire."""
    return replace(table_id, name=_DEADLINES + table_id.name, kind=StateKind.DEADLINES)


def _described(kind: StateKind, ttl: TimeToLive | None) -> str:
    return f"{kind} state" if ttl is None else f"{kind} state with a time to live of {ttl.secs:g} s"
