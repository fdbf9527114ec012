"""Records in JSON by the JSON Schemas of a registry: the client's own serializers, a registry in
memory."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import ComponentError
from tests.connectors.fake_registry import FakeRegistry
from tests.connectors.runs import Ended
from tests.unit.heron_connectors.registry_support import Client, record, run, spout

MODES = ("ATLEAST_ONCE", "EFFECTIVELY_ONCE")
JSON: dict[str, Any] = {"kafka__value__format": "jsonschema"}
TYPES = {
    "id": "bigint", "name": "string", "price": "decimal(6,2)", "at": "timestamp", "day": "date",
    "tags": "array<string>", "inner": "struct<a: int>", "counts": "map<string, bigint>",
}  # fmt: skip
ROW = [
    2**62, "größe", Decimal("1.10"), datetime(2026, 1, 2, 3, tzinfo=UTC), date(2026, 1, 2),
    ["a", None], {"a": 1}, {"x": 7},
]  # fmt: skip
V1 = {
    "title": "Row", "type": "object", "required": ["id"],
    "properties": {"id": {"type": "integer", "minimum": 0}, "inner": {"type": "object",
                   "properties": {"a": {"type": "integer"}}}},
}  # fmt: skip


def untyped(*fields: str) -> dict[str, None]:
    return dict.fromkeys(fields)


def written(registry: FakeRegistry, row: Any, fields: Any, **more: Any) -> list[Any]:
    """The records (key, value) of one row, without an error."""
    ended, records = run(registry, [row], fields, **{**JSON, **more})
    assert ended == Ended()
    return records


@pytest.mark.parametrize("mode", MODES)
def test_fields_of_declared_types_are_an_object_and_come_back(
    registry: FakeRegistry, client: Client, mode: str
) -> None:
    ((_, value),) = written(registry, ROW, TYPES)
    assert value[:5] == b"\0\0\0\0\1"
    assert json.loads(value[5:])["at"] == "2026-01-02T03:00:00+00:00"
    (schema,) = registry.schemas
    assert schema["schemaType"] == "JSON"
    assert json.loads(schema["schema"])["title"] == "rows"
    client.records = [record(value), record(None, offset=1)]
    with spout(registry, TYPES, topology__reliability__mode=mode, **JSON) as tester:
        tester.next_tuple()
        assert [each.values for each in tester.emitted] == [ROW]
    client.records = [record(value), record(None, offset=1)]
    with spout(registry, ("value", "offset"), **JSON) as tester:
        tester.next_tuple(calls=2)
        first, second = (each.values for each in tester.emitted)
        assert first[0]["price"] == "1.10"
        assert second == [None, 1]


def test_no_value_is_one_of_each_declared_type(registry: FakeRegistry) -> None:
    ((_, value),) = written(registry, [None] * len(TYPES), TYPES)
    assert json.loads(value[5:]) == dict.fromkeys(TYPES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([-1, {}], "id: -1 is less than the minimum of 0"),
        (["x", {}], "id: 'x' is not of type 'integer'"),
        ([None, {}], "id: None is not of type 'integer'"),
        ([1, None], "inner: None is not of type 'object'"),
        ([1, {"a": 1.5}], "inner.a: 1.5 is not of type 'integer'"),
        ([1, float("nan")], "inner"),
        ([1, b"x"], "inner"),
    ],
)
def test_a_value_that_the_schema_does_not_hold_costs_its_row(
    registry: FakeRegistry, row: Any, said: str, mode: str
) -> None:
    ended, records = run(
        registry, [[1, {}], row, [2, {"a": 2}]], untyped("id", "inner"),
        kafka__value__schema=V1, topology__reliability__mode=mode, **JSON,
    )  # fmt: skip
    assert (ended.failed, len(records)) == (1, 2)
    assert any(said in each for each in ended.errors), ended.errors


def test_one_value_of_a_tuple_may_be_the_record(registry: FakeRegistry, tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text(json.dumps(V1))
    given = {"kafka__value__schema": str(path), "kafka__value__position": 1}
    ((_, value),) = written(registry, ["k", {"id": 7}], untyped("key", "row"), **given)
    assert json.loads(value[5:]) == {"id": 7}
    assert written(registry, ["k", None], untyped("key", "row"), **given) == [(None, None)]
    ended, records = run(registry, [["k", {"id": "x"}]], untyped("key", "row"), **{**JSON, **given})
    assert (ended.failed, records) == (1, [])
    assert "row: id: 'x' is not of type 'integer'" in ended.errors[0]


@pytest.mark.parametrize(
    ("fields", "more", "text"),
    [
        (untyped("id", "more"), {"kafka__value__schema": {**V1, "additionalProperties": False}},
         "value of topic rows: the schema has no property 'more', but id, inner: change"),
        (untyped("inner"), {"kafka__value__schema": V1}, "requires 'id', which is not a field"),
        (untyped("id"), {"kafka__value__schema": {"type": "array"}}, "of array, and not of an obj"),
        (untyped("id"), {"kafka__value__schema": {"properties": {"id": {"type": "wrong"}}}},
         "not one of JSON Schema"),
        (untyped("id"), {"kafka__value__schema": "{'id'"}, "kafka.value.schema is not JSON"),
        (untyped("id"), {}, "field 'id' has no declared type"),
        ({"id": "binary"}, {}, "JSON has no binary: declare another type"),
        ({"id": "map<int, int>"}, {}, "keys of JSON maps must be texts"),
        (untyped("id"), {"kafka__schema__use__latest": True}, "Subject not found"),
        (untyped("id"), {"kafka__value__schema": V1, "kafka__schema__auto__register": False},
         "Subject not found"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_any_record(
    registry: FakeRegistry, fields: Any, more: dict[str, Any], text: str
) -> None:
    with pytest.raises(ComponentError, match=text):
        run(registry, [[1] * len(fields)], fields, **JSON, **more)


def test_the_newest_schema_is_written_by(registry: FakeRegistry) -> None:
    written(registry, [1], untyped("id"), kafka__value__schema=V1)
    latest = {"kafka__schema__use__latest": True}
    ((_, value),) = written(registry, [7], untyped("id"), **latest)
    assert value == b'\0\0\0\0\1{"id": 7}'
    ended, records = run(registry, [[-7]], untyped("id"), **JSON, **latest)
    assert (ended.failed, records) == (1, [])
    with pytest.raises(
        ComponentError, match=r"is another one than kafka\.value\.schema says: leave"
    ):
        run(registry, [[1]], untyped("id"), kafka__value__schema={**V1, "x": 1}, **JSON, **latest)
    registry.subjects.clear()
    registry.answer("POST", ["subjects", "rows-value", "versions"], {"schema": '"long"'})
    with pytest.raises(
        ComponentError, match="rows-value of topic rows is one of AVRO, not of JSON: write in"
    ):
        run(registry, [[1]], untyped("id"), **JSON, **latest)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'\0\0\0\0\1{"id": "x"}', "'x' is not of type 'integer'"),
        (b'\0\0\0\0\1{"id": 1', "JSONDecodeError"),
        (b"\0\0\0\0\1\xff", "UnicodeDecodeError"),
        (b'{"id": 1}', "left out"),
        (b'\0\0\0\0\x09{"id": 1}', "left out"),
        (b'\0\0\0\0\1{"inner": {}}', "'id' is a required property"),
    ],
)
def test_a_record_that_is_not_of_its_schema_is_left_out_with_the_reason(
    registry: FakeRegistry, client: Client, data: bytes, said: str
) -> None:
    written(registry, [1], untyped("id"), kafka__value__schema=V1)
    client.records = [record(data), record(b'\0\0\0\0\1{"id": 3}', offset=1)]
    with spout(registry, {"id": "bigint"}, **JSON) as tester:
        with pytest.raises(ComponentError, match="left out") as told:
            tester.next_tuple()
        assert said in str(told.value)
        tester.next_tuple()
        assert [each.values for each in tester.emitted] == [[3]]


def test_a_reader_s_schema_holds_for_each_record(registry: FakeRegistry, client: Client) -> None:
    ((_, value),) = written(registry, [1], untyped("id"), kafka__value__schema=V1)
    narrow = {"type": "object", "properties": {"id": {"const": 2}}}
    client.records = [record(value)]
    with (
        spout(registry, {"id": "bigint"}, kafka__value__schema=narrow, **JSON) as tester,
        pytest.raises(ComponentError, match=r"left out.*2 was expected"),
    ):
        tester.next_tuple()


def test_numbers_of_any_length_stay_what_they_are(registry: FakeRegistry, client: Client) -> None:
    """The client's own reader rounds those beyond 64 bits."""
    ((_, value),) = written(registry, [10**30], untyped("id"), kafka__value__schema=V1)
    client.records = [record(value)]
    with spout(registry, ("id",), **JSON) as tester:
        tester.next_tuple()
        assert [each.values for each in tester.emitted] == [[10**30]]


def test_a_text_that_is_not_of_its_declared_type_costs_its_record(
    registry: FakeRegistry, client: Client
) -> None:
    dated = {"type": "object", "properties": {"day": {"type": "string"}}}
    ((_, value),) = written(registry, ["soon"], untyped("day"), kafka__value__schema=dated)
    client.records = [record(value)]
    with (
        spout(registry, {"day": "date"}, **JSON) as tester,
        pytest.raises(ComponentError, match=r"left out.*day: 'soon' is not of type date"),
    ):
        tester.next_tuple()


def test_a_schema_is_not_completed_from_the_web(registry: FakeRegistry) -> None:
    far = {"type": "object", "properties": {"id": {"$ref": "http://127.0.0.1:9/id.json"}}}
    ended, records = run(registry, [[1]], untyped("id"), kafka__value__schema=far, **JSON)
    assert (ended.failed, records) == (1, [])
    assert any("the schema cannot be applied" in each for each in ended.errors), ended.errors
