"""What Avro holds is handed on as it is; all else is refused with the place where it stands."""

import io
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest

from heron_connectors.kafka.avro_schemas import holds, schema_for, schema_of_type
from heron_connectors.kafka.avro_values import writer_of

INDIA = timezone(timedelta(hours=5, minutes=30))


def logical(of: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": of, "logicalType": kind, **more}


PRICE = logical("bytes", "decimal", precision=4, scale=2)
FIXED_PRICE = logical("fixed", "decimal", precision=4, scale=2, size=2, name="P")
POINT = {"type": "record", "name": "Point", "fields": [
    {"name": "x", "type": "int"}, {"name": "y", "type": "double", "default": 0.5}]}  # fmt: skip
WIDE = {"type": "record", "name": "Wide", "fields": [{"name": "x", "type": "int"}]}
TREES = {"type": "array", "items": "Tree"}
TREE = {"type": "record", "name": "Tree", "fields": [
    {"name": "size", "type": "int"}, {"name": "leaves", "type": TREES}]}  # fmt: skip
COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}
FOUR = {"type": "fixed", "name": "Four", "size": 4}


def written_and_read(schema: Any, value: Any) -> Any:
    parsed = fastavro.parse_schema(schema)
    data = io.BytesIO()
    fastavro.schemaless_writer(data, parsed, writer_of(parsed)(value))
    data.seek(0)
    return fastavro.schemaless_reader(data, parsed, None)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ("int", 2**31 - 1, 2**31 - 1), ("long", -(2**63), -(2**63)), ("boolean", True, True),
        ("double", 3, 3.0), ("float", 0.5, 0.5), ("double", -math.inf, -math.inf),
        ("float", math.inf, math.inf), ("bytes", b"\0\xff", b"\0\xff"), ("string", "ü\0", "ü\0"),
        (PRICE, Decimal("1.1"), Decimal("1.10")), (PRICE, Decimal("1E+1"), Decimal("10.00")),
        (PRICE, -3, Decimal("-3.00")), (PRICE, Decimal("1.1000"), Decimal("1.10")),
        (PRICE, Decimal("-0"), Decimal("0.00")),
        (FIXED_PRICE, Decimal("-99.99"), Decimal("-99.99")),
        (logical("bytes", "decimal", precision=38, scale=10), Decimal("9" * 28 + ".0123456789"),
         Decimal("9" * 28 + ".0123456789")),
        (logical("long", "timestamp-micros"), datetime(1, 1, 1), datetime(1, 1, 1, tzinfo=UTC)),
        (logical("long", "timestamp-millis"), datetime(2020, 1, 1, 6, tzinfo=INDIA),
         datetime(2020, 1, 1, 0, 30, tzinfo=UTC)),
        (logical("long", "local-timestamp-micros"), datetime(9999, 12, 31, 23, 59, 59, 999_999),
         datetime(9999, 12, 31, 23, 59, 59, 999_999)),
        (logical("int", "date"), date(1, 1, 1), date(1, 1, 1)),
        (logical("long", "time-micros"), time(23, 59, 59, 999_999), time(23, 59, 59, 999_999)),
        (logical("string", "uuid"), UUID(int=7), UUID(int=7)), (COLOUR, "BLUE", "BLUE"),
        (FOUR, b"abcd", b"abcd"), (["null", "string"], None, None),
        (["double", "long"], 7, 7), (["float", "double"], 0.1, 0.1),
        (["string", "boolean"], True, True),
        ([logical("long", "timestamp-micros"), "string"], "x", "x"),
        ([POINT, WIDE], {"x": 1}, {"x": 1}),
        ([WIDE, POINT], {"x": 1, "y": 2.0}, {"x": 1, "y": 2.0}),
        (POINT, {"x": 1}, {"x": 1, "y": 0.5}), (POINT, (1, 2), {"x": 1, "y": 2.0}),
        ({"type": "map", "values": ["null", "int"]}, {"a": None, "b": 1}, {"a": None, "b": 1}),
        (TREE, {"size": 1, "leaves": [{"size": 2, "leaves": []}]},
         {"size": 1, "leaves": [{"size": 2, "leaves": []}]}),
    ],
)  # fmt: skip
def test_a_value_that_the_schema_holds_comes_back(schema: Any, value: Any, expected: Any) -> None:
    found = written_and_read(schema, value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ("int", 2**31, "2147483648 is not an int of 32 bits"), ("int", 1.5, "1.5 is not an int"),
        ("long", 2**63, "is not a long of 64 bits"), ("long", True, "True is not a long"),
        ("boolean", 1, "1 is not a boolean"), ("string", b"x", "is not a text"),
        ("string", "\ud800", "is not a text"), ("bytes", "x", "'x' is not bytes"),
        ("double", 2**53 + 1, "is not a double"), ("float", 1e300, "is not a float of 32 bits"),
        ("string", None, "None is not a text"), ("null", 1, "1 is not null"),
        (PRICE, Decimal("1.111"), "not a decimal of 4 digits, 2 of them"),
        (PRICE, Decimal("111.1"), "not a decimal"), (PRICE, Decimal("NaN"), "not a decimal"),
        (PRICE, 1.5, "not a decimal"), (PRICE, Decimal("1E+999999"), "not a decimal"),
        (FIXED_PRICE, Decimal(1000), "not a decimal of 4 digits"),
        (logical("long", "timestamp-millis"), datetime(2020, 1, 1, 0, 0, 0, 1), "has microseconds"),
        (logical("long", "timestamp-micros"), 5, "5 is not a datetime"),
        (logical("long", "local-timestamp-micros"), datetime(1, 1, 1, tzinfo=UTC), "a time zone"),
        (logical("int", "date"), datetime(2020, 1, 1), "is not a date"),
        (logical("int", "time-millis"), time(1, 1, 1, 1), "has microseconds"),
        (logical("string", "uuid"), "x", "'x' is not a UUID"),
        (COLOUR, "GREEN", "'GREEN' is not one of RED, BLUE"), (FOUR, b"abc", "is not 4 bytes"),
        (["null", "int"], "x", "'x' is not an int"),
        (["null", "int", "string"], 1.5, "none of the"),
        (POINT, {"x": 1, "z": 2}, "no field 'z'"), (POINT, {"y": 1.0}, "'x' is missing"),
        (POINT, {"x": "a"}, "^.x: 'a' is not an int"), (POINT, 7, "7 is not a record with x, y"),
        ({"type": "map", "values": "int"}, {1: 2}, "1 is not a text"),
        ({"type": "array", "items": POINT}, [{"x": 1}, {"x": 2**40}], r"^\[1\]\.x: 10995"),
        (TREE, {"size": 1, "leaves": [{"size": "x", "leaves": []}]}, r"^\.leaves\[0\]\.size: 'x'"),
    ],
)  # fmt: skip
def test_a_value_that_it_does_not_hold_is_refused_where_it_is(
    schema: Any, value: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        writer_of(fastavro.parse_schema(schema))(value)


DECLARED = {
    "b": "tinyint", "i": "int", "l": "bigint", "t": "string", "o": "boolean", "f": "float",
    "d": "double", "r": "binary", "day": "date", "at": "timestamp", "on": "timestamp_ntz",
    "p": "decimal(38,10)", "xs": "array<struct<a: bigint, b: array<string>>>",
    "ys": "array<struct<a: date>>", "m": "map<string, decimal(4,2)>",
    "s": "struct<x: float, s: struct<x: boolean>>",
}  # fmt: skip


def test_declared_types_have_a_schema_that_holds_them() -> None:
    parsed: Any = fastavro.parse_schema(schema_for("rows", DECLARED))
    for field in parsed["fields"]:
        assert holds(field["type"], schema_of_type("x", DECLARED[field["name"]])), field["name"]
    row = dict.fromkeys(DECLARED)
    assert written_and_read(parsed, row) == row
    full = {"xs": [{"a": 1, "b": ["x", None]}, None], "ys": [{"a": date(2020, 1, 1)}],
            "s": {"x": 0.5, "s": {"x": True}}, "p": Decimal("1.0000000001")}  # fmt: skip
    assert written_and_read(parsed, row | full) == row | full


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"a-b": "int"}, "no field called 'a-b'"), ({"m": "map<int,int>"}, "must be texts"),
     ({"s": "struct<a: array<map<date,int>>>"}, "must be texts")],
)  # fmt: skip
def test_a_type_that_avro_does_not_have_is_named(fields: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        schema_for("rows", fields)


@pytest.mark.parametrize(
    ("outer", "declared", "is_held"),
    [
        ("long", "int", True), ("int", "bigint", False), ("double", "int", True),
        ("double", "bigint", False), ("float", "double", False), ("double", "float", True),
        (["null", "string"], "string", True), (COLOUR, "string", True), ("string", "binary", False),
        (FOUR, "binary", True), (PRICE, "decimal(4,2)", True), (PRICE, "decimal(4,1)", False),
        (PRICE, "decimal(3,2)", True), (FIXED_PRICE, "decimal(4,2)", True),
        (FIXED_PRICE, "decimal(5,2)", False), ("bytes", "decimal(4,2)", False),
        (logical("long", "timestamp-millis"), "timestamp", True), ("long", "timestamp", False),
        (logical("long", "local-timestamp-micros"), "timestamp", False),
        (logical("int", "date"), "date", True), ("int", "date", False),
        (POINT, "struct<x: int>", True), (POINT, "struct<y: double>", False),
        (POINT, "struct<x: int, z: int>", False), (TREE, "struct<size: int>", False),
        ({"type": "array", "items": "long"}, "array<int>", True),
        ({"type": "map", "values": "int"}, "map<string, string>", False),
    ],
)  # fmt: skip
def test_a_schema_holds_a_declared_type_or_not(outer: Any, declared: str, is_held: bool) -> None:
    assert holds(fastavro.parse_schema(outer), schema_of_type("x", declared)) == is_held


def test_what_is_read_into_a_declared_type() -> None:
    def is_read(declared: str, schema: Any) -> bool:
        return holds(schema_of_type("x", declared), fastavro.parse_schema(schema))

    assert is_read("string", COLOUR)
    assert is_read("binary", FOUR)
    assert is_read("bigint", ["null", "int", "long"])
    assert not is_read("string", logical("string", "uuid"))
    assert not is_read("string", ["string", "int"])
    assert not is_read("int", "long")
