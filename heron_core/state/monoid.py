"""Monoids: values that are added to one by one, and merged in any division and order.

    zero                        the value of no element
    add(value, element)         an element more
    merge(left, right)          both; a value's elements may be divided among several

Sums, extremes and sketches are monoids. A monoid's values are objects in memory; a snapshot has
their bytes, and an estimate for readers without the user's classes.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from heron_core.errors import StateError
from heron_core.wire.values import packer, unpacker

M = TypeVar("M")
Stored = list[Any]
"""[label of the monoid, bytes, estimate]: the form of a value in states and messages; the estimate
is None where only the monoid reads the value."""

_PACK, _UNPACK = packer(pickles=False), unpacker(pickles=False)


class Monoid(Generic[M]):
    """Base class of a monoid; an object of the class has parameters, and never the values.

    `add` and `merge` return the new value; both may change their first argument, and neither
    changes the second. A monoid is also an aggregate of windows (`heronpy_compat.windows`): sliding
    windows are merged from their slices, sessions from the sessions that an event joins.
    """

    @property
    def label(self) -> str:
        """The class with its parameters. Values of another label are refused when they are read."""
        return type(self).__qualname__

    def zero(self) -> M:
        """The value of no element."""
        raise NotImplementedError(f"{type(self).__name__} must define zero()")

    def add(self, value: M, element: Any) -> M:
        """The value with an element more."""
        raise NotImplementedError(f"{type(self).__name__} must define add(value, element)")

    def merge(self, left: M, right: M) -> M:
        """The value of the elements of both."""
        raise NotImplementedError(f"{type(self).__name__} must define merge(left, right)")

    def to_bytes(self, value: M) -> bytes:
        """By default msgpack of plain values: numbers, texts, lists, dicts, tuples, sets."""
        return _PACK(value)

    def from_bytes(self, data: bytes) -> M:
        """The inverse of `to_bytes`."""
        plain: M = _UNPACK(data)
        return plain

    def estimate(self, value: M) -> Any:
        """The view of a value for readers, as plain data; by default the value."""
        return value

    # --- as an aggregate of windows (heron_core.algorithms.event_windows.aggregates) -------------

    def create(self) -> M:
        """See Aggregate."""
        return self.zero()

    def result(self, value: M) -> Any:
        """See Aggregate: the estimate."""
        return self.estimate(value)

    def pack(self, value: M) -> Stored:
        """The value as plain data."""
        return stored(self, value)

    def unpack(self, packed: Stored) -> M:
        """The inverse of `pack`; StateError for a value of another label."""
        value: M = loaded(self, packed)
        return value


class SumOf(Monoid[Any]):
    """Sum of numbers, from 0 on."""

    def zero(self) -> Any:
        """0"""
        return 0

    def add(self, value: Any, element: Any) -> Any:
        """The sum."""
        return value + element

    def merge(self, left: Any, right: Any) -> Any:
        """The sum of both."""
        return left + right


class MeanOf(Monoid[list[float]]):
    """Mean of numbers; None of no number."""

    def zero(self) -> list[float]:
        """[sum, number]"""
        return [0, 0]

    def add(self, value: list[float], element: float) -> list[float]:
        """One number more."""
        return [value[0] + element, value[1] + 1]

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        """All numbers of both."""
        return [left[0] + right[0], left[1] + right[1]]

    def estimate(self, value: list[float]) -> float | None:
        """Their mean."""
        return value[0] / value[1] if value[1] else None


class Merged:
    """The aggregate of partial values, stored by `partial` elsewhere."""

    def __init__(self, monoid: Monoid[Any]) -> None:
        self._monoid = monoid
        self.create, self.merge = monoid.create, monoid.merge
        self.result, self.pack, self.unpack = monoid.result, monoid.pack, monoid.unpack

    def add(self, accumulator: Any, value: Stored) -> Any:
        """Merge a stored partial value."""
        return merged(self._monoid, accumulator, value)


def checked_monoid(monoid: Any, where: str) -> Monoid[Any]:
    """`monoid`; StateError for another object, such as a class."""
    if isinstance(monoid, Monoid):
        return monoid
    remedy = f"{monoid.__name__}()" if isinstance(monoid, type) else "an object of a Monoid's class"
    raise StateError(f"{where} takes {remedy}, not {monoid!r:.60}")


def added(monoid: Monoid[Any], value: Any, element: Any) -> Any:
    """`value` with an element more; StateError if the monoid returned nothing."""
    return _given(monoid.add(value, element), monoid, "add(value, element)")


def merged(monoid: Monoid[Any], value: Any, other: Any) -> Any:
    """Both; `other` is a value, or a stored value."""
    right = loaded(monoid, other) if is_stored(other) else other
    return _given(monoid.merge(value, right), monoid, "merge(left, right)")


def _given(value: Any, monoid: Monoid[Any], method: str) -> Any:
    if value is None:
        raise StateError(f"{monoid.label}.{method} returned None: return the new value")
    return value


def is_stored(value: Any) -> bool:
    """Whether a value has the form of a stored one."""
    return (
        type(value) is list
        and len(value) == 3
        and type(value[0]) is str
        and type(value[1]) is bytes
    )


def stored(monoid: Monoid[Any], value: Any, *, is_shown: bool = False) -> Stored:
    """A value as plain data, with the estimate if `is_shown`; StateError for wrong results of the
    monoid's methods."""
    data = _done(monoid.to_bytes, value, f"{monoid.label}.to_bytes")
    if not isinstance(data, bytes):
        raise StateError(f"{monoid.label}.to_bytes returned {data!r:.60} in place of bytes")
    if not is_shown:
        return [monoid.label, data, None]
    estimate = _done(monoid.estimate, value, f"{monoid.label}.estimate")
    _done(_PACK, estimate, f"the estimate of {monoid.label}")
    return [monoid.label, data, estimate]


def loaded(monoid: Monoid[Any], entry: Stored) -> Any:
    """The value of an entry; StateError for an entry of another monoid."""
    label, data, _ = entry
    if label != monoid.label:
        raise StateError(
            f"the value was saved by {label}, and the state is one of {monoid.label} now: give the"
            " state another name, or keep the parameters"
        )
    return _done(monoid.from_bytes, data, f"{label}.from_bytes")


def _done(function: Callable[[Any], Any], argument: Any, what: str) -> Any:
    try:
        return function(argument)
    except Exception as error:
        raise StateError(f"{what}: {type(error).__name__}: {error}") from error


def shown_entry(entry: Any) -> Any:
    """A reader's view of a stored value: monoid, estimate and size."""
    if not is_stored(entry):
        return entry
    label, data, estimate = entry
    return {"monoid": label, "estimate": estimate, "bytes": len(data)}
