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
from typing import Any, Generic, TypeVar, overload

from heron_core.errors import ComponentError
from heron_core.native import KeyedState
from heron_core.state.mergeable import MergeableState, PartialState
from heron_core.state.monoid import Monoid
from heron_core.state.states import ListState, MapState, ReducingState, ValueState

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


def value_state(
    *, default: Any = None, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ValueState[Any]]:
    """One value per key; a callable `default` (list, dict) is called for each use.

    Arguments are keyword-only: the attribute supplies the state's name, the first argument of
    other frameworks.
    """
    return DeclaredState(
        lambda state, name: state.value_state(name, default, ttl_secs, refresh_on_read)
    )


def list_state(
    *, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[ListState[Any]]:
    """An append-only list per key."""
    return DeclaredState(lambda state, name: state.list_state(name, ttl_secs, refresh_on_read))


def map_state(
    *, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[MapState[Any, Any]]:
    """A dict for each key, saved entry by entry."""
    return DeclaredState(lambda state, name: state.map_state(name, ttl_secs, refresh_on_read))


def reducing_state(
    reduce: Callable[[Any, Any], Any],
    default: Any = None,
    *,
    ttl_secs: float | None = None,
    refresh_on_read: bool = False,
) -> DeclaredState[ReducingState[Any]]:
    """One value per key; `reduce(so far, new)` adds a value."""
    return DeclaredState(
        lambda state, name: state.reducing_state(name, reduce, default, ttl_secs, refresh_on_read)
    )


def mergeable_state(
    monoid: Monoid[Any], *, ttl_secs: float | None = None, refresh_on_read: bool = False
) -> DeclaredState[MergeableState[Any]]:
    """One value of a monoid per key: a sketch, or a user's own (heron_api.state.monoid).

    The values are objects in memory, and are packed when a snapshot is taken.
    """
    return DeclaredState(
        lambda state, name: state.mergeable_state(name, monoid, ttl_secs, refresh_on_read)
    )


def partial_state(monoid: Monoid[Any]) -> DeclaredState[PartialState[Any]]:
    """A task's part of one value that all tasks of a component have together.

    For input that is shuffled: where the component gets fewer tasks, the parts are merged.
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
