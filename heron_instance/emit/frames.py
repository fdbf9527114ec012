"""Batches emitted by user code -> Arrow record batches with the stream's declared columns.

Accepted: a RecordBatch or Table of pyarrow, a DataFrame of pandas or polars, any object with
Arrow's C interface, and a dict of columns. Columns are selected by name; other columns are
dropped. Struct fields are part of a value: an undeclared field is rejected. A column of a
different type is cast only if each value is preserved, by the rules for tuples.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

from heron_core.errors import SHORT_CHARACTERS_MAX
from heron_core.field_types import fits_of
from heron_core.topology import StreamSpec
from heron_core.validation import choices
from heron_core.wire.columns import column_of, field_left_out, first_line, schema_of

_KINDS = (
    (types.is_boolean, "boolean"),
    (types.is_integer, "integer"),
    (types.is_floating, "float"),
    (types.is_decimal, "decimal"),
    (types.is_date, "date"),
    (types.is_timestamp, "timestamp"),
    (types.is_map, "map"),
    (types.is_struct, "struct"),
)
_TEXT = ("string", "large_string", "string_view")
_BYTES = ("binary", "large_binary", "binary_view")
_FROM: dict[str, frozenset[str]] = {
    "float": frozenset({"float", "integer"}),
    "decimal": frozenset({"decimal", "integer"}),
}
"""Column kinds accepted by a declared kind in addition to itself."""


def record_batches(frame: Any, stream: StreamSpec, where: str) -> list[pa.RecordBatch]:
    """The frame's rows with the declared columns; TypeError for a mismatch, naming `where`, the
    field, the declared and the actual type."""
    if not stream.types:
        example = ", ".join(f'"{field}": "string"' for field in stream.fields)
        raise TypeError(
            f"{where} declares no types of its fields, so it takes no batches: outputs = "
            f"{{{example}}}"
        )
    schema = schema_of(stream)
    table = _table(_with_columns(frame, stream, where), where)
    if table.schema.equals(schema):
        return _with_rows(table)
    columns = [_column(table, at, stream, where) for at in range(len(stream.fields))]
    return _with_rows(pa.Table.from_arrays(columns, schema=schema))


def _with_rows(table: pa.Table) -> list[pa.RecordBatch]:
    return [each for each in table.to_batches() if each.num_rows]


def _with_columns(frame: Any, stream: StreamSpec, where: str) -> Any:
    """A dict whose lists are columns of the declared types; anything else as it is.

    The values of a list are checked and stored as those of tuples: what Arrow infers of them is
    another type from batch to batch, and a dict could be a struct as well as a map."""
    if not isinstance(frame, Mapping):
        return frame
    types = {
        name: (text, schema_of(stream).field(name).type)
        for name, text in zip(stream.fields, stream.types, strict=True)
    }
    return {
        name: _of_list(f"{where}: field {name!r}", values, *types[name])
        if name in types and isinstance(values, (list, tuple))
        else values
        for name, values in frame.items()
    }


def _of_list(label: str, values: Sequence[Any], text: str, kind: pa.DataType) -> pa.Array:
    fits = fits_of(text)
    if not all(each is None or fits(each) for each in values):
        values = list(map(_as_python_has_it, values))
    for each in values:
        if each is not None and not fits(each):
            shown = textwrap.shorten(repr(each), SHORT_CHARACTERS_MAX, placeholder="…")
            got = f"a {type(each).__name__}: {shown}"
            raise TypeError(f"{label} is declared as {text}, but the frame has {got}")
    return column_of(values, kind)


def _as_python_has_it(value: Any) -> Any:
    """A numpy scalar as a Python value."""
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value


def _table(frame: Any, where: str) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        if isinstance(frame, Mapping):
            return pa.table({name: _copied(column) for name, column in frame.items()})
        if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
            return pa.table(_copied(frame))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TypeError(f"{where}: the frame is not a table: {first_line(error)}") from None
    raise TypeError(
        f"{where}: emit_batch takes a RecordBatch, a Table, a DataFrame of pandas or polars, or a "
        f"dict of columns, not a {type(frame).__name__}"
    )


def _copied(data: Any) -> Any:
    """A copy of an array of numpy or a Series or DataFrame of pandas: Arrow would share its memory,
    and user code may fill the same array again behind its emit. Other data as it is."""
    return data.copy() if hasattr(data, "__array__") and hasattr(data, "copy") else data


def _column(table: pa.Table, at: int, stream: StreamSpec, where: str) -> pa.ChunkedArray:
    name, text, wanted = stream.fields[at], stream.types[at], schema_of(stream).field(at).type
    names = table.column_names
    if names.count(name) != 1:
        what = "has no column" if name not in names else "has more than one column"
        raise TypeError(f"{where}: the frame {what} {name!r}; {choices('columns', name, names)}")
    column = table.column(name)
    if column.type == wanted:
        return column
    label = f"{where}: field {name!r} is declared as {text}, but the frame has"
    given, kind = _kind(column.type), _kind(wanted)
    if given not in ("null", kind) and given not in _FROM.get(kind, ()):
        raise TypeError(f"{label} {column.type}")
    if more := field_left_out(column.type, wanted):
        raise TypeError(f"{label} {column.type}: {more!r} is not a field of the declared type")
    try:
        return column.cast(wanted)
    except (pa.ArrowException, ValueError) as error:
        raise TypeError(f"{label} {column.type}: {first_line(error)}") from None


def _kind(kind: pa.DataType) -> str:
    """Types whose values are equal in Python share a result."""
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if str(kind) in _TEXT:
        return "string"
    if str(kind) in _BYTES:
        return "binary"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "array"
    return next((name for is_it, name in _KINDS if is_it(kind)), str(kind))
