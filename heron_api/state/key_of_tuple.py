"""The key of a tuple: the values of the fields that its stream is grouped by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_core.errors import StateError
from heron_core.native import TupleKeys

FieldsOf = Callable[[Any], Sequence[str]]
"""A tuple -> the names of its fields."""
GroupedFields = Mapping[tuple[str, str], tuple[str, ...]]
"""(component, stream) -> the fields that it is grouped by"""


def fields_of(tup: Any) -> Sequence[str]:
    """Of heronpy's tuples."""
    fields: Sequence[str] = tup.fields
    return fields


def keys_of_tuples(
    component: str, grouped: GroupedFields, fields_of: FieldsOf = fields_of
) -> TupleKeys:
    """What finds the key of a tuple: StateError for one of a stream that is not grouped by
    fields."""
    return TupleKeys(_Positions(component, grouped, fields_of).of)


class _Positions:
    """Where the tuples of each stream have the values of their key."""

    def __init__(self, component: str, grouped: GroupedFields, fields_of: FieldsOf) -> None:
        self._component = component
        self._grouped = grouped
        self._fields_of = fields_of
        self._known: dict[tuple[str, str], list[int]] = {}

    def of(self, tup: Any) -> list[int]:
        """Those of a tuple's stream."""
        source = (tup.component, tup.stream)
        positions = self._known.get(source)
        if positions is None:
            positions = self._known[source] = self._found(tup, source)
        return positions

    def _found(self, tup: Any, source: tuple[str, str]) -> list[int]:
        if source not in self._grouped:
            raise StateError(
                f"{self._component}: tuples of {'.'.join(source)} have no key, for they are not"
                " grouped by fields: group them by Grouping.fields(...), or use for_key(key)"
            )
        names = list(self._fields_of(tup))
        return [names.index(name) for name in self._grouped[source]]
