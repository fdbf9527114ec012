"""Partitions of an Iceberg table: the config of a new table, and rows without a valid partition."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

NAME_BYTES_MAX = 255
"""Of a folder's name on common file systems."""
_TERM = re.compile(r"(year|month|day|hour|bucket|truncate)\((?:\s*(\d+)\s*,)?\s*([^()]+?)\s*\)")
_SIZED = ("bucket", "truncate")


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a new table's division."""

    field: str
    transform: str
    """As Iceberg writes it: identity, day, bucket[16]."""


@dataclass(frozen=True, slots=True)
class Division:
    """A partition field of a table."""

    name: str
    """Of the folders."""
    field: str
    transform: Any
    kind: Any
    """Iceberg's type of the field."""


def term_of(text: str) -> Term:
    """What `day`, `day(time)`, `bucket(16, id)` or `truncate(3, name)` say; ValueError."""
    if "(" not in text:
        return Term(text, "identity")
    match = _TERM.fullmatch(text.strip())
    if match is None or (match[1] in _SIZED) != (match[2] is not None):
        raise ValueError(
            f"{text!r} is not a field, year(field), month(field), day(field), hour(field),"
            " bucket(16, field) or truncate(3, field)"
        )
    size = f"[{match[2]}]" if match[2] else ""
    return Term(match[3], f"{match[1]}{size}")


def divisions_of(table: Any) -> list[Division]:
    """The partition fields of an existing table."""
    schema = table.schema()
    return [
        Division(
            field.name,
            str(schema.find_column_name(field.source_id)),
            field.transform,
            schema.find_type(field.source_id),
        )
        for field in table.spec().fields
    ]


def unwritable(divisions: Iterable[Division]) -> str:
    """Why rows cannot be divided so; empty if they can."""
    for each in divisions:
        try:
            each.transform.pyarrow_transform(each.kind)
        except Exception as error:  # a class for each reason: not installed, not known, not a type
            return f"is divided by {each.transform} of {each.field!r}: {error}".splitlines()[0]
    return ""


def misplaced(divisions: Sequence[Division], fields: Sequence[str], row: Sequence[Any]) -> str:
    """Reason why a row has no partition; empty for a valid row."""
    for division in divisions:
        first, *others = division.field.split(".")
        value = row[fields.index(first)] if first in fields else None
        for name in others:
            value = value.get(name) if isinstance(value, dict) else None
        if value != value:
            return (
                f"{division.field}={value!r}: the value does not equal itself, so it has no "
                "partition"
            )
        if isinstance(value, (str, bytes)) and str(division.transform) == "identity":
            taken = len(quote_plus(value)) + len(quote_plus(division.name)) + 1
            if taken > NAME_BYTES_MAX:
                return (
                    f"{division.field}={value!r:.60}: the name of its partition would have {taken}"
                    f" bytes, and a folder has {NAME_BYTES_MAX}"
                )
    return ""
