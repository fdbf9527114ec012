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
        return arrow.struct(
            [arrow.field(each.name, iceberg_form(each.type), each.nullable) for each in kind]
        )
    if is_kind.is_map(kind):
        return arrow.map_(iceberg_form(kind.key_type), iceberg_form(kind.item_type))
    if is_kind.is_nested(kind) and hasattr(kind, "value_type"):
        return arrow.list_(iceberg_form(kind.value_type))
    return _plain_form(arrow, kind)


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
        raise ValueError("its type is not known without a value: declare it")
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


def first_required_inside(schema: Any) -> str:
    """The first field inside of a column that may not be empty; an empty text if none is."""
    return next((found for each in schema if (found := _required_in(each.type, each.name))), "")


def _required_in(kind: Any, name: str) -> str:
    arrow = needed("pyarrow", PURPOSE)
    is_kind = arrow.types
    if is_kind.is_struct(kind):
        parts = [(each, f"{name}.{each.name}") for each in kind]
    elif is_kind.is_map(kind):
        parts = [(kind.item_field, f"the values of {name}")]
    elif is_kind.is_nested(kind) and hasattr(kind, "value_field"):
        parts = [(kind.value_field, f"the elements of {name}")]
    else:
        return ""
    for field, inside in parts:
        if found := _required_in(field.type, inside) if field.nullable else inside:
            return found
    return ""
