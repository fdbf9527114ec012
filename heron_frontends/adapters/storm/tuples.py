"""The tuples of pystorm's components: the engine's own, seen as pystorm's namedtuple."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_core.native import roots_item
from heron_core.topology import SYSTEM_COMPONENT, TICK_STREAM
from heron_frontends.adapters.tuple_layout import FromItems, Items
from heronpy_compat.pystorm.bolt import values_class

SYSTEM_TASK = -1
LIVE_MAX = 100_000
"""Maximum of tuples kept for look-ups by id, some 30 MB; the first to be named is the first
dropped. Only a bolt that reads ids and never acks has so many.
"""

_items = vars(Items)
_address = id


class LiveTuples:
    """Finds the tuples whose id user code has seen, until they are acked or failed."""

    def __init__(self) -> None:
        self.by_id: dict[str, Any] = {}

    def name(self, tup: Any) -> str:
        """Id of the tuple; registers the tuple for look-ups by id."""
        text = id_of(tup)
        if len(self.by_id) >= LIVE_MAX:
            self.by_id.pop(next(iter(self.by_id)), None)
        self.by_id[text] = tup
        return text

    def forget(self, tup: Any) -> None:
        """The tuple is settled."""
        self.by_id.pop(id_of(tup), None)


def id_of(tup: Any) -> str:
    """Id of a tuple; for an untracked tuple, its address in memory."""
    return str(tup.tuple_key or -_address(tup))


def tuple_class(plain: Any, live: LiveTuples) -> Any:
    """A class of the engine's tuples (TupleLayout) that user code sees as `plain`, pystorm's Tuple.

    Component, stream, task and values sit at the positions of a Tuple, so access is equally fast.
    The id is computed on demand; operations on a whole Tuple create a plain one.
    """

    class StormTuple(FromItems, plain):  # type: ignore[misc]
        __slots__ = ()

        tuple_key = _items["tuple_key"]
        creation_time = _items["creation_time"]
        roots = roots_item(_items["roots"])
        id = property(live.name)

        @property
        def _whole(self) -> Any:
            return plain(self.id, self.component, self.stream, self.task, self.values)

        def __iter__(self) -> Any:
            return iter(self._whole)

        def __len__(self) -> int:
            return len(plain._fields)

        def __getitem__(self, at: Any) -> Any:
            return self._whole[at]

        def __eq__(self, other: object) -> bool:
            return self is other or bool(self._whole == other)

        def __ne__(self, other: object) -> bool:
            return not self == other

        def __hash__(self) -> int:
            return hash(self._whole)

        def __repr__(self) -> str:
            return repr(self._whole)

        def __reduce__(self) -> Any:
            return plain, tuple(self)

        def _asdict(self) -> Any:
            return self._whole._asdict()

        def _replace(self, **changes: Any) -> Any:
            return self._whole._replace(**changes)

    return StormTuple


def tick_class(kind: Any) -> Any:
    """The class of ticks: they can be acked and be anchors like any tuple, to no effect."""
    return type("StormTick", (kind,), {"__slots__": ()})


def tick(kind: Any, interval_secs: float | None, now: float) -> Any:
    """A tick as in Storm: its value is the interval."""
    head = (0, SYSTEM_COMPONENT, TICK_STREAM, SYSTEM_TASK, (interval_secs,), now, None)
    return kind(head)


class ValuesMakers:
    """Makers of the `values` of tuples from a list, by input stream."""

    def __init__(self, fields: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        """`fields`: component -> stream -> names, as in Storm's context."""
        self._fields = fields
        self._made: dict[tuple[str, str], Callable[[list[Any]], Any]] = {}

    def fields_of(self, tup: Any) -> Sequence[str]:
        """The names of a tuple's fields."""
        return self._fields[tup.component][tup.stream]

    def __call__(self, component: str, stream: str) -> Callable[[list[Any]], Any]:
        """A namedtuple's maker, or `tuple` where the names are not known."""
        try:
            return self._made[component, stream]
        except KeyError:
            names = self._fields.get(component, {}).get(stream)
            make_rows: Callable[[list[Any]], Any] = tuple
            if names is not None:
                make_rows = _made_of_rows(values_class(component, stream, names))
            self._made[component, stream] = make_rows
            return make_rows


def _made_of_rows(plain: Any) -> Any:
    """A namedtuple class that takes a row of values rather than each value as an argument."""
    return type(plain.__name__, (FromItems, plain), {"__slots__": ()})
