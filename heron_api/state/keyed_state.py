"""Keyed states as attributes of a component's class.

    class Count(Bolt):
        outputs = ["word", "count"]
        auto_ack = auto_anchor = True
        count = value_state(default=0)

        def process(self, tup):
            self.count.put(self.count.get() + 1)
            self.emit([tup.word, self.count.get()])

A state belongs to the key of the tuple that is being processed: the fields that its stream is
grouped by. Each is called after its attribute. It is there from `init_state` on; a class of any
API may have them (heronpy's, pystorm's, streamparse's, or a plain one).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, overload

from heron_core.errors import ComponentError
from heron_core.native import KeyedState
from heron_core.state.mergeable import MergeableState, PartialState
from heron_core.state.monoid import Monoid
from heron_core.state.states import ListState, MapState, ReducingState, ValueState

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    V = TypeVar("V", default=Any)
    """The values of a state; Any unless a default or an annotation declares a type."""
    K = TypeVar("K", default=Any)
    """The keys of a map state."""
else:
    from typing import TypeVar

    V = TypeVar("V")  # a default needs Python 3.13
    K = TypeVar("K")
M = TypeVar("M")
Container = type[list[Any] | dict[Any, Any] | set[Any]]
"""A default without a type of its items."""
S = TypeVar("S", bound=KeyedState)


class DeclaredState(Generic[S]):
    """A state bound to each instance of a class under the attribute's name."""

    name: str

    def __init__(self, make: Callable[[Any, str], S]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "DeclaredState[S]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> S: ...
    def __get__(self, instance: object | None, owner: type) -> "DeclaredState[S] | S":
        if instance is None:
            return self
        raise ComponentError(
            f"{owner.__name__}.{self.name} is there from init_state on, and not before"
        )

    def of(self, state: Any) -> S:
        """The state in an instance's ComponentState."""
        return self._make(state, self.name)


@overload
def value_state(
    *, default: None = None, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ValueState[Any]]: ...
@overload
def value_state(
    *, default: Container, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ValueState[Any]]: ...
@overload
def value_state(
    *, default: Callable[[], V], ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ValueState[V]]: ...
@overload
def value_state(
    *, default: V, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ValueState[V]]: ...
def value_state(
    *, default: Any = None, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ValueState[Any]]:
    """One value per key; a callable `default` (list, dict) is called for each use.

    The values have the type of the default: int for `default=0`. An annotation declares another
    type: `best: DeclaredState[ValueState[float]] = value_state(default=0)`.

    Arguments are keyword-only: the attribute supplies the state's name, the first argument of
    other frameworks.
    """
    return DeclaredState(
        lambda state, name: state.value_state(name, default, ttl_secs, refresh_on_read)
    )


def list_state(
    *, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ListState[V]]:
    """An append-only list per key; the annotation `DeclaredState[ListState[str]]` of the attribute
    declares the type of the items."""
    return DeclaredState(lambda state, name: state.list_state(name, ttl_secs, refresh_on_read))


def map_state(
    *, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[MapState[K, V]]:
    """A dict for each key, saved entry by entry."""
    return DeclaredState(lambda state, name: state.map_state(name, ttl_secs, refresh_on_read))


def reducing_state(
    reduce: Callable[[V, V], V],
    default: V | Callable[[], V] | None = None,
    *,
    ttl_secs: float | None = None,
    refresh_on_read: bool = False,
) -> DeclaredState[ReducingState[V]]:
    """One value per key; `reduce(so far, new)` adds a value."""
    return DeclaredState(
        lambda state, name: state.reducing_state(name, reduce, default, ttl_secs, refresh_on_read)
    )


def mergeable_state(
    monoid: Monoid[M], *, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[MergeableState[M]]:
    """One value of a monoid per key: a sketch, or a user's own (heron_api.state.monoid).

    The values are objects in memory, and are packed when a snapshot is taken.
    """
    return DeclaredState(
        lambda state, name: state.mergeable_state(name, monoid, ttl_secs, refresh_on_read)
    )


def partial_state(monoid: Monoid[M]) -> DeclaredState[PartialState[M]]:
    """A task's part of one value that all tasks of a component have together.

    For input that is shuffled: where the component gets fewer tasks, the parts are merged.

    Example:

        from heronpy_compat import Bolt
        from heronpy_compat.api.state.monoid import SumOf

        class Total(Bolt):
            total = partial_state(SumOf())

            def process(self, tup):
                self.total.add(tup.values[0])
    """
    return DeclaredState(lambda state, name: state.partial_state(name, monoid))


def declared_states(cls: type) -> dict[str, DeclaredState[Any]]:
    """The states declared by a class and its bases, by attribute name."""
    states: dict[str, DeclaredState[Any]] = {}
    for base in reversed(cls.__mro__):
        for name, each in vars(base).items():
            if isinstance(each, DeclaredState):
                states[name] = each
            else:
                states.pop(name, None)
    return states
