"""Joins of streams batch by batch."""

from collections.abc import Sequence
from enum import Enum
from itertools import product
from typing import Any

from heronpy_compat.trident.operations import GroupedMultiReducer, MultiReducer, TridentCollector
from heronpy_compat.trident.tuples import TridentTuple


class JoinType(Enum):
    """What becomes of a key for which a stream has no tuple.

    Example:

        pages = topology.join(
            [users, clicks], [["id"], ["user"]], ["id", "name", "page"],
            JoinType.mixed(JoinType.INNER, JoinType.OUTER),
        )
    """

    INNER = "the key has no row"
    OUTER = "None in the place of each of the stream's values"

    @staticmethod
    def mixed(*types: "JoinType") -> "list[JoinType]":
        """One for each stream."""
        return list(types)


class JoinOutFieldsMode(Enum):
    """Which fields a join has.

    Example:

        pages = topology.join(
            [users, clicks], [["id"], ["user"]], ["id", "name", "user", "page"],
            mode=JoinOutFieldsMode.PRESERVE,
        )
    """

    COMPACT = "the join fields once, then the other fields of each stream"
    PRESERVE = "all fields of each stream"


class JoinReducer(GroupedMultiReducer):
    """Each combination of the tuples of a key, one of each stream."""

    def __init__(self, types: Sequence[JoinType], widths: Sequence[int]) -> None:
        """`widths`: how many values besides the key's each stream has."""
        self._types = types
        self._widths = widths

    def init(self, collector: TridentCollector, group: TridentTuple) -> list[list[Any]]:
        """See GroupedMultiReducer."""
        return [[] for _ in self._types]

    def execute(
        self,
        value: Any,
        stream_index: int,
        group: TridentTuple,
        tup: TridentTuple,
        collector: TridentCollector,
    ) -> None:
        """See GroupedMultiReducer."""
        value[stream_index].append(list(tup.values))

    def complete(self, value: Any, group: TridentTuple, collector: TridentCollector) -> None:
        """See GroupedMultiReducer."""
        sides = [
            rows or ([[None] * width] if kind is JoinType.OUTER else [])
            for rows, kind, width in zip(value, self._types, self._widths, strict=True)
        ]
        for rows in product(*sides):
            collector.emit([item for row in rows for item in row])


class MergeReducer(MultiReducer):
    """The tuples of all streams."""

    def init(self, collector: TridentCollector) -> None:
        """See MultiReducer."""

    def execute(
        self, value: Any, stream_index: int, tup: TridentTuple, collector: TridentCollector
    ) -> None:
        """See MultiReducer."""
        collector.emit(tup.values)

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See MultiReducer."""
