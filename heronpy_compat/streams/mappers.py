"""From a spout's tuples to elements (org.apache.storm.streams.operations.mappers)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ValueMapper:
    """The value at an index."""

    index: int

    def __call__(self, tup: Any) -> Any:
        return tup.values[self.index]


class TupleValueMapper:
    """The values at some indexes, as a tuple: Storm's typed tuples.

    Example:

        pairs = builder.newStream(Clicks, TupleValueMapper(0, 2))
    """

    def __init__(self, *indexes: int) -> None:
        self._indexes = indexes

    def __call__(self, tup: Any) -> tuple[Any, ...]:
        return tuple(tup.values[index] for index in self._indexes)


class TupleValueMappers:
    """Storm's maker of TupleValueMapper."""

    @staticmethod
    def of(*indexes: int) -> TupleValueMapper:
        """Of the values at these indexes."""
        return TupleValueMapper(*indexes)


@dataclass(frozen=True, slots=True)
class PairValueMapper:
    """(key, value) of the values at two indexes; `newStream` gives a PairStream then."""

    key_index: int = 0
    value_index: int = 1

    def __call__(self, tup: Any) -> tuple[Any, Any]:
        return tup.values[self.key_index], tup.values[self.value_index]
