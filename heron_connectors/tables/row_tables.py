"""Rows of tuples as Arrow tables, for columnar sinks: values are unchanged, invalid rows are
left out and reported.

The type of a column is, in order of precedence: the sink's config, the declared types of the
input streams, the existing table, the values.
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
MERGE, REFUSE = "merge", "refuse"
"""What becomes of columns, and of fields of structs, that the target does not have."""


def types_called(types: Mapping[str, str]) -> dict[str, Any]:
    """Arrow types by Arrow or SQL name; ComponentError."""
    return {name: _type_called(name, text) for name, text in types.items()}


def _type_called(name: str, text: str) -> Any:
    from heron_core.wire.columns import type_called

    arrow = needed("pyarrow", PURPOSE)
    for type_maker in (arrow.type_for_alias, type_called):
        try:
            return type_maker(text)
        except (ValueError, UnknownType):
            continue
    raise ComponentError(
        f"{text!r} for column {name!r} is not a type of Arrow or SQL; say int64, double, string,"
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
    """(pyarrow.Table of the valid rows, reasons by position for invalid rows)."""
    arrow = needed("pyarrow", PURPOSE)
    problems = _undeclared_fields(arrow, columns, types, rows)
    if not problems:
        try:
            return _table(arrow, columns, types, rows), {}
        except _refusals(arrow):
            pass
    first = {name: _first_type(arrow, rows, at) for at, name in enumerate(columns)} | dict(types)
    for at, row in enumerate(rows):
        if at not in problems and (problem := _problem(arrow, columns, first, row)):
            problems[at] = problem
    fitting = [row for at, row in enumerate(rows) if at not in problems]
    return _table(arrow, columns, first, fitting), problems


def _refusals(arrow: Any) -> tuple[type[Exception], ...]:
    """The types of heron_core.wire.columns, imported late because of Arrow."""
    return arrow.ArrowException, TypeError, ValueError, OverflowError


def _table(arrow: Any, columns: Sequence[str], types: Types, rows: Sequence[Row]) -> Any:
    from heron_core.wire.columns import column_of  # imports Arrow

    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    arrays = [
        column_of(values, types.get(name)) for name, values in zip(columns, by_column, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, names=list(columns))


def _problem(arrow: Any, columns: Sequence[str], types: Types, row: Row) -> str:
    from heron_core.wire.columns import column_of

    for name, value in zip(columns, row, strict=True):
        try:
            column_of([value], types.get(name))
        except _refusals(arrow):
            return f"{name}={value!r} is not {types.get(name) or 'a value of Parquet'}"
    return ""


def _undeclared_fields(
    arrow: Any, columns: Sequence[str], types: Types, rows: Sequence[Row]
) -> dict[int, str]:
    """Rows with a struct wider than its type: Arrow would drop the additional fields."""
    nested = [
        (at, name, types[name])
        for at, name in enumerate(columns)
        if name in types and arrow.types.is_nested(types[name])
    ]
    problems = {}
    for position, row in enumerate(rows) if nested else ():
        for at, name, kind in nested:
            if more := undeclared_field(arrow, row[at], kind):
                problems[position] = f"{name} has a field {more!r} that is missing in {kind}"
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
    """Type of the column's first typed value."""
    for row in rows:
        try:
            found = arrow.infer_type([row[at]])
        except _refusals(arrow):
            continue
        if found != arrow.null():
            return found
    return arrow.null()


def is_null(kind: Any) -> bool:
    """Whether a column's type is that of no value at all."""
    return bool(needed("pyarrow", PURPOSE).types.is_null(kind))


def schema_problem(
    mode: str, key: str, known: Types, declared: Types, columns: Sequence[str]
) -> str:
    """Reason why rows of the columns, with declared types if any, cannot be added to a target
    with columns `known`; empty if possible.

    ComponentError for an invalid mode. `key` is the config key of the mode.
    """
    if mode not in (MERGE, REFUSE):
        raise ComponentError(f"{key} is {MERGE} or {REFUSE}, not {mode}")
    if not known:
        return ""
    for name in columns:
        if name not in known:
            if mode == REFUSE:
                return f"no column {name!r}, and {key} is {REFUSE}"
        elif name in declared and (misfit := _misfit(mode, known[name], declared[name], name)):
            return f"{misfit}; a column's type never changes"
    return ""


def _misfit(mode: str, known: Any, declared: Any, name: str) -> str:
    is_kind = needed("pyarrow", PURPOSE).types
    if is_kind.is_struct(known) and is_kind.is_struct(declared):
        there = {each.name: each.type for each in known}
        for field in declared:
            if field.name in there:
                if misfit := _misfit(mode, there[field.name], field.type, f"{name}.{field.name}"):
                    return misfit
            elif mode == REFUSE:
                return f"no field {field.name!r} in {name}"
        return ""
    if is_kind.is_list(known) and is_kind.is_list(declared):
        return _misfit(mode, known.value_type, declared.value_type, f"{name}[]")
    if is_kind.is_map(known) and is_kind.is_map(declared):
        keys = _misfit(mode, known.key_type, declared.key_type, f"the keys of {name}")
        return keys or _misfit(mode, known.item_type, declared.item_type, f"the items of {name}")
    if known == declared or _holds_all_of(is_kind, known, declared):
        return ""
    return f"{name} as {known}, but the column is declared as {declared}"


def _holds_all_of(is_kind: Any, known: Any, declared: Any) -> bool:
    """Whether a column type holds each value of a second type unchanged."""
    if is_kind.is_integer(known) and is_kind.is_integer(declared):
        return bool(known.bit_width >= declared.bit_width)
    if is_kind.is_floating(known) and is_kind.is_floating(declared):
        return bool(known.bit_width >= declared.bit_width)
    if is_kind.is_decimal(known) and is_kind.is_decimal(declared):
        before = known.precision - known.scale >= declared.precision - declared.scale
        return bool(before and known.scale >= declared.scale)
    if is_kind.is_timestamp(known) and is_kind.is_timestamp(declared):
        return (known.tz is None) == (declared.tz is None)
    texts = is_kind.is_string, is_kind.is_large_string, is_kind.is_string_view
    datas = is_kind.is_binary, is_kind.is_large_binary, is_kind.is_binary_view
    return any(
        any(each(known) for each in kinds) and any(each(declared) for each in kinds)
        for kinds in (texts, datas)
    )


def types_for(
    mode: str, known: Types, declared: Types, columns: Sequence[str], rows: Sequence[Row]
) -> dict[str, Any]:
    """The types of columns for a target whose columns are `known`: what that has, with the fields
    of structs that are new in what is declared, or else in the rows, if they are to be merged."""
    arrow = needed("pyarrow", PURPOSE)
    widest = dict(declared)
    for at, name in enumerate(columns):
        there = known.get(name)
        if there is None:
            continue
        widest[name] = there
        if mode == MERGE and arrow.types.is_nested(there):
            more = [declared[name]] if name in declared else _inferred(arrow, rows, at)
            for kind in more:
                widest[name] = widened(arrow, widest[name], kind)
    return widest


def _inferred(arrow: Any, rows: Sequence[Row], at: int) -> list[Any]:
    """The type of the values of a column, or that of each if they have none in common."""
    try:
        return [arrow.infer_type([row[at] for row in rows])]
    except _refusals(arrow):
        found = [_first_type(arrow, [row], at) for row in rows]
        return list(dict.fromkeys(found))


def widened(arrow: Any, known: Any, other: Any) -> Any:
    """A type extended by the struct fields of a second type, at any depth; required fields stay
    required."""
    is_kind = arrow.types
    if is_kind.is_struct(known) and is_kind.is_struct(other):
        more = {each.name: each.type for each in other}
        fields = [
            field.with_type(widened(arrow, field.type, more.pop(field.name, field.type)))
            for field in known
        ]
        return arrow.struct([*fields, *map(arrow.field, more.keys(), more.values())])
    if is_kind.is_list(known) and is_kind.is_list(other):
        inner = known.value_field
        return arrow.list_(inner.with_type(widened(arrow, inner.type, other.value_type)))
    if is_kind.is_map(known) and is_kind.is_map(other):
        inner = known.item_field
        return arrow.map_(
            known.key_type, inner.with_type(widened(arrow, inner.type, other.item_type))
        )
    return known
