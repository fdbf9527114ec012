"""A topology's values as PySpark takes them: a datetime without a time zone is UTC.

PySpark takes one without a zone for the local time of its process, wherever that runs.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

Convert = Callable[[Any], Any]


def for_spark(kind: DataType) -> Convert | None:
    """What makes of a topology's value one that PySpark takes for the same; None: it is that."""
    if isinstance(kind, TimestampType):
        return _with_zone
    if isinstance(kind, TimestampNTZType):
        return _without_zone
    if isinstance(kind, ArrayType):
        return _each(for_spark(kind.elementType))
    if isinstance(kind, MapType):
        return _items(for_spark(kind.keyType), for_spark(kind.valueType))
    if isinstance(kind, StructType):
        return _fields({field.name: for_spark(field.dataType) for field in kind.fields})
    return None


def _with_zone(value: Any) -> Any:
    is_naive = isinstance(value, datetime) and value.tzinfo is None
    return value.replace(tzinfo=UTC) if is_naive else value


def _without_zone(value: Any) -> Any:
    has_zone = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if has_zone else value


def _each(item: Convert | None) -> Convert | None:
    if item is None:
        return None
    return lambda values: None if values is None else [item(each) for each in values]


def _items(key: Convert | None, item: Convert | None) -> Convert | None:
    if key is None and item is None:
        return None
    of_key, of_item = key or _same, item or _same

    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {of_key(each): of_item(some) for each, some in value.items()}

    return convert


def _fields(fields: Mapping[str, Convert | None]) -> Convert | None:
    if not any(fields.values()):
        return None
    converts = [field or _same for field in fields.values()]

    def convert(value: Any) -> Any:
        if isinstance(value, Mapping):
            known = {name: fields.get(name) or _same for name in value}
            return {name: known[name](each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return tuple(each(some) for each, some in zip(converts, value, strict=True))
        return value

    return convert


def _same(value: Any) -> Any:
    return value
