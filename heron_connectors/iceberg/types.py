"""Types of Arrow as those that columns of an Iceberg table have (format version 2)."""

from typing import Any

from heron_core.optional_packages import needed

PURPOSE = "writing Iceberg tables"
INT_BITS = 32
"""Iceberg's int; its other whole number, long, has 64."""


def iceberg_form(kind: Any) -> Any:
    """The type of Arrow in which Iceberg has the values of another one, each as it is; ValueError
    that says why there is none."""
    arrow = needed("pyarrow", PURPOSE)
    is_kind = arrow.types
    if is_kind.is_struct(kind):
        return arrow.struct([_form_of(each) for each in kind])
    if is_kind.is_map(kind):
        return arrow.map_(iceberg_form(kind.key_type), _form_of(kind.item_field))
    if is_kind.is_nested(kind) and hasattr(kind, "value_field"):
        return arrow.list_(_form_of(kind.value_field))
    return _plain_form(arrow, kind)


def _form_of(field: Any) -> Any:
    """A field inside of a type, which may be null where it may be now."""
    arrow = needed("pyarrow", PURPOSE)
    return arrow.field(field.name, iceberg_form(field.type), field.nullable)


def _plain_form(arrow: Any, kind: Any) -> Any:
    is_kind = arrow.types
    if is_kind.is_signed_integer(kind):
        return arrow.int32() if kind.bit_width <= INT_BITS else arrow.int64()
    if is_kind.is_string(kind) or is_kind.is_large_string(kind) or is_kind.is_string_view(kind):
        return arrow.string()
    if is_kind.is_binary(kind) or is_kind.is_large_binary(kind) or is_kind.is_binary_view(kind):
        return arrow.binary()
    if is_kind.is_timestamp(kind) and kind.unit != "ns":
        return arrow.timestamp("us", None if kind.tz is None else "UTC")
    if is_kind.is_float16(kind):
        return arrow.float32()
    if is_kind.is_null(kind):
        raise ValueError("its type is unknown without a value: declare the type")
    known = (
        is_kind.is_boolean,
        is_kind.is_float32,
        is_kind.is_float64,
        is_kind.is_decimal128,
        is_kind.is_date32,
        is_kind.is_fixed_size_binary,
    )
    if any(each(kind) for each in known) or kind in (arrow.time64("us"), arrow.uuid()):
        return kind
    raise ValueError(f"Iceberg has no {kind}")
