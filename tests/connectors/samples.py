"""The values that every connector is tried with, and what has become of one on its other side."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

INDIA = timezone(timedelta(hours=5, minutes=30))
Form = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A value, with the type that a stream may declare for it."""

    name: str
    value: Any
    declared: str | None = None


class Thing:
    """An object that only Python knows."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    def __hash__(self) -> int:
        return 1


SAMPLES = (
    Sample("truth", True, "boolean"),
    Sample("number", 7, "bigint"),
    Sample("largest of 64 bits", 2**63 - 1, "bigint"),
    Sample("beyond 64 bits", 2**64 + 1),
    Sample("fraction", 0.1, "double"),
    Sample("NaN", float("nan"), "double"),
    Sample("infinity", float("-inf"), "double"),
    Sample("text", 'größe, "1";\t\u2028 x', "string"),
    Sample("text with line ends", "a\nb\r\nc", "string"),
    Sample("text of digits", "007", "string"),
    Sample("empty text", "", "string"),
    Sample("text with NUL", "a\0b", "string"),
    Sample("half a character", "a\ud83d"),
    Sample("bytes", b"\xff\x00\n", "binary"),
    Sample("date", date(1, 1, 1), "date"),
    Sample("time of a day", time(23, 59, 59, 999_999)),
    Sample("datetime", datetime(2013, 3, 10, 2, 30, 0, 1), "timestamp_ntz"),
    Sample("datetime in UTC", datetime(2013, 3, 10, 7, 30, tzinfo=UTC), "timestamp"),
    Sample("datetime in India", datetime(2013, 3, 10, 13, 0, tzinfo=INDIA), "timestamp"),
    Sample("duration", timedelta(days=-1, microseconds=1)),
    Sample("decimal", Decimal("1.10"), "decimal(10,2)"),
    Sample("38 digits", Decimal("9" * 38), "decimal(38,0)"),
    Sample("decimal NaN", Decimal("NaN")),
    Sample("UUID", UUID(int=7)),
    Sample("list", [1, None, 3], "array<bigint>"),
    Sample("empty list", [], "array<bigint>"),
    Sample("tuple", (1, 2)),
    Sample("set", {1, 2}),
    Sample("struct", {"a": 1, "b": None}, "struct<a: bigint, b: string>"),
    Sample("structs", [{"a": 1}, {"a": None}], "array<struct<a: bigint>>"),
    Sample("map", {"x": 1, "ü": 2}, "map<string, bigint>"),
    Sample("mixed list", [1, "a"]),
    Sample("any object", Thing()),
    Sample("no value", None, "bigint"),
)
NAMED = {each.name: each for each in SAMPLES}
SAME, REFUSED, NOT_THERE = "same", "refused", "none"


def is_same(found: Any, value: Any) -> bool:
    """Whether it is the value, of the same type at each depth; times by their instant."""
    if type(found) is not type(value):
        return False
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(
            is_same(found[key], value[key]) for key in value
        )
    if isinstance(value, (list, tuple)):
        return len(found) == len(value) and all(map(is_same, found, value))
    if isinstance(value, datetime) and (found.tzinfo is None) != (value.tzinfo is None):
        return False
    return bool(found == value) or (found != found and value != value)


def outcome(found: Any, value: Any, form: Form) -> str:
    """What a value has become: `same`, or the type of what its form is; AssertionError if it was
    changed otherwise."""
    if is_same(found, value):
        return SAME
    wanted = form(value)
    assert is_same(found, wanted), f"{value!r} became {found!r}, and neither it nor {wanted!r}"
    return f"as {_kind(wanted)}"


def _kind(value: Any) -> str:
    names: Mapping[type, str] = {str: "text", int: "number", float: "number", dict: "struct"}
    return names.get(type(value), type(value).__name__)
