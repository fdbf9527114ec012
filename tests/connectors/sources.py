"""The sources that are tried: how others put rows into each one's store, and how it reads them."""

import atexit
import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import confluent_kafka
import pyarrow as arrow
from deltalake import write_deltalake
from pyarrow import parquet

from heron_connectors.files.spout import FileSpout
from heron_connectors.kafka import schema_registry
from heron_connectors.kafka.avro_records import AvroPart
from heron_connectors.kafka.spout import KafkaSpout
from heron_connectors.spark.folder import SparkSpout
from heron_connectors.spark.segments import SegmentLog
from heron_connectors.tables.source import TableSpout
from heron_core.wire.columns import type_called
from heronpy_compat import Spout
from tests.connectors.fake_registry import FakeRegistry, served
from tests.connectors.samples import SAMPLES, Form
from tests.connectors.sinks import as_arrow

KAFKA_SECS = 30.0
_numbers = count()
Values = Sequence[Any]


class NotThere(Exception):
    """The store has no such value."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source of rows whose one field is a value."""

    name: str
    kind: type[Spout]
    filled: Callable[[Path, Values, str | None], Mapping[str, Any]]
    """Lets others write values, of a declared type or of none, into an empty folder; the source's
    config. NotThere if the store cannot hold one of them."""
    outputs: tuple[str, ...] = ("value",)
    form: Form = lambda value: value
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Property -> why it has it not."""
    ends: bool = True
    """Whether it finishes by itself at the end of what is there."""


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


def _avro_records(folder: Path, values: Values, declared: str | None) -> Mapping[str, Any]:
    """Each a record of one nullable field: a topic in Avro has a schema, whatever a stream
    declares."""
    known = [each.declared for each in SAMPLES if any(each.value is one for one in values)]
    kind = known[0] if known else "string"
    if kind is None:
        raise NotThere
    config = {schema_registry.URL: _registry().url}
    registry = schema_registry.registry_of(config, "test", "avro")
    part = AvroPart(registry, f"avro-{next(_numbers)}", "value", {"it": kind}, True)
    encode = part.encoder(None)
    return {**_records([encode({"it": each}) for each in values], "avro"), **config}


def as_json(value: Any) -> Any:
    """It has no tuples."""
    return list(value) if isinstance(value, tuple) else value


def as_read_from_csv(value: Any) -> Any:
    """What could be a number only with a loss is a text; a file has an empty text for none."""
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
    SourceEntry("SparkSpout", SparkSpout, _segments, ends=False),
)
