"""Records in Protobuf by a schema registry: the client's own serializers, a registry in memory."""

import base64
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from heron_connectors.kafka import proto_texts
from heron_connectors.kafka.protobuf_values import reader_of, writer_of
from heron_core.errors import ComponentError
from tests.connectors.fake_registry import FakeRegistry
from tests.connectors.runs import Ended
from tests.unit.heron_connectors.registry_support import Client, record, run, spout

MODULE = "shop_pb2"
SCALARS = {
    "i32": Field.TYPE_INT32, "i64": Field.TYPE_SINT64, "u32": Field.TYPE_FIXED32,
    "u64": Field.TYPE_UINT64, "real": Field.TYPE_FLOAT, "wide": Field.TYPE_DOUBLE,
    "flag": Field.TYPE_BOOL, "text": Field.TYPE_STRING, "raw": Field.TYPE_BYTES,
}  # fmt: skip
MESSAGES = {
    "at": ".google.protobuf.Timestamp", "took": ".google.protobuf.Duration",
    "rate": ".google.protobuf.DoubleValue", "price": ".confluent.type.Decimal",
    "day": ".google.type.Date", "inner": ".shop.Row",
}  # fmt: skip
UNSET: dict[str, Any] = {
    "i32": 0, "i64": 0, "u32": 0, "u64": 0, "real": 0.0, "wide": 0.0, "flag": False, "text": "",
    "raw": b"", **dict.fromkeys(MESSAGES), "kind": "NEW", "maybe": None, "many": [], "rows": [],
    "counts": {}, "left": None, "right": None,
}  # fmt: skip
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)


def _file() -> descriptor_pb2.FileDescriptorProto:
    """Output of protoc for shop.proto (proto3)."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(
        each.DESCRIPTOR.name for each in (duration_pb2, timestamp_pb2, wrappers_pb2)
    )
    file.dependency.extend(["confluent/type/decimal.proto", "google/type/date.proto"])
    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("NEW", "PAID")):
        kind.value.add(name=name, number=number)
    row = file.message_type.add(name="Row")
    for name, of in SCALARS.items():
        _add(row, name, of)
    for name, of_message in MESSAGES.items():
        _add(row, name, Field.TYPE_MESSAGE, of_message)
    _add(row, "kind", Field.TYPE_ENUM, ".shop.Kind")
    _add(row, "many", Field.TYPE_INT64, label=Field.LABEL_REPEATED)
    _add(row, "rows", Field.TYPE_MESSAGE, ".shop.Row", Field.LABEL_REPEATED)
    entry = row.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    _add(entry, "key", Field.TYPE_STRING)
    _add(entry, "value", Field.TYPE_INT64)
    _add(row, "counts", Field.TYPE_MESSAGE, ".shop.Row.CountsEntry", Field.LABEL_REPEATED)
    row.oneof_decl.add(name="side")
    for name in ("left", "right"):
        _add(row, name, Field.TYPE_INT32).oneof_index = 0
    row.oneof_decl.add(name="_maybe")
    maybe = _add(row, "maybe", Field.TYPE_INT32)
    maybe.oneof_index, maybe.proto3_optional = 1, True
    _add(file.message_type.add(name="Other"), "i32", Field.TYPE_INT32)
    return file


def _add(
    message: Any, name: str, of: Any, type_name: str = "", label: Any = Field.LABEL_OPTIONAL
) -> Any:
    added = message.field.add(name=name, number=len(message.field) + 1, type=of, label=label)
    if type_name:
        added.type_name = type_name
    return added


@pytest.fixture(scope="module")
def shop() -> Iterator[ModuleType]:
    """The module as made by protoc, on the import path."""
    from confluent_kafka.schema_registry.common import protobuf  # its pool has Decimal and Date

    pool = descriptor_pool.DescriptorPool()
    protobuf._init_pool(pool)
    pool.Add(_file())
    module = ModuleType(MODULE)
    for name in ("Row", "Other"):
        found = pool.FindMessageTypeByName(f"shop.{name}")
        setattr(module, name, message_factory.GetMessageClass(found))
    sys.modules[MODULE] = module
    yield module
    del sys.modules[MODULE]


def through(kind: Any, value: Mapping[str, Any]) -> dict[str, Any]:
    """The read form of a written row."""
    data = writer_of(kind.DESCRIPTOR, kind)(value).SerializeToString()
    return reader_of(kind.DESCRIPTOR)(kind.FromString(data))


HELD: list[tuple[str, Any]] = [
    ("i32", -(2**31)), ("i64", 2**63 - 1), ("u32", 2**32 - 1), ("u64", 2**64 - 1), ("real", 0.5),
    ("wide", 0.1), ("flag", True), ("text", "größe\0"), ("raw", b"\xff\0"), ("maybe", 0),
    ("kind", "PAID"), ("many", [1, -1]), ("rows", [{**UNSET, "i32": 1}]), ("counts", {"a": 1}),
    ("inner", {**UNSET, "inner": {**UNSET, "text": "x"}}), ("left", 0), ("at", NOON),
    ("at", datetime(1, 1, 1, tzinfo=UTC)), ("at", datetime(9999, 12, 31, tzinfo=UTC)),
    ("took", timedelta(microseconds=-1)), ("took", timedelta(days=-3, microseconds=5)),
    ("rate", 0.0), ("day", date(2026, 11, 26)), ("price", Decimal("-1.10")), ("price", Decimal(0)),
    ("price", Decimal(128)), ("price", Decimal(-128)), ("price", Decimal(10) ** 30),
    ("at", None), ("inner", None), ("maybe", None), ("rate", None),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), HELD)
def test_a_value_comes_back_as_it_was(shop: ModuleType, field: str, value: Any) -> None:
    found = through(shop.Row, {field: value})
    assert found == {**UNSET, field: value}
    assert type(found[field]) is type(value)


REFUSED: list[tuple[str, Any, str]] = [
    ("i32", 2**31, "is not an int of 32 bits"), ("i32", 1.0, "is not an int"),
    ("i32", True, "is not an int"), ("i64", 2**63, "is not an int of 64 bits"),
    ("u32", -1, "is not an unsigned int of 32 bits"), ("u64", 2**64, "is not an unsigned"),
    ("real", 1e300, "is not a float of 32 bits"), ("flag", 1, "is not a boolean"),
    ("text", "\ud800", "is not a text"), ("text", b"x", "is not a text"),
    ("raw", "x", "is not bytes"), ("kind", "GONE", "is not one of NEW, PAID"),
    ("kind", 7, "is not one of NEW, PAID"), ("i32", None, "null, which only an"),
    ("text", None, "null"), ("many", 1, "is not a list"), ("many", None, "is not a list"),
    ("many", [1, None], r"\.many\[1\]: null"), ("counts", {"a": None}, r"\.counts\['a'\]: null"),
    ("counts", {1: 1}, "is not a text"), ("counts", [1], "is not a map"),
    ("inner", {"gone": 1}, "has no field 'gone'"), ("inner", 1, "is not a message's fields"),
    ("rows", [{"inner": {"i32": "x"}}], r"\.rows\[0\]\.inner\.i32: 'x' is not an int"),
    ("at", "now", "is not a datetime"), ("at", date(2026, 1, 1), "is not a datetime"),
    ("took", 1, "is not a timedelta"), ("day", NOON, "is not a date"),
    ("rate", "x", "is not a double"), ("price", 1.5, "is not a decimal"),
    ("price", Decimal("NaN"), "is not a decimal"), ("gone", 1, "has no field 'gone'"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "why"), REFUSED)
def test_what_a_field_does_not_hold_is_refused(
    shop: ModuleType, field: str, value: Any, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        through(shop.Row, {field: value})


def test_two_members_of_a_oneof_exclude_each_other(shop: ModuleType) -> None:
    assert through(shop.Row, {"left": None, "right": 2})["right"] == 2
    with pytest.raises(ValueError, match="left and right exclude each other"):
        through(shop.Row, {"left": 1, "right": 2})


def test_what_others_have_written_is_read_or_refused(shop: ModuleType) -> None:
    read = reader_of(shop.Row.DESCRIPTOR)
    assert read(shop.Row(kind=9))["kind"] == 9  # of a newer schema
    with pytest.raises(ValueError, match="a time has microseconds"):
        read(shop.Row(at={"seconds": 1, "nanos": 1}))
    with pytest.raises(ValueError, match="no datetime is so far away"):
        read(shop.Row(at={"seconds": 2**60}))
    with pytest.raises(ComponentError, match=r"google\.protobuf\.Value has no type"):
        reader_of(struct_pb2.Struct.DESCRIPTOR)


PROTOBUF = {"kafka.value.format": "protobuf", "kafka.value.message": f"{MODULE}.Row"}
TYPES = {"i32": "bigint", "text": "string", "at": "timestamp"}
ROW = [7, "x", NOON]


@pytest.mark.parametrize("mode", ["ATLEAST_ONCE", "EFFECTIVELY_ONCE"])
def test_rows_are_written_and_read(
    registry: FakeRegistry, client: Client, shop: ModuleType, mode: str
) -> None:
    rows = [ROW, [2**40, "too wide", NOON], [8, "y", None]]
    ended, found = run(registry, rows, TYPES, **PROTOBUF, **{"topology.reliability.mode": mode})
    assert ended == Ended(["ValueError: i32: 1099511627776 is not an int of 32 bits\n"], 1)
    assert registry.subjects.keys() == {"rows-value"}
    assert [value[:6] for _, value in found] == [b"\0\0\0\0\1\0"] * 2
    client.records = [record(value, None, at) for at, (_, value) in enumerate(found)]
    outputs = {"text": "string", "at": "timestamp", "offset": "bigint"}
    with spout(registry, outputs, **PROTOBUF) as tester:
        tester.next_tuple(calls=3)
        assert [each.values for each in tester.emitted] == [["x", NOON, 0], ["y", None, 1]]


def test_a_record_of_another_message_is_left_out(
    registry: FakeRegistry, client: Client, shop: ModuleType
) -> None:
    other = {**PROTOBUF, "kafka.value.message": f"{MODULE}.Other"}
    ended, ((_, value),) = run(registry, [[7]], {"i32": "int"}, **other)
    assert ended == Ended()
    client.records = [record(value), record(b"\0\0\0\0\x09\0", None, 1), record(b"x", None, 2)]
    with spout(registry, ("value",), **PROTOBUF) as tester:
        for why in (
            ("the value is a message shop.Other, not shop.Row"),
            "Schema not found",
            "magic byte",
        ):
            with pytest.raises(ComponentError, match=f"is left out: .*{why}"):
                tester.next_tuple()
        assert tester.emitted == []


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"kafka.value.message": None}, "is the MODULE.CLASS that protoc has made, not None"),
        ({"kafka.value.message": "nowhere.Row"}, "nowhere.Row: No module named 'nowhere'"),
        ({"kafka.value.message": f"{MODULE}.Gone"}, "has no attribute 'Gone'"),
        ({"kafka.value.message": "os.path"}, "os.path is not a class of messages"),
        (
            {"kafka.value.message": f"{MODULE}.Other"},
            "message shop.Other has no field 'text', but i32",
        ),
        (
            {"kafka.schema.auto.register": False},
            "register the schema, or set kafka.schema.auto.register",
        ),
    ],
)
def test_what_is_wrong_is_told_before_any_record(
    registry: FakeRegistry, shop: ModuleType, more: dict[str, Any], text: str
) -> None:
    with pytest.raises(ComponentError, match=text):
        run(registry, [ROW], TYPES, **{**PROTOBUF, **more})


def newest(registry: FakeRegistry, schema: str, kind: str = "PROTOBUF") -> None:
    """The subject of the topic has only this schema."""
    status, _ = registry.answer(
        "POST", ["subjects", "rows-value", "versions"], {"schema": schema, "schemaType": kind}
    )
    assert status == 200


def serialized(change: Callable[[descriptor_pb2.FileDescriptorProto], Any]) -> str:
    """The file of the messages, changed, as the client registers it."""
    file = _file()
    change(file)
    return base64.b64encode(file.SerializeToString()).decode()


def without_row(file: descriptor_pb2.FileDescriptorProto) -> None:
    del file.message_type[0]
    del file.dependency[2:]


def with_another_first(file: descriptor_pb2.FileDescriptorProto) -> None:
    file.message_type.add(name="First")
    messages = [file.message_type[at] for at in (2, 0, 1)]
    copies = [descriptor_pb2.DescriptorProto.FromString(m.SerializeToString()) for m in messages]
    del file.message_type[:]
    file.message_type.extend(copies)


def with_other_field(at: int, **changes: Any) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        for name, value in changes.items():
            setattr(file.message_type[0].field[at], name, value)

    return change


LATEST = {**PROTOBUF, "kafka.schema.use.latest": True}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (without_row, "has no message shop.Row"),
        (with_another_first, "has message shop.Row at another position"),
        (with_other_field(7, type=Field.TYPE_BYTES), "has another field shop.Row.text = 8"),
        (with_other_field(7, name="words"), "has another field shop.Row.text = 8"),
        (with_other_field(7, number=99), "has no field shop.Row.text = 8"),
    ],
)
def test_a_newest_schema_of_other_messages_is_told_in_a_line(
    registry: FakeRegistry, shop: ModuleType, change: Any, why: str
) -> None:
    newest(registry, serialized(change))
    text = f"the newest schema of subject rows-value of topic rows {why}.*protoc generated"
    with pytest.raises(ComponentError, match=text):
        run(registry, [ROW], TYPES, **LATEST)


def test_a_newest_schema_that_is_no_file_of_protobuf_is_told_in_a_line(
    registry: FakeRegistry, shop: ModuleType
) -> None:
    newest(registry, '{"type": "string"}', "AVRO")
    with pytest.raises(ComponentError, match="rows is one of AVRO, not of PROTOBUF"):
        run(registry, [ROW], TYPES, **LATEST)
    newest(registry, "bm8gZGVzY3JpcHRvcg==")
    with pytest.raises(ComponentError, match="rows cannot be read"):
        run(registry, [ROW], TYPES, **LATEST)


def test_a_newest_schema_with_a_field_more_is_written_by(
    registry: FakeRegistry, client: Client, shop: ModuleType
) -> None:
    newest(registry, serialized(lambda file: _add(file.message_type[0], "more", Field.TYPE_BOOL)))
    ended, ((_, value),) = run(registry, [ROW], TYPES, **LATEST)
    assert ended == Ended()
    client.records = [record(value)]
    with spout(registry, {"text": "string"}, **PROTOBUF) as tester:
        tester.next_tuple()
        assert [each.values for each in tester.emitted] == [["x"]]


def test_a_schema_that_the_client_cannot_read_leaves_its_record_out_with_the_reason(
    registry: FakeRegistry, client: Client, shop: ModuleType
) -> None:
    newest(registry, "bm8gZGVzY3JpcHRvcg==")
    client.records = [record(b"\0\0\0\0\1\0")]
    with (
        spout(registry, ("value",), **PROTOBUF) as tester,
        pytest.raises(ComponentError, match=r"left out: Unread.* cannot be read"),
    ):
        tester.next_tuple()


TEXT = """// as a Java program registers it
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
import "parts/kind.proto";
message Row {
  string text = 8;
  parts.Kind kind = 16;
  google.protobuf.Timestamp at = 10;
  google.type.Date day = 14;
}
"""
KIND = 'syntax = "proto3"; package parts; enum Kind { NEW = 0; PAID = 1; }'


def text_registered(registry: FakeRegistry, text: str = TEXT) -> None:
    """The newest schema of the topic is the text of a file, and of an imported one, as in answers
    of Apicurio."""
    for subject, schema, references in (
        ("kind", KIND, []),
        ("rows-value", text, [{"name": "parts/kind.proto", "subject": "kind", "version": 1}]),
    ):
        body = {"schema": schema, "schemaType": "PROTOBUF", "references": references}
        status, _ = registry.answer("POST", ["subjects", subject, "versions"], body)
        assert status == 200


def test_records_whose_schema_is_the_text_of_a_file_are_read(
    registry: FakeRegistry, client: Client, shop: ModuleType
) -> None:
    """protoc reads the text, with Google's own types and the imported file."""
    text_registered(registry)
    client.records = [record(b"\0\0\0\0\2\0" + b"\x42\1x"), record(b"\0\0\0\0\2\0", offset=1)]
    with spout(registry, {"text": "string"}, **PROTOBUF) as tester:
        tester.next_tuple(calls=2)
        assert [each.values for each in tester.emitted] == [["x"], [""]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("8;", "8"), r"cannot be read: protoc says __schema__.proto:9:3: Expected"),
        (TEXT.replace("google/type/date", "of/others"), "cannot be read: protoc says of/others"),
        (TEXT.replace("message Row", "message Others"), "the value is a message shop.Others"),
    ],
)
def test_a_text_that_protoc_refuses_leaves_its_record_out_with_the_reason(
    registry: FakeRegistry, client: Client, shop: ModuleType, text: str, said: str
) -> None:
    text_registered(registry, text)
    client.records = [record(b"\0\0\0\0\2\0")]
    with (
        spout(registry, ("value",), **PROTOBUF) as tester,
        pytest.raises(ComponentError, match=f"left out: .*{said}"),
    ):
        tester.next_tuple()


def test_a_protoc_that_does_not_end_leaves_the_record_out_with_the_reason(
    registry: FakeRegistry, client: Client, shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        proto_texts, "compiler", lambda: [sys.executable, "-c", "import time; time.sleep(60)"]
    )
    monkeypatch.setattr(proto_texts, "COMPILE_SECS", 0.2)
    text_registered(registry)
    client.records = [record(b"\0\0\0\0\2\0")]
    with (
        spout(registry, ("value",), **PROTOBUF) as tester,
        pytest.raises(ComponentError, match=r"cannot be read: protoc did not end within 0\.2 s"),
    ):
        tester.next_tuple()


def test_without_the_package_the_line_names_it(
    registry: FakeRegistry, client: Client, shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proto_texts, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    text_registered(registry)
    client.records = [record(b"\0\0\0\0\2\0")]
    with (
        spout(registry, ("value",), **PROTOBUF) as tester,
        pytest.raises(ComponentError, match=r"which protoc reads: pip install .*\[protoc\]"),
    ):
        tester.next_tuple()
    with pytest.raises(ComponentError, match=r"rows is the text of a \.proto file.*\[protoc\]"):
        run(registry, [ROW], TYPES, **LATEST)


def test_an_import_stays_in_its_folder(registry: FakeRegistry, shop: ModuleType) -> None:
    text_registered(registry, TEXT.replace("parts/kind.proto", "../kind.proto"))
    registry.schemas[-1]["references"][0]["name"] = "../kind.proto"
    with pytest.raises(ComponentError, match=r"imports '\.\./kind.proto', which is not the name"):
        run(registry, [ROW], TYPES, **LATEST)
