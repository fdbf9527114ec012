"""The tried sources: independent writers of each store, and the source's reader."""

import atexit
import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import confluent_kafka
import psycopg
import pyarrow as arrow
from deltalake import write_deltalake
from psycopg.types.json import Jsonb
from pyarrow import parquet

from heron_connectors.files.spout import FileSpout
from heron_connectors.kafka import schema_registry
from heron_connectors.kafka.formats import CODECS
from heron_connectors.kafka.registered_parts import PartRows, RegisteredPart
from heron_connectors.kafka.spout import KafkaSpout
from heron_connectors.postgres.changes_spout import PostgresChangesSpout
from heron_connectors.postgres.spout import PostgresSpout
from heron_connectors.spark.folder import SparkSpout
from heron_connectors.spark.segments import SegmentLog
from heron_connectors.tables.source import TableSpout
from heron_core.errors import ComponentError
from heron_core.wire.columns import type_called
from heronpy_compat import Spout
from tests.connectors.fake_registry import FakeRegistry, served
from tests.connectors.messages import NoSuchField, message_of
from tests.connectors.samples import SAMPLES, Form
from tests.connectors.sinks import as_arrow
from tests.postgres_support import server

KAFKA_SECS = 30.0
_numbers = count()
Values = Sequence[Any]


class NotThere(Exception):
    """The value is outside of the store's types."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source of rows whose one field is a value."""

    name: str
    kind: type[Spout]
    filled: Callable[[Path, Values, str | None], Mapping[str, Any]]
    """Writes values, with or without a declared type, into an empty folder; returns the source's
    config. NotThere if the store cannot hold a value."""
    outputs: tuple[str, ...] = ("value",)
    form: Form = lambda value: value
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Property -> reason for its absence."""
    ends: bool = True
    """Whether the source finishes by itself at the end of its data."""


def _lines(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    path = folder / "lines.txt"
    if not all(isinstance(each, str) and not set(each) & set("\r\n") for each in values):
        raise NotThere
    try:
        path.write_bytes(b"".join(each.encode() + b"\n" for each in values))
    except UnicodeEncodeError:
        raise NotThere from None
    return {"library.file.path": str(path)}


def _table(values: Values, declared: str | None) -> Any:
    try:
        kind = None if declared is None else type_called(declared)
        return arrow.table({"value": arrow.array(values, kind)})
    except (arrow.ArrowException, TypeError, ValueError, OverflowError):
        raise NotThere from None


def _parquet(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    try:
        parquet.write_table(_table(values, declared), folder / "rows.parquet", row_group_size=2)
    except arrow.ArrowException:
        raise NotThere from None
    return {"table.path": str(folder), "table.columns": ["value"]}


def _delta(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    try:
        write_deltalake(str(folder), _table(values, declared))
    except Exception:  # deltalake has a class of its own for each of its reasons
        raise NotThere from None
    return {"table.path": str(folder), "table.columns": ["value"]}


def _json(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    try:
        lines = [json.dumps({"value": each}, allow_nan=False) for each in values]
    except (TypeError, ValueError):
        raise NotThere from None
    (folder / "rows.jsonl").write_text("".join(f"{each}\n" for each in lines))
    return {"table.path": str(folder), "table.columns": ["value"]}


def _csv(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    if not all(each is None or isinstance(each, (str, int, float)) for each in values):
        raise NotThere
    try:
        with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerows([["at", "value"], *([at, each] for at, each in enumerate(values))])
    except UnicodeEncodeError:
        raise NotThere from None
    return {"table.path": str(folder), "table.columns": ["value"]}


def _segments(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    try:
        SegmentLog(str(folder), "query").append(["value"], [[each] for each in values], "1")
    except UnicodeEncodeError:
        raise NotThere from None
    return {"spark.folder": str(folder)}


@cache
def _cluster() -> tuple[Any, str]:
    """librdkafka's own mock of a cluster, and its address."""
    producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
    brokers = producer.list_topics("first", timeout=KAFKA_SECS).brokers.values()
    return producer, ",".join(f"{each.host}:{each.port}" for each in brokers)


def _records(records: Sequence[bytes | None], kind: str) -> Mapping[str, Any]:
    producer, servers = _cluster()
    topic = f"rows-{next(_numbers)}"
    producer.list_topics(topic, timeout=KAFKA_SECS)
    for each in records:
        producer.produce(topic, each, partition=0)
    assert producer.flush(KAFKA_SECS) == 0
    return {
        "kafka.bootstrap.servers": servers,
        "kafka.topics": topic,
        "kafka.value.format": kind,
        "kafka.finish.at.end": True,
        "kafka.consumer": {"fetch.wait.max.ms": 10},
    }


def _json_records(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    try:
        return _records([json.dumps(each, allow_nan=False).encode() for each in values], "json")
    except (TypeError, ValueError):
        raise NotThere from None


def _text_records(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    if not all(each is None or isinstance(each, str) for each in values):
        raise NotThere
    try:
        return _records([None if each is None else each.encode() for each in values], "text")
    except UnicodeEncodeError:
        raise NotThere from None


def _byte_records(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    if not all(each is None or isinstance(each, bytes) for each in values):
        raise NotThere
    return _records(values, "bytes")


@cache
def _registry() -> FakeRegistry:
    """One for all, to the end of the process."""
    serving = served()
    atexit.register(serving.__exit__, None, None, None)
    return serving.__enter__()


def _type_of(values: Values) -> str:
    """The declared type of a column; NotThere."""
    known = [each.declared for each in SAMPLES if any(each.value is one for one in values)]
    kind = known[0] if known else "string"
    if kind is None:
        raise NotThere
    return kind


def _registered(form: str, values: Values, kind: str, said: str | None) -> Mapping[str, Any]:
    """Each a record of one nullable field, by a schema in a registry."""
    config = {schema_registry.URL: _registry().url}
    registry = schema_registry.registry_of(config, "test", form)
    topic = f"{form}-{next(_numbers)}"
    part = RegisteredPart(CODECS[form], registry, topic, "value", PartRows({"it": kind}, True))
    encode = part.encoder(said)
    return {**_records([encode({"it": each}) for each in values], form), **config}


def _avro_records(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    """A topic in Avro has a schema, whatever a stream declares."""
    return _registered("avro", values, _type_of(values), None)


def _json_schema_records(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    """Each an object of one nullable property, by the schema of the declared type."""
    try:
        return _registered("jsonschema", values, _type_of(values), None)
    except (ComponentError, ValueError):
        raise NotThere from None


def _messages(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    """Each a message of one field."""
    kind = _type_of(values)
    try:
        name = message_of((("it", kind),))
        made = _registered("protobuf", values, kind, name)
    except (NoSuchField, ValueError):
        raise NotThere from None
    return {**made, "kafka.value.message": name}


POSTGRES = "PostgresSpout", "PostgresChangesSpout"
"""They are tried where Postgres is installed."""
_COLUMNS: Mapping[type, str] = {
    bool: "boolean",
    float: "double precision",
    str: "text",
    bytes: "bytea",
    date: "date",
    time: "time",
    timedelta: "interval",
    Decimal: "numeric",
    UUID: "uuid",
    dict: "jsonb",
}


def _column_of(value: Any) -> str:
    """The column that holds a value; NotThere."""
    if isinstance(value, datetime):
        return "timestamp" if value.tzinfo is None else "timestamptz"
    if isinstance(value, int) and not isinstance(value, bool):
        return "bigint" if value < 2**63 else "numeric"
    if isinstance(value, list):
        return "bigint[]" if all(isinstance(each, int | None) for each in value) else "jsonb"
    if type(value) in _COLUMNS:
        return _COLUMNS[type(value)]
    raise NotThere


def _postgres_rows(values: Values) -> tuple[str, Callable[[psycopg.Connection[Any]], None]]:
    """The name of an empty table, and its writer."""
    kind = next((_column_of(each) for each in values if each is not None), "bigint")
    name = f"source{next(_numbers)}"

    def fill(connection: psycopg.Connection[Any]) -> None:
        put = f"INSERT INTO {name} (value) VALUES (%s)"
        rows = [[Jsonb(each) if kind == "jsonb" else each] for each in values]
        try:
            connection.cursor().executemany(put, rows)
        except (psycopg.Error, UnicodeEncodeError):
            raise NotThere from None

    with server().connection() as connection:
        connection.execute(f"CREATE TABLE {name} (id bigserial PRIMARY KEY, value {kind})")
    return name, fill


def _postgres_table(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    name, fill = _postgres_rows(values)
    with server().connection() as connection:
        fill(connection)
    return {"postgres.connect": server().arguments, "postgres.table": name}


def _postgres_changes(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    name, fill = _postgres_rows(values)
    with server().connection() as connection:
        connection.execute("SET synchronous_commit TO on")
        connection.execute(f"CREATE PUBLICATION {name} FOR TABLE {name}")
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
        fill(connection)
    return {
        "postgres.connect": server().arguments,
        "postgres.slot": name,
        "postgres.publication": name,
        "postgres.poll.secs": 0.01,
    }


class ValuesOfChanges(PostgresChangesSpout):
    """Emits the value of each new row."""

    def emit(self, tup: Sequence[Any], *positional: Any, **more: Any) -> Any:
        (after,) = tup
        return super().emit([after["value"]], *positional, **more)


def as_postgres(value: Any) -> Any:
    """Beyond 64 bits a number is a numeric."""
    is_large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return Decimal(value) if is_large else value


def as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def as_json_schema(value: Any) -> Any:
    """Dates, times and decimals are texts unless the reading fields declare types."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, (date, Decimal)) else as_json(value)


def as_read_from_csv(value: Any) -> Any:
    """A number with a loss of digits stays a text; a file has an empty text for None."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and value >= 10**18:
        return str(value)
    return "" if value is None else value


SOURCES = (
    SourceEntry("FileSpout", FileSpout, _lines, ("line",)),
    SourceEntry("TableSpout (parquet)", TableSpout, _parquet, form=as_arrow),
    SourceEntry("TableSpout (delta)", TableSpout, _delta, form=as_arrow),
    SourceEntry("TableSpout (json)", TableSpout, _json, form=as_arrow),
    SourceEntry("TableSpout (csv)", TableSpout, _csv, form=as_read_from_csv),
    SourceEntry("KafkaSpout (text)", KafkaSpout, _text_records),
    SourceEntry("KafkaSpout (json)", KafkaSpout, _json_records, form=as_json),
    SourceEntry("KafkaSpout (bytes)", KafkaSpout, _byte_records),
    SourceEntry("KafkaSpout (avro)", KafkaSpout, _avro_records, ("it",)),
    SourceEntry("KafkaSpout (protobuf)", KafkaSpout, _messages, ("it",)),
    SourceEntry(
        "KafkaSpout (jsonschema)", KafkaSpout, _json_schema_records, ("it",), form=as_json_schema
    ),
    SourceEntry("PostgresSpout", PostgresSpout, _postgres_table, form=as_postgres),
    SourceEntry(
        "PostgresChangesSpout",
        ValuesOfChanges,
        _postgres_changes,
        ("after",),
        form=as_postgres,
        ends=False,
    ),
    SourceEntry("SparkSpout", SparkSpout, _segments, ends=False),
)
