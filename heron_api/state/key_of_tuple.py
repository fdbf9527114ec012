"""The key of a tuple: the values of the fields that its stream is grouped by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_core.errors import StateError
from heron_core.state.keys import key_of

FieldsOf = Callable[[Any], Sequence[str]]
"""A tuple -> the names of its fields."""
GroupedFields = Mapping[tuple[str, str], tuple[str, ...]]
"""(component, stream) -> the fields that it is grouped by"""


def fields_of(tup: Any) -> Sequence[str]:
    """Of heronpy's tuples."""
    fields: Sequence[str] = tup.fields
    return fields


class KeyOfTuple:
    """A tuple -> its key; StateError for one of a stream that is not grouped by fields."""

    def __init__(
        self, component: str, grouped: GroupedFields, fields_of: FieldsOf = fields_of
    ) -> None:
        self._component = component
        self._grouped = grouped
        self._fields_of = fields_of
        self._positions: dict[tuple[str, str], list[int]] = {}

    def __call__(self, tup: Any) -> Any:
        source = (tup.component, tup.stream)
        positions = self._positions.get(source)
        if positions is None:
            positions = self._positions[source] = self._positions_in(tup, source)
        values = tup.values
        return key_of([values[position] for position in positions])

    def _positions_in(self, tup: Any, source: tuple[str, str]) -> list[int]:
        if source not in self._grouped:
            raise StateError(
                f"{self._component}: tuples of {'.'.join(source)} have no key, for they are not"
                " grouped by fields: group them by Grouping.fields(...), or use for_key(key)"
            )
        names = list(self._fields_of(tup))
        return [names.index(name) for name in self._grouped[source]]
