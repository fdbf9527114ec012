"""Values that a column requires inside of itself: fields of structs, elements of lists, values of
maps that may not be null."""

from collections.abc import Iterator, Mapping
from typing import Any

Part = tuple[Any, str]
"""(a field of Arrow inside of a type, its location in words)"""


def parts_of(arrow: Any, kind: Any, name: str) -> list[Part]:
    """Component types of an Arrow type; empty for a plain type. `name`: of the value."""
    is_kind = arrow.types
    if is_kind.is_struct(kind):
        return [(each, f"{name}.{each.name}") for each in kind]
    if is_kind.is_map(kind):
        return [(kind.item_field, f"the values of {name}")]
    if is_kind.is_nested(kind) and hasattr(kind, "value_field"):
        return [(kind.value_field, f"the elements of {name}")]
    return []


def requires_inside(arrow: Any, kind: Any) -> bool:
    """Whether something inside of values of a type may not be null."""
    return any(
        not field.nullable or requires_inside(arrow, field.type)
        for field, _ in parts_of(arrow, kind, "")
    )


def absent_value(arrow: Any, value: Any, kind: Any, name: str) -> str:
    """Location of the first missing value that the type requires; empty if complete. Values of a
    wrong type are ignored here."""
    for field, location in parts_of(arrow, kind, name):
        for inner in _values_of(arrow, value, kind, field.name):
            found = location if inner is None and not field.nullable else ""
            if found or (found := absent_value(arrow, inner, field.type, location)):
                return found
    return ""


def _values_of(arrow: Any, value: Any, kind: Any, field: str) -> Iterator[Any]:
    is_sequence = isinstance(value, (list, tuple))
    if arrow.types.is_struct(kind):
        if isinstance(value, Mapping):
            yield value.get(field)
        elif is_sequence:  # the fields in order
            yield dict(zip((each.name for each in kind), value, strict=False)).get(field)
    elif arrow.types.is_map(kind):
        if isinstance(value, Mapping):
            yield from value.values()
        elif is_sequence:
            yield from (each[1] for each in value)
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value


def absent_field(arrow: Any, declared: Any, kind: Any, name: str) -> str:
    """The location of the first field of a struct that a column of a type requires and a declared
    type, of which all values are, does not have; empty if it has all."""
    there = {location: field for field, location in parts_of(arrow, declared, name)}
    for field, location in parts_of(arrow, kind, name) if there else ():
        if location not in there:
            absent = "" if field.nullable else location
        else:
            absent = absent_field(arrow, there[location].type, field.type, location)
        if absent:
            return absent
    return ""
