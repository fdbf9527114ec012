"""Sketches as monoids: answers about many elements in some KiB, with a known error.

    class Visitors(Bolt):
        outputs = ["page", "visitors"]
        visitors = mergeable_state(HyperLogLog())

        def process(self, tup):  # grouped by "page"
            self.visitors.add(tup.user)
            self.emit([tup.page, self.visitors.estimate()])

They are those of Apache DataSketches (extra `sketches`), whose bytes other languages read, too.
HyperLogLog, Theta and CountMin of partial values, merged, are equal to the sketch of all elements,
and so is FrequentItems as long as its table is not full. Kll draws at random: its errors have the
same bound, but two runs may differ within it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from heron_core.errors import StateError
from heron_core.optional_packages import needed
from heron_core.state.monoid import Monoid

INTEGER_BITS = 64
"""Of the library's hash functions; a longer number has to be a text."""


def _library() -> Any:
    return needed("datasketches", "a sketch")


def _plain(element: Any, sketch: str, kinds: tuple[type, ...] = (str, int, float)) -> Any:
    """An element that the library takes; StateError for another one, and its cure."""
    is_long = isinstance(element, int) and not -(2**63) <= element < 2**63
    if isinstance(element, kinds) and not is_long:
        return element
    names = ", ".join(kind.__name__ for kind in kinds)
    raise StateError(
        f"{sketch} takes elements of {names} (numbers of {INTEGER_BITS} bits), not {element!r:.60}:"
        " make a text of it"
    )


def _weighted(element: Any) -> tuple[Any, int]:
    """(item, weight) of an element, which is either both or the item alone."""
    if not isinstance(element, tuple):
        return element, 1
    if len(element) != 2 or not isinstance(element[1], int) or element[1] < 0:
        raise StateError(f"an element is an item or (item, whole weight), not {element!r:.60}")
    return element


def _checked(name: str, value: object, least: float, most: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and least <= value <= most):  # type: ignore[operator]
        raise StateError(f"{name} is a number from {least:g} to {most:g}, not {value!r}")


@dataclass(frozen=True, slots=True)
class HyperLogLog(Monoid[Any]):
    """The number of distinct elements, in 2**lg_k bytes, with a standard error of
    1.04 / sqrt(2**lg_k): 1.6 % by default. The value is an `hll_union` of the library."""

    lg_k: int = 12

    def __post_init__(self) -> None:
        _library()
        _checked("lg_k", self.lg_k, 7, 21)

    @property
    def label(self) -> str:
        """See Monoid."""
        return f"HyperLogLog(lg_k={self.lg_k})"

    def zero(self) -> Any:
        """See Monoid."""
        return _library().hll_union(self.lg_k)

    def add(self, value: Any, element: Any) -> Any:
        """See Monoid."""
        value.update(_plain(element, "HyperLogLog"))
        return value

    def merge(self, left: Any, right: Any) -> Any:
        """See Monoid."""
        left.update(_hll_of(right))
        return left

    def to_bytes(self, value: Any) -> bytes:
        """See Monoid."""
        data: bytes = _hll_of(value).serialize_compact()
        return data

    def from_bytes(self, data: bytes) -> Any:
        """See Monoid."""
        union = self.zero()
        union.update(_library().hll_sketch.deserialize(data))
        return union

    def estimate(self, value: Any) -> float:
        """How many distinct elements. The estimator that depends on the order of the elements is
        left out: it would give other results for other divisions among tasks."""
        sketch, both = _hll_of(value), self.zero()
        both.update(sketch)
        both.update(sketch)
        number: float = _hll_of(both).get_estimate()
        return number


def _hll_of(union: Any) -> Any:
    return union.get_result(_library().HLL_8)


class ThetaValue:
    """Elements that were added, in a sketch, and sketches that were merged, in a union."""

    __slots__ = ("added", "merged")

    def __init__(self, added: Any, merged: Any = None) -> None:
        self.added, self.merged = added, merged


@dataclass(frozen=True, slots=True)
class Theta(Monoid[ThetaValue]):
    """The number of distinct elements, as sets that can also be intersected: `sketch(value)` is a
    `compact_theta_sketch` of the library. The standard error is 1 / 2**(lg_k / 2), 1.6 % by
    default, in 8 bytes * 2**lg_k."""

    lg_k: int = 12

    def __post_init__(self) -> None:
        _library()
        _checked("lg_k", self.lg_k, 5, 26)

    @property
    def label(self) -> str:
        """See Monoid."""
        return f"Theta(lg_k={self.lg_k})"

    def zero(self) -> ThetaValue:
        """See Monoid."""
        return ThetaValue(_library().update_theta_sketch(self.lg_k))

    def add(self, value: ThetaValue, element: Any) -> ThetaValue:
        """See Monoid."""
        value.added.update(_plain(element, "Theta"))
        return value

    def merge(self, left: ThetaValue, right: ThetaValue) -> ThetaValue:
        """See Monoid."""
        left.merged = self._union(left.merged, self.sketch(right))
        return left

    def sketch(self, value: ThetaValue) -> Any:
        """All elements, as a `compact_theta_sketch`; the same whatever the division was."""
        return self._union(value.merged, value.added)

    def _union(self, *sketches: Any) -> Any:
        union = _library().theta_union(self.lg_k)
        for sketch in sketches:
            if sketch is not None:
                union.update(sketch)
        return union.get_result()

    def to_bytes(self, value: ThetaValue) -> bytes:
        """See Monoid."""
        data: bytes = self.sketch(value).serialize()
        return data

    def from_bytes(self, data: bytes) -> ThetaValue:
        """See Monoid."""
        sketch = _library().compact_theta_sketch.deserialize(data)
        return ThetaValue(self.zero().added, sketch)

    def estimate(self, value: ThetaValue) -> float:
        """How many distinct elements."""
        number: float = self.sketch(value).get_estimate()
        return number


class _LibrarySketch(Monoid[Any]):
    """A sketch whose value is one of the library's, of the class `_kind`."""

    __slots__ = ()
    _kind: ClassVar[str]

    def merge(self, left: Any, right: Any) -> Any:
        """See Monoid."""
        left.merge(right)
        return left

    def to_bytes(self, value: Any) -> bytes:
        """See Monoid."""
        data: bytes = value.serialize()
        return data

    def from_bytes(self, data: bytes) -> Any:
        """See Monoid."""
        return getattr(_library(), self._kind).deserialize(data)


@dataclass(frozen=True, slots=True)
class Kll(_LibrarySketch):
    """Quantiles of numbers: the rank of a result is wrong by 1.3 % at most, in 99 of 100 cases,
    for k = 200 and about 2 KiB. The value is a `kll_doubles_sketch` of the library."""

    _kind: ClassVar[str] = "kll_doubles_sketch"
    quantiles: Sequence[float] = (0.5, 0.9, 0.99)
    """Of the estimate."""
    k: int = 200

    def __post_init__(self) -> None:
        _library()
        _checked("k", self.k, 8, 65535)
        for quantile in self.quantiles:
            _checked("a quantile", quantile, 0, 1)

    @property
    def label(self) -> str:
        """See Monoid."""
        return f"Kll(k={self.k})"

    def zero(self) -> Any:
        """See Monoid."""
        return _library().kll_doubles_sketch(self.k)

    def add(self, value: Any, element: float) -> Any:
        """See Monoid; StateError for NaN, which has no rank."""
        if element != element:
            raise StateError("Kll takes numbers, and NaN is none")
        value.update(float(_plain(element, "Kll", (int, float))))
        return value

    def estimate(self, value: Any) -> dict[str, float]:
        """{"p50": …, "p99": …}; empty without elements."""
        if value.is_empty():
            return {}
        return {f"p{each * 100:g}": value.get_quantile(each) for each in self.quantiles}


@dataclass(frozen=True, slots=True)
class CountMin(_LibrarySketch):
    """How often each element has come: `state.get().get_estimate(item)` is never too small, and too
    large by `relative_error` of all elements at most, in `confidence` of the cases. Elements are
    items, or (item, weight). The value is a `count_min_sketch` of the library."""

    _kind: ClassVar[str] = "count_min_sketch"
    relative_error: float = 0.001
    confidence: float = 0.99

    def __post_init__(self) -> None:
        _library()
        _checked("relative_error", self.relative_error, 1e-7, 1)
        _checked("confidence", self.confidence, 0.5, 0.999999)

    @property
    def label(self) -> str:
        """See Monoid."""
        return f"CountMin(relative_error={self.relative_error:g}, confidence={self.confidence:g})"

    def zero(self) -> Any:
        """See Monoid."""
        sketch = _library().count_min_sketch
        return sketch(
            sketch.suggest_num_hashes(self.confidence),
            sketch.suggest_num_buckets(self.relative_error),
        )

    def add(self, value: Any, element: Any) -> Any:
        """See Monoid."""
        item, weight = _weighted(element)
        value.update(_plain(item, "CountMin", (str, int)), weight)
        return value

    def estimate(self, value: Any) -> float:
        """The weight of all elements: the estimate of an item needs the item."""
        weight: float = value.total_weight
        return weight


@dataclass(frozen=True, slots=True)
class FrequentItems(_LibrarySketch):
    """The texts that come most often, in a table of 2**lg_max_k. Counts are exact as long as three
    quarters of the table suffice for all items; else each item of more than 3.5 / 2**lg_max_k of
    all elements is found. Elements are texts, or (text, weight). The value is a
    `frequent_strings_sketch` of the library."""

    _kind: ClassVar[str] = "frequent_strings_sketch"
    top: int = 10
    """How many the estimate has."""
    lg_max_k: int = 10

    def __post_init__(self) -> None:
        _library()
        _checked("top", self.top, 1, 2**26)
        _checked("lg_max_k", self.lg_max_k, 3, 26)

    @property
    def label(self) -> str:
        """See Monoid."""
        return f"FrequentItems(lg_max_k={self.lg_max_k})"

    def zero(self) -> Any:
        """See Monoid."""
        return _library().frequent_strings_sketch(self.lg_max_k)

    def add(self, value: Any, element: Any) -> Any:
        """See Monoid."""
        item, weight = _weighted(element)
        value.update(_plain(item, "FrequentItems", (str,)), weight)
        return value

    def estimate(self, value: Any) -> list[list[Any]]:
        """[item, count] of the most frequent, in their order; of equal counts by the text."""
        library = _library()
        rows = value.get_frequent_items(library.frequent_items_error_type.NO_FALSE_NEGATIVES)
        ranked = sorted((-count, item) for item, count, _, _ in rows)
        return [[item, -negative] for negative, item in ranked[: self.top]]
