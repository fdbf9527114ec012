"""Records in Avro by a schema registry: the client's own serializers, a registry in memory."""

import base64
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from heron_core.errors import ComponentError
from tests.connectors.fake_registry import FakeRegistry
from tests.connectors.runs import Ended
from tests.unit.heron_connectors.registry_support import Client, record, run, spout

MODES = ("ATLEAST_ONCE", "EFFECTIVELY_ONCE")
TYPES = {"id": "bigint", "name": "string", "price": "decimal(6,2)", "at": "timestamp"}
ROW = [1, "größe", Decimal("1.10"), datetime(2026, 1, 2, 3, tzinfo=UTC)]
READ = {"id": 1, "name": "größe", "price": Decimal("1.10"), "at": ROW[3]}
DEADLINE_CALLS = 200_000
V1 = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}
V2 = {**V1, "fields": [*V1["fields"], {"name": "name", "type": "string", "default": "none"}]}
OTHER = {**V1, "fields": [*V1["fields"], {"name": "must", "type": "string"}]}


def untyped(*fields: str) -> dict[str, None]:
    return dict.fromkeys(fields)


def written(registry: FakeRegistry, row: Any, fields: Any = TYPES, **more: Any) -> list[Any]:
    """The records (key, value) of one row, without an error."""
    ended, records = run(registry, [row], fields, **more)
    assert ended == Ended()
    return records


@pytest.mark.parametrize("mode", MODES)
def test_fields_of_declared_types_are_a_record_and_come_back(
    registry: FakeRegistry, client: Client, mode: str
) -> None:
    ((key, value),) = written(
        registry, ROW, topology__reliability__mode="ATLEAST_ONCE", kafka__key__format="avro",
        kafka__key__position=0,
    )  # fmt: skip
    assert value[:5] == b"\0\0\0\0\2"
    assert registry.subjects.keys() == {"rows-key", "rows-value"}
    client.records = [record(value, key), record(None, key, 1)]
    with spout(
        registry, ("key", "value", "offset"), kafka__key__format="avro",
        topology__reliability__mode=mode,
    ) as tester:  # fmt: skip
        tester.next_tuple(calls=3)
        assert [each.values for each in tester.emitted] == [[1, READ, 0], [1, None, 1]]
    client.records = [record(value)]
    outputs = {"name": "string", "offset": "int", "price": "decimal(6,2)"}
    with spout(registry, outputs) as tester:
        tester.next_tuple(calls=2)
        assert [each.values for each in tester.emitted] == [["größe", 0, Decimal("1.10")]]


def test_one_value_of_a_tuple_may_be_the_record(registry: FakeRegistry) -> None:
    given = {"kafka__value__schema": V2, "kafka__value__position": 1}
    ((_, value),) = written(registry, ["k", {"id": 7}], untyped("key", "row"), **given)
    assert value[5:] == b"\x0e\x08none"
    assert written(registry, ["k", None], untyped("key", "row"), **given) == [(None, None)], (
        "a tombstone"
    )
    ended, records = run(registry, [["k", {"id": "x"}]], untyped("key", "row"), **given)
    assert (ended.failed, records) == (1, [])
    assert "row: .id: 'x' is not a long" in ended.errors[0]


@pytest.mark.parametrize("mode", MODES)
def test_a_value_that_the_schema_does_not_hold_costs_its_row(
    registry: FakeRegistry, mode: str
) -> None:
    narrow = {**V1, "fields": [{"name": "id", "type": "int"}]}
    ended, records = run(
        registry, [[2**31], [None], [2**31 - 1]], untyped("id"),
        kafka__value__schema=narrow, topology__reliability__mode=mode,
    )  # fmt: skip
    assert (ended.failed, len(records)) == (2, 1)
    assert any("id: None is not an int of 32 bits" in each for each in ended.errors)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"kafka__value__schema": OTHER},
         "rows: the schema's field 'must' has no default, and no tuple has it"),
        ({"kafka__value__schema": {**V1, "fields": [{"name": "id", "type": "int"}]}},
         "'id' is declared as bigint, and the schema has int"),
        ({"kafka__value__schema": {**V1, "fields": []}}, "the schema has no field 'id'"),
        ({"kafka__value__schema": "string"}, "kafka.value.schema: string: [Errno 2] No such file"),
        ({"kafka__value__schema": '"string"'}, "its schema is string, not a record"),
        ({"kafka__value__schema": '{"type": "x"}'}, "not a valid Avro schema"),
        ({"kafka__schema__subject__strategy": "id"}, "is one of topic, record, topic-record"),
        ({"kafka__schema__auto__register": "no"}, "kafka.schema.auto.register is true or false"),
        ({"kafka__schema__auto__register": False}, "subject rows-value of topic rows: Subject not"),
        ({"kafka__schema__use__latest": True}, "subject rows-value of topic rows: Subject not"),
        ({"kafka__schema__registry": {"x": 1}}, "kafka.schema.registry: Unrecognized properties"),
        ({"kafka__schema__registry__url": "registry:1"}, "Invalid url registry:1"),
        ({"kafka__value__format": "xml"},
         "kafka.value.format is one of avro, protobuf, jsonschema, not 'xml'"),
        ({"kafka__key__format": "avro"}, "kafka.key.format needs kafka.key.position"),
        ({"kafka__key__format": "avro", "kafka__key__position": 3}, "is 3, and a tuple has id"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_line_before_any_record(
    registry: FakeRegistry, more: dict[str, Any], text: str
) -> None:
    assert text in refused(registry, {"id": "bigint"}, **more)


def refused(registry: FakeRegistry, fields: Any, **more: Any) -> str:
    """Why the sink does not begin, in a line."""
    with pytest.raises(ComponentError) as caught:
        run(registry, [], fields, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_incompatible_schema_is_refused_with_subject_topic_and_cure(
    registry: FakeRegistry,
) -> None:
    written(registry, [1], {"id": "bigint"}, kafka__value__schema=V1)
    types = {"id": "bigint", "must": "string"}
    said = refused(registry, types, kafka__value__schema=OTHER)
    assert "subject rows-value of topic rows: the schema is not compatible" in said
    assert "give added fields a default" in said


def test_a_field_without_a_type_needs_a_schema(registry: FakeRegistry) -> None:
    assert "field 'a' has no declared type: declare it, give" in refused(registry, untyped("a"))


def test_the_newest_schema_of_the_subject_is_written_by(registry: FakeRegistry) -> None:
    written(registry, [1], {"id": "bigint"}, kafka__value__schema=V1)
    written(registry, [1], {"id": "bigint"}, kafka__value__schema=V2)
    before = dict(registry.subjects)
    ((_, value),) = written(registry, [2], {"id": "bigint"}, kafka__schema__use__latest=True)
    assert value == b"\0\0\0\0\2\x04\x08none"
    assert registry.subjects == before


def test_another_schema_than_the_newest_is_not_what_values_are_checked_by(
    registry: FakeRegistry,
) -> None:
    """The client would write them by the newest: 1.5 as the int 1."""
    written(registry, [1], untyped("id"), kafka__value__schema=V1)
    latest = {"kafka__schema__use__latest": True}
    wider = {**V1, "fields": [{"name": "id", "type": "double"}]}
    said = refused(registry, untyped("id"), kafka__value__schema=wider, **latest)
    assert "subject rows-value of topic rows is another one than kafka.value.schema says" in said
    ((_, value),) = written(registry, [2], untyped("id"), kafka__value__schema=V1, **latest)
    assert value == b"\0\0\0\0\1\x04"


def test_a_name_and_a_password_are_sent_and_never_told(registry: FakeRegistry) -> None:
    registry.authorization = "Basic " + base64.b64encode(b"me:secret").decode()
    login = {"basic.auth.user.info": "me:secret"}
    assert written(registry, [1], {"id": "int"}, kafka__schema__registry=login)
    url = registry.url.replace("http://", "http://me:wrong@")
    said = refused(registry, {"id": "int"}, kafka__schema__registry__url=url)
    assert "answers 401: Unauthorized" in said
    assert "wrong" not in said


def test_records_of_other_versions_are_read_by_the_schema_that_is_said(
    registry: FakeRegistry, client: Client
) -> None:
    """A field that they have not got has its default; one that the reader has not got is dropped.
    Without a schema each is what it was written as."""
    ((_, old),) = written(registry, [1], untyped("id"), kafka__value__schema=V1)
    ((_, new),) = written(registry, [2, "x"], untyped("id", "name"), kafka__value__schema=V2)
    for schema, expected in (
        (V2, [{"id": 1, "name": "none"}, {"id": 2, "name": "x"}]),
        (V1, [{"id": 1}, {"id": 2}]),
        (None, [{"id": 1}, {"id": 2, "name": "x"}]),
    ):
        client.records = [record(old), record(new, offset=1)]
        more = {} if schema is None else {"kafka__value__schema": schema}
        with spout(registry, **more) as tester:
            tester.next_tuple(calls=2)
            assert [each.values[0] for each in tester.emitted] == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: b"\7" + data[1:], "Invalid magic byte"),
        (lambda data: b"\1" + data[1:] * 3, "refuses|not found|405"),
        (lambda data: data[:4], "framing of length"),
        (lambda data: data[:-3], "EOFError"),
        (lambda data: data + b"x", "extra bytes after its end"),
        (lambda data: b"\0\0\0\1\1" + data[5:], "Schema not found"),
        (lambda data: data[:5] + b"\x02\x7f", "Error"),
    ],
)
def test_a_record_that_is_none_is_left_out_and_the_next_one_is_read(
    registry: FakeRegistry, client: Client, change: Any, reason: str
) -> None:
    ((_, value),) = written(registry, [1, "xyz"], untyped("id", "name"), kafka__value__schema=V2)
    client.records = [record(change(value)), record(value, offset=1)]
    with spout(registry, kafka__commit__secs=0) as tester:
        with pytest.raises(ComponentError, match=rf"rows\[0\]@0 is left out: .*({reason})"):
            tester.next_tuple()
        tester.next_tuple()
        (emitted,) = tester.emitted
        tester.ack(emitted.tup_id)
    assert client.offset == 2


def test_a_value_that_is_not_of_the_declared_type_is_left_out(
    registry: FakeRegistry, client: Client
) -> None:
    ((_, value),) = written(registry, [2**40], untyped("id"), kafka__value__schema=V1)
    client.records = [record(value)]
    with spout(registry, {"id": "int"}, kafka__commit__secs=0) as tester:
        with pytest.raises(ComponentError, match=r"@0 is left out: .*'id' is declared as int"):
            tester.next_tuple()
        tester.next_tuple()
    assert client.offset == 1
    with pytest.raises(ComponentError, match="'id' is declared as int, but the schema has long"):
        spout(registry, {"id": "int"}, kafka__value__schema=V1)
    with pytest.raises(ComponentError, match="the schema has no field 'more', but id"):
        spout(registry, ["more"], kafka__value__schema=V1)


def test_records_wait_while_the_registry_is_away(
    registry: FakeRegistry, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((_, value),) = written(registry, [1], untyped("id"), kafka__value__schema=V1)
    now = 1000.0
    monkeypatch.setattr("heron_connectors.kafka.spout.time.monotonic", lambda: now)
    registry.is_away = True
    client.records = [record(value, offset=each) for each in range(3)]
    with spout(registry) as tester:
        for pause in (1.0, 2.0, 4.0):
            before = registry.asked
            tester.next_tuple(calls=5)
            assert registry.asked == before + 1, "once a pause"
            assert tester.emitted == []
            now += pause
        registry.is_away = False
        tester.next_tuple(calls=4)
        assert [each.tup_id[2] for each in tester.emitted] == [0, 1, 2]
        assert tester.errors == []
