"""Tuples of one stream as an Arrow record batch: its schema, its bytes on the wire, rows and back.

The schema does not travel: both ends derive the schema from the declared types of the stream. A
record batch is read in place, without copying. pyarrow is an extra, so other modules import this
module late.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any

import pyarrow as pa

from heron_core.errors import ProtocolError
from heron_core.field_types import DECIMAL, built, fits_of
from heron_core.native import COMPILED, HOT_PATH, are_plain_texts
from heron_core.topology import StreamSpec

MICROSECONDS = "us"
_FLOATS = frozenset((float, type(None)))
REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""Errors of Arrow for a value of another type; a lone surrogate is a ValueError."""
_TEXTS = frozenset((pa.string(), pa.binary()))
_NUMBERS = frozenset((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()))
_PLAIN: dict[str, pa.DataType] = {
    "tinyint": pa.int8(), "byte": pa.int8(), "smallint": pa.int16(), "short": pa.int16(),
    "int": pa.int32(), "integer": pa.int32(), "bigint": pa.int64(), "long": pa.int64(),
    "string": pa.string(), "boolean": pa.bool_(), "binary": pa.binary(), "date": pa.date32(),
    "float": pa.float32(), "real": pa.float32(), "double": pa.float64(),
    "timestamp": pa.timestamp(MICROSECONDS, "UTC"), "timestamp_ntz": pa.timestamp(MICROSECONDS),
}  # fmt: skip


class _ArrowBuilder:
    """Makes the Arrow type of a declared type."""

    def plain(self, name: str, numbers: Sequence[int]) -> pa.DataType:
        if name != "decimal":
            return _PLAIN[name]
        return pa.decimal128(*(*numbers, *DECIMAL[len(numbers) :]))

    def array(self, item: pa.DataType) -> pa.DataType:
        return pa.list_(item)

    def map(self, key: pa.DataType, item: pa.DataType) -> pa.DataType:
        return pa.map_(key, item)

    def struct(self, fields: dict[str, pa.DataType]) -> pa.DataType:
        return pa.struct(list(fields.items()))


def type_called(text: str) -> pa.DataType:
    """The Arrow type of a declared type; UnknownType."""
    return built(text, _ArrowBuilder())


@lru_cache(maxsize=256)
def schema_of(stream: StreamSpec) -> pa.Schema:
    """The Arrow schema of a stream with declared types."""
    types = [type_called(text) for text in stream.types]
    return pa.schema(list(zip(stream.fields, types, strict=True)))


def serialized(record_batch: pa.RecordBatch) -> bytes:
    """The body of a COLUMNS message: one message of Arrow's IPC, without the schema."""
    data: bytes = record_batch.serialize().to_pybytes()
    return data


def read(body: bytes, schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """The record batch of a body, read in place; ProtocolError for a body with other columns or
    another number of rows."""
    try:
        batch = pa.ipc.read_record_batch(pa.py_buffer(body), schema)
        batch.validate()
        for column in batch.columns:
            if not _is_plain(column):
                column.validate(full=True)
    except (pa.ArrowException, EOFError, OSError, ValueError) as error:
        raise ProtocolError(f"a body that is not a record batch: {first_line(error)}") from None
    if batch.num_rows != rows:
        raise ProtocolError(f"a record batch of {batch.num_rows} rows for {rows} tuples")
    return batch


def _is_plain(column: pa.Array) -> bool:
    """Whether Arrow's full check of a column, 3 ns a row, would find nothing: numbers without a
    null, and by a quicker look ASCII texts without a null."""
    if column.null_count:
        return False
    if column.type in _TEXTS:
        _, offsets, data = column.buffers()
        return HOT_PATH == COMPILED and are_plain_texts(data, offsets, column.offset, len(column))
    return column.type in _NUMBERS


def taken(body: bytes, stream: StreamSpec, rows: int, wanted: Sequence[int]) -> bytes:
    """The body of a COLUMNS message of `rows` tuples, reduced to the tuples at the positions
    `wanted`."""
    return serialized(read(body, schema_of(stream), rows).take(pa.array(wanted)))


def merged(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One record batch from several with a common schema."""
    if len(parts) == 1:
        return parts[0]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def values_of(column: Any) -> list[Any]:
    """A column as the values of tuples."""
    how = {"maps_as_pydicts": "strict"} if pa.types.is_nested(column.type) else {}
    values: list[Any] = column.to_pylist(**how)
    return values


def rows_of(record_batch: pa.RecordBatch) -> list[list[Any]]:
    """The values of each tuple."""
    columns = [values_of(column) for column in record_batch.columns]
    return list(map(list, zip(*columns, strict=True)))


def field_left_out(given: pa.DataType, wanted: pa.DataType) -> str:
    """Name of a field of a struct, at any depth, in the given type and not in the wanted type: a
    cast would drop the field. Empty without a difference."""
    if pa.types.is_dictionary(given):
        return field_left_out(given.value_type, wanted)
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        kinds = {each.name: each.type for each in wanted}
        left_out = (
            field_left_out(field.type, kinds[field.name]) if field.name in kinds else field.name
            for field in given
        )
        return next(filter(None, left_out), "")
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return field_left_out(given.key_type, wanted.key_type) or field_left_out(
            given.item_type, wanted.item_type
        )
    if hasattr(given, "value_type") and hasattr(wanted, "value_type"):
        return field_left_out(given.value_type, wanted.value_type)
    return ""


def in_utc(record_batch: pa.RecordBatch) -> pa.RecordBatch:
    """The record batch with timestamps in UTC, from any time zones; the instants do not change."""
    schema = pa.schema([pa.field(each.name, _in_utc(each.type)) for each in record_batch.schema])
    return record_batch if schema.types == record_batch.schema.types else record_batch.cast(schema)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, "UTC")
    if pa.types.is_map(kind):
        return pa.map_(_in_utc(kind.key_type), _in_utc(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _in_utc(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(_in_utc(kind.value_type))
    return kind


def of_rows(
    rows: Sequence[Sequence[Any]], fields: Sequence[str], schema: pa.Schema | None
) -> pa.RecordBatch:
    """Tuples as a record batch; Arrow infers the types of a stream without declared types.

    TypeError with the name of the field if a value does not fit.
    """
    columns = list(zip(*rows, strict=True))
    arrays = [
        _column(name, values, None if schema is None else schema.field(at).type)
        for at, (name, values) in enumerate(zip(fields, columns, strict=True))
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema or pa.schema(_fields(fields, arrays)))


def _fields(fields: Sequence[str], arrays: Sequence[pa.Array]) -> list[pa.Field]:
    return [pa.field(name, each.type) for name, each in zip(fields, arrays, strict=True)]


def _column(name: str, values: Sequence[Any], kind: pa.DataType | None) -> pa.Array:
    try:
        return column_of(values, kind)
    except REFUSALS as error:
        wanted = "of one type, and none is declared" if kind is None else kind
        raise TypeError(
            f"the values of field {name!r} are not a column ({wanted}): {first_line(error)}"
        ) from None


def column_of(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array:
    """The values of tuples as a column of the type, or of the type inferred by Arrow; one of
    REFUSALS for a value of another type."""
    if kind is None or not (pa.types.is_nested(kind) or _has_other_numbers(values, kind)):
        return pa.array(values, kind)
    return pa.array([_as_arrow_takes_it(each, kind) for each in values], kind)


def _has_other_numbers(values: Sequence[Any], kind: pa.DataType) -> bool:
    """Whether a column of floats has ints or numbers of other classes. Arrow refuses an int beyond
    53 bits, even an int with an exact float."""
    return pa.types.is_floating(kind) and not _FLOATS.issuperset(map(type, values))


def _as_arrow_takes_it(value: Any, kind: pa.DataType) -> Any:
    """The value in a form for Arrow, with all its parts: a struct given in order gets names,
    because the structs of a column are all by name or all in order; an int in a column of floats
    becomes a float. Arrow refuses a value of another type."""
    if pa.types.is_floating(kind):
        fits = fits_of("double" if kind == pa.float64() else "float")
        return float(value) if isinstance(value, Real) and fits(value) else value
    is_sequence = isinstance(value, (list, tuple))
    if pa.types.is_map(kind) and (is_sequence or isinstance(value, Mapping)):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(key, _as_arrow_takes_it(item, kind.item_type)) for key, item in pairs]
    if pa.types.is_struct(kind) and (is_sequence or isinstance(value, Mapping)):
        known = {each.name: each.type for each in kind}
        given = value if isinstance(value, Mapping) else dict(zip(known, value, strict=True))
        if more := next((name for name in given if name not in known), None):
            raise ValueError(f"{more!r} is not a field of {kind}")  # Arrow leaves it out
        return {name: _as_arrow_takes_it(each, known[name]) for name, each in given.items()}
    if pa.types.is_list(kind) and is_sequence:
        return [_as_arrow_takes_it(each, kind.value_type) for each in value]
    return value


def first_line(error: Exception) -> str:
    """First line of the message of an error of Arrow."""
    return (str(error).splitlines() or [type(error).__name__])[0]
