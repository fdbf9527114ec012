"""The tuple that Trident's operations get, and how fields are selected."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, overload

from heronpy_compat.trident.errors import TridentError

Row = list[Any]
"""The values of a tuple between two operations, in the order of the stream's fields."""
Names = tuple[str, ...]
FieldNames = str | Sequence[str] | None
"""Field arguments of users: one name, several, or none."""


class TridentTuple(Sequence[Any]):
    """The selected fields of a tuple: `tup["word"]`, `tup[0]`, `tup.get_value_by_field("word")`.

    Example:

        def execute(self, tup, collector):
            collector.emit([len(tup["word"])])
    """

    __slots__ = ("fields", "values")

    def __init__(self, fields: Names, values: Sequence[Any]) -> None:
        self.fields = fields
        self.values = values

    @overload
    def __getitem__(self, at: int | str) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Any]: ...
    def __getitem__(self, at: int | str | slice) -> Any:
        """A value by position or field."""
        return self.get_value_by_field(at) if isinstance(at, str) else self.values[at]

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self.values))

    def __repr__(self) -> str:
        return f"TridentTuple({dict(zip(self.fields, self.values, strict=True))!r})"

    def get_value(self, at: int) -> Any:
        """The value at a position."""
        return self.values[at]

    def get_value_by_field(self, field: str) -> Any:
        """The value of a field; KeyError with the list of fields for an unknown field."""
        if field not in self.fields:
            raise KeyError(f"field {field!r} is not one of {list(self.fields)}")
        return self.values[self.fields.index(field)]

    def get_values(self) -> list[Any]:
        """All values."""
        return list(self.values)

    def contains(self, field: str) -> bool:
        """Whether the field exists."""
        return field in self.fields

    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    get_string = get_integer = get_long = get_double = get_boolean = get_value
    get_string_by_field = get_integer_by_field = get_long_by_field = get_value_by_field
    get_double_by_field = get_boolean_by_field = get_value_by_field
    getValue = getString = getInteger = getLong = getDouble = getBoolean = get_value
    getValueByField = getStringByField = getIntegerByField = get_value_by_field
    getLongByField = getDoubleByField = getBooleanByField = get_value_by_field
    getValues = get_values


def names_of(fields: str | Iterable[str] | None, where: str) -> Names:
    """Normalise field names: one, several, or none; TridentError for a duplicate or a
    non-string."""
    names = (fields,) if isinstance(fields, str) else tuple(fields or ())
    for name in names:
        if not isinstance(name, str):
            raise TridentError(f"{where}: fields are strings, not {name!r}")
        if names.count(name) > 1:
            raise TridentError(f"{where}: duplicate field {name!r} in {list(names)}")
    return names


def appended(before: Names, added: Names, where: str) -> Names:
    """The fields of a stream followed by appended fields, all distinct."""
    for name in added:
        if name in before:
            raise TridentError(
                f"{where}: field {name!r} is in the stream already: {list(before)}; appended fields"
                " have names of their own"
            )
    return before + added


class FieldSelection:
    """Some fields of a stream's rows."""

    def __init__(self, stream: Names, wanted: Names, where: str) -> None:
        """TridentError for an unknown field."""
        for name in wanted:
            if name not in stream:
                raise TridentError(
                    f"{where}: unknown field {name!r}; the stream has {list(stream)}"
                )
        self.names = wanted
        at = [stream.index(name) for name in wanted]
        self._only = at[0] if len(at) == 1 else None
        """Position of the only field of a selection: a fast path at half the cost per row."""
        self._pick = itemgetter(*at) if len(at) > 1 else None
        self._is_all = wanted == stream

    def tuple_of(self, row: Sequence[Any]) -> TridentTuple:
        """The selected values, as an operation receives them."""
        if self._is_all:
            return TridentTuple(self.names, row)
        if self._only is not None:
            return TridentTuple(self.names, [row[self._only]])
        return TridentTuple(self.names, self.row_of(row))

    def row_of(self, row: Sequence[Any]) -> Row:
        """The selected values as a row of another stream."""
        if self._only is not None:
            return [row[self._only]]
        return list(self._pick(row)) if self._pick is not None else []

    def key_of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """The selected values as a key of a dict."""
        if self._only is not None:
            return (row[self._only],)
        return self._pick(row) if self._pick is not None else ()
