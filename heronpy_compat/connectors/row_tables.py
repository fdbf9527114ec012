"""Rows of tuples as tables of Arrow, for sinks that write columns: each value as it is, or its row
is left out and told.

The type of a column is, first to last: what the sink's config says, what the streams that it reads
declare, what the table has that is there, what the values have.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.errors import ComponentError
from heron_core.field_types import UnknownType
from heron_core.optional_packages import needed

Row = list[Any]
Types = Mapping[str, Any]
"""Column -> its type of Arrow."""

PURPOSE = "writing Parquet files"


def types_called(types: Mapping[str, str]) -> dict[str, Any]:
    """Arrow's types by their names, or by those that SQL has for them; ComponentError."""
    return {name: _type_called(name, text) for name, text in types.items()}


def _type_called(name: str, text: str) -> Any:
    from heron_core.wire.columns import type_called

    arrow = needed("pyarrow", PURPOSE)
    for made in (arrow.type_for_alias, type_called):
        try:
            return made(text)
        except (ValueError, UnknownType):
            continue
    raise ComponentError(
        f"{text!r} for column {name!r} is no type of Arrow or SQL; say int64, double, string,"
        " date32, timestamp[us], decimal(10,2) or array<string>"
    )


def file_of(table: Any) -> Any:
    """The bytes of a Parquet file with a table."""
    arrow, parquet = needed("pyarrow", PURPOSE), needed("pyarrow.parquet", PURPOSE)
    whole = arrow.BufferOutputStream()
    parquet.write_table(table, whole)
    return whole.getvalue()


def table_of(
    columns: Sequence[str], types: Types, rows: Sequence[Row]
) -> tuple[Any, dict[int, str]]:
    """(pyarrow.Table of the rows that fit, why not for each of the others by its position)."""
    arrow = needed("pyarrow", PURPOSE)
    problems = _undeclared_fields(arrow, columns, types, rows)
    if not problems:
        try:
            return _table(arrow, columns, types, rows), {}
        except _refusals(arrow):
            pass
    first = {name: _first_type(arrow, rows, at) for at, name in enumerate(columns)} | dict(types)
    for at, row in enumerate(rows):
        if at not in problems and (found := _problem(arrow, columns, first, row)):
            problems[at] = found
    fitting = [row for at, row in enumerate(rows) if at not in problems]
    return _table(arrow, columns, first, fitting), problems


def _refusals(arrow: Any) -> tuple[type[Exception], ...]:
    """What Arrow raises for a value that is none of a type; half a surrogate is a ValueError."""
    return arrow.ArrowException, TypeError, ValueError, OverflowError


def _table(arrow: Any, columns: Sequence[str], types: Types, rows: Sequence[Row]) -> Any:
    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    arrays = [
        arrow.array(values, types.get(name))
        for name, values in zip(columns, by_column, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, names=list(columns))


def _problem(arrow: Any, columns: Sequence[str], types: Types, row: Row) -> str:
    for name, value in zip(columns, row, strict=True):
        try:
            arrow.array([value], types.get(name))
        except _refusals(arrow):
            return f"{name}={value!r} is no {types.get(name) or 'value that Parquet has'}"
    return ""


def _undeclared_fields(
    arrow: Any, columns: Sequence[str], types: Types, rows: Sequence[Row]
) -> dict[int, str]:
    """The rows with a struct that has more fields than its type: Arrow would leave these out."""
    nested = [
        (at, name, types[name])
        for at, name in enumerate(columns)
        if name in types and arrow.types.is_nested(types[name])
    ]
    problems = {}
    for position, row in enumerate(rows) if nested else ():
        for at, name, kind in nested:
            if more := undeclared_field(arrow, row[at], kind):
                problems[position] = f"{name} has a field {more!r} that {kind} has not"
    return problems


def undeclared_field(arrow: Any, value: Any, kind: Any) -> str:
    """A field of a struct, however deep in a value, that the type does not have; empty if none."""
    is_kind = arrow.types
    if value is None or not is_kind.is_nested(kind):
        return ""
    if is_kind.is_struct(kind):
        if not isinstance(value, Mapping):
            return ""
        known = {each.name: each.type for each in kind}
        more = [str(name) for name in value if name not in known]
        parts = [(value[name], known[name]) for name in value if name in known]
        return more[0] if more else _first_undeclared(arrow, parts)
    if is_kind.is_map(kind):
        items = value.values() if isinstance(value, Mapping) else [each[1] for each in value]
        return _first_undeclared(arrow, [(each, kind.item_type) for each in items])
    if isinstance(value, (list, tuple)) and hasattr(kind, "value_type"):
        return _first_undeclared(arrow, [(each, kind.value_type) for each in value])
    return ""


def _first_undeclared(arrow: Any, parts: Sequence[tuple[Any, Any]]) -> str:
    return next((found for each in parts if (found := undeclared_field(arrow, *each))), "")


def _first_type(arrow: Any, rows: Sequence[Row], at: int) -> Any:
    """The type of the column's first value that has one."""
    for row in rows:
        try:
            found = arrow.infer_type([row[at]])
        except _refusals(arrow):
            continue
        if found != arrow.null():
            return found
    return arrow.null()
