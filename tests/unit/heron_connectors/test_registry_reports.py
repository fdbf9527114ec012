"""Public reports about Avro, Protobuf and schema registries, each reduced to its steps and the
right result, and tried here. References name the report. Records are made and read by shared
functions on each engine (tests/connectors compares the engines)."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from heron_connectors.kafka.protobuf_records import PROTOBUF_CODEC
from heron_connectors.kafka.registered_parts import PartRows, RegisteredPart
from heron_connectors.kafka.schema_registry import URL, registry_of
from heron_core.errors import ComponentError
from tests.connectors.fake_registry import FakeRegistry
from tests.connectors.messages import message_of
from tests.connectors.runs import Ended
from tests.unit.heron_connectors.registry_support import Client, record, run, spout

Report = Callable[[FakeRegistry, Client], None]
REPORTS: list[tuple[str, Report]] = []
KIND = {"type": "enum", "name": "Kind", "symbols": ["NEW", "PAID"]}
AT = datetime(2026, 11, 26, 12, 0, 0, 5000, tzinfo=UTC)


def reported(*references: str) -> Callable[[Report], Report]:
    def add(report: Report) -> Report:
        REPORTS.extend((each, report) for each in references)
        return report

    return add


def schema(*fields: Any, name: str = "Row") -> dict[str, Any]:
    """A record of these (name, type[, default])."""
    made = [
        {"name": field, "type": kind, **({"default": rest[0]} if rest else {})}
        for field, kind, *rest in fields
    ]
    return {"type": "record", "name": name, "fields": made}


def written(registry: FakeRegistry, row: list[Any], given: dict[str, Any], **more: Any) -> bytes:
    """The bytes of one row, without an error."""
    fields = dict.fromkeys(each["name"] for each in given["fields"][: len(row)])
    ended, records = run(registry, [row], fields, **{"kafka.value.schema": given, **more})
    assert ended == Ended()
    ((_, value),) = records
    return bytes(value)


def read(registry: FakeRegistry, client: Client, *data: bytes | None, **more: Any) -> list[Any]:
    """The values of the given records, without an error."""
    client.records = [record(each, None, at) for at, each in enumerate(data)]
    with spout(registry, **more) as tester:
        tester.next_tuple(calls=len(data) + 1)
        return [each.values[0] for each in tester.emitted]


def both(registry: FakeRegistry, client: Client, row: list[Any], given: dict[str, Any]) -> Any:
    """A row after writing and reading."""
    (found,) = read(registry, client, written(registry, row, given))
    return found


def left_out(registry: FakeRegistry, client: Client, bad: bytes, good: bytes, **more: Any) -> str:
    """Why a record is left out; the next one is read, and the commit is behind both."""
    client.records = [record(bad), record(good, None, 1)]
    with spout(registry, kafka__commit__secs=0, **more) as tester:
        with pytest.raises(ComponentError, match=r"rows\[0\]@0 is left out: ") as caught:
            tester.next_tuple()
        tester.next_tuple()
        (emitted,) = tester.emitted
        tester.ack(emitted.tup_id)
    assert client.offset == 2
    return str(caught.value)


def costs_its_row(registry: FakeRegistry, row: list[Any], given: dict[str, Any], why: str) -> None:
    fields = dict.fromkeys(each["name"] for each in given["fields"])
    ended, records = run(registry, [row], fields, **{"kafka.value.schema": given})
    assert (ended.failed, records) == (1, [])
    assert why in ended.errors[0]


# --- Avro -----------------------------------------------------------------------------------------


@reported("confluentinc/schema-registry#2314")
def none_stays_none_though_the_field_has_a_default(registry: FakeRegistry, client: Client) -> None:
    given = schema(("name", ["string", "null"], "unknown"))
    assert both(registry, client, [None], given) == {"name": None}


@reported("Azure/azure-schema-registry-for-kafka#76", "awslabs/aws-glue-schema-registry#307")
def a_field_that_is_left_out_has_its_default_of_null(
    registry: FakeRegistry, client: Client
) -> None:
    names = {
        "type": "record",
        "name": "Names",
        "fields": [{"name": "en", "type": ["null", "string"], "default": None}],
    }
    given = schema(
        ("id", "long"), ("note", ["null", "string"], None), ("names", names, {"en": None})
    )
    assert both(registry, client, [1], given) == {"id": 1, "note": None, "names": {"en": None}}


@reported("confluentinc/schema-registry#393", "confluentinc/schema-registry#558")
def a_symbol_in_a_union_stays_what_it_is(registry: FakeRegistry, client: Client) -> None:
    assert both(registry, client, ["PAID"], schema(("kind", ["null", KIND]))) == {"kind": "PAID"}
    registry.subjects.clear()
    assert both(registry, client, ["else"], schema(("kind", ["string", KIND]))) == {"kind": "else"}


@reported("apache/flink#27591")
def a_symbol_is_a_text_for_a_stream_that_declares_one(
    registry: FakeRegistry, client: Client
) -> None:
    data = written(registry, ["PAID"], schema(("kind", ["null", KIND])))
    assert read(registry, client, data, outputs={"kind": "string"}) == ["PAID"]


@reported("confluentinc/schema-registry#2870", "confluentinc/confluent-kafka-python#840")
def a_decimal_in_a_union_or_deep_inside_is_a_decimal(
    registry: FakeRegistry, client: Client
) -> None:
    price = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    after = ["null", schema(("price", ["null", price]), name="After")]
    row = [Decimal("1.60"), {"price": Decimal("-0.01")}]
    found = both(registry, client, row, schema(("price", ["null", price]), ("after", after)))
    assert found == {"price": row[0], "after": row[1]}


@reported("ArroyoSystems/arroyo#862", "confluentinc/kafka-rest#1253")
def a_time_in_milliseconds_is_a_datetime(registry: FakeRegistry, client: Client) -> None:
    given = schema(("at", {"type": "long", "logicalType": "timestamp-millis"}))
    data = written(registry, [AT], given)
    assert read(registry, client, data, outputs={"at": "timestamp"}) == [AT]


@reported("fastavro/fastavro#81")
def a_number_is_not_taken_for_a_time(registry: FakeRegistry, client: Client) -> None:
    given = schema(("at", {"type": "long", "logicalType": "timestamp-millis"}))
    costs_its_row(registry, [1433691000000], given, "at: 1433691000000 is not a datetime")


@reported("confluentinc/schema-registry#522")
def a_logical_type_beside_its_type_counts_for_nothing(
    registry: FakeRegistry, client: Client
) -> None:
    given = schema(("at", "long"))
    given["fields"][0]["logicalType"] = "timestamp-millis"
    costs_its_row(registry, [AT], given, "is not a long")
    with pytest.raises(
        ComponentError, match="'at' is declared as timestamp, and the schema has lo"
    ):
        run(registry, [[AT]], {"at": "timestamp"}, **{"kafka.value.schema": given})


@reported("apache/flink#21942")
def a_record_of_another_name_is_written_by_the_newest_schema(
    registry: FakeRegistry, client: Client
) -> None:
    data = written(registry, ["x"], schema(("f1", "string"), name="OrderCreated"))
    before = dict(registry.subjects)
    latest = {"kafka.schema.use.latest": True}
    ended, ((_, value),) = run(registry, [["x"]], {"f1": "string"}, **latest)
    assert (ended, value, registry.subjects) == (Ended(), data, before)


@reported("apache/flink#25410")
def nothing_is_registered_where_that_is_not_wanted(registry: FakeRegistry, client: Client) -> None:
    settings = {"kafka.value.schema": schema(("f1", "string")), "kafka.schema.auto.register": False}
    with pytest.raises(ComponentError, match="register the schema, or set"):
        run(registry, [["x"]], {"f1": "string"}, **settings)
    assert registry.subjects == {}


# --- bytes that are none --------------------------------------------------------------------------


@reported("Apicurio/apicurio-registry#8891", "confluentinc/schema-registry#940")
def a_record_whose_schema_is_gone_holds_nothing_up(registry: FakeRegistry, client: Client) -> None:
    good = written(registry, ["x"], schema(("f1", "string")))
    said = left_out(registry, client, b"\0\0\0\3\xe7" + good[5:], good)
    assert "Schema not found" in said


@reported("apache/flink#21805", "danmalcolm/masstransit-kafka-demo#2")
def a_number_of_eight_bytes_is_not_read_as_another_schema(
    registry: FakeRegistry, client: Client
) -> None:
    good = written(registry, ["x"], schema(("f1", "string")))
    assert "not found" in left_out(registry, client, b"\0\0\0\0\0\0\0\0\1" + good[5:], good)
    assert "magic byte" in left_out(registry, client, b"0" + good[1:], good)


@reported("confluentinc/ksql#4140")
def a_head_that_comes_twice_is_not_read_as_a_value(registry: FakeRegistry, client: Client) -> None:
    good = written(registry, ["x"], schema(("f1", "string")))
    assert "extra bytes after its end" in left_out(registry, client, good[:5] + good, good)


@reported("Parsely/pykafka#645", "confluentinc/kafka-connect-hdfs#202")
def bytes_without_a_head_are_named_as_such(registry: FakeRegistry, client: Client) -> None:
    good = written(registry, ["x"], schema(("f1", "string")))
    assert "magic byte" in left_out(registry, client, b"\x1cPrincess", good)


# --- Protobuf -------------------------------------------------------------------------------------


def message(registry: FakeRegistry, value: str) -> tuple[bytes, dict[str, Any]]:
    """A record of a message, and its reader's config."""
    config = {
        "kafka.value.format": "protobuf", "kafka.value.message": message_of((("a", "string"),)),
    }  # fmt: skip
    _, ((_, data),) = run(registry, [[value]], {"a": "string"}, **config)
    return bytes(data), config


@reported("confluentinc/confluent-kafka-python#2271")
def a_negative_index_is_not_another_message(registry: FakeRegistry, client: Client) -> None:
    good, config = message(registry, "x")
    said = left_out(registry, client, good[:5] + b"\2\1" + good[6:], good, **config)
    assert "message index -1 out of range" in said


@reported("confluentinc/confluent-kafka-javascript#467", "konqi/schematic-kafka#347")
def a_message_without_its_indexes_is_left_out(registry: FakeRegistry, client: Client) -> None:
    good, config = message(registry, "x")
    left_out(registry, client, good[:5] + good[6:], good, **config)


@reported("confluentinc/confluent-kafka-dotnet#2505", "confluentinc/schema-registry#1467")
def a_message_inside_of_another_is_found_from_the_outside_in(
    registry: FakeRegistry, client: Client
) -> None:
    file = FileDescriptorProto(name="outer.proto", package="reports", syntax="proto3")
    file.message_type.add(name="First")
    outer = file.message_type.add(name="Outer")
    for name in ("One", "Two"):
        inner = outer.nested_type.add(name=name)
        inner.field.add(name="text", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.Add(file)
    two = GetMessageClass(pool.FindMessageTypeByName("reports.Outer.Two"))
    sys.modules["reports_outer"] = cast(ModuleType, SimpleNamespace(Two=two))
    known = registry_of({URL: registry.url}, "test", "protobuf")
    part = RegisteredPart(PROTOBUF_CODEC, known, "rows", "value", PartRows({"text": ""}, True))
    data = part.encoder("reports_outer.Two")({"text": "x"})
    assert data is not None
    assert data[5:8] == b"\4\2\2", "two indexes: 1, then 1"
    read = PROTOBUF_CODEC.reader(known, "value", "reports_outer.Two", {})
    assert read(data, record(data)) == {"text": "x"}


@pytest.mark.parametrize(
    "report", dict.fromkeys(each for _, each in REPORTS), ids=lambda each: each.__name__
)
def test_what_was_reported_of_registries_elsewhere_holds_here(
    report: Report, registry: FakeRegistry, client: Client
) -> None:
    report(registry, client)


def test_each_report_is_tried_once() -> None:
    names = [name for name, _ in REPORTS]
    assert len(names) == len(set(names))
