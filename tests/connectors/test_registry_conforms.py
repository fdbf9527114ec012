"""KafkaSink with a schema registry keeps each declared type, natively and on Spark, and is exact
there through kills; the trials are the usual ones of sinks. A field of Avro or Protobuf always has
a type, so values without a type are not tried."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_connectors.kafka.formats import FieldReader
from heron_connectors.kafka.schema_registry import URL
from heron_connectors.kafka.sink import KafkaSink
from heron_core import config as keys
from tests.connectors import sink_trials
from tests.connectors.fake_kafka import FakeBroker, client_in_memory
from tests.connectors.fake_registry import FakeRegistry, served
from tests.connectors.messages import message_of
from tests.connectors.runs import SPARK
from tests.connectors.samples import NAMED, SAMPLES, Sample
from tests.connectors.sinks import Row, SinkEntry, Store

pytestmark = [
    # What is killed closes nothing.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
ENGINES = (keys.EFFECTIVELY_ONCE, SPARK)
GIVEN = {
    "type": "record",
    "name": "Row",
    "fields": [{"name": "id", "type": "long"}, {"name": "value", "type": ["null", "string"]}],
}


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability of the disk is out of scope here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with client_in_memory(), served() as made:
        yield made


Made = Callable[[FakeRegistry, str], SinkEntry]
"""(registry, the declared type of the values) -> the sink in a format."""


def avro(registry: FakeRegistry, declared: str = "", **more: Any) -> SinkEntry:
    """Without a schema, the declared types give one."""
    return entry(registry, "avro", **more)


def protobuf(registry: FakeRegistry, declared: str) -> SinkEntry:
    """The class has an id and a typed value."""
    name = message_of((("id", "bigint"), ("value", declared)))
    return entry(registry, "protobuf", **{"kafka.value.message": name})


def entry(registry: FakeRegistry, kind: str, **more: Any) -> SinkEntry:
    """The sink in a format; its reader takes each record by its writer's schema."""

    def opened(folder: Path, fields: tuple[str, ...]) -> Store:
        broker = FakeBroker.installed()
        settings = {URL: registry.url, "kafka.value.format": kind, **more}
        reader = FieldReader(("value",), settings, "reader")

        def rows() -> list[Row]:
            return [reader.values(record(value))[0] for _, value in broker.records]

        config = {"kafka.bootstrap.servers": "fake:9092", "kafka.topic": "rows"}
        return Store({**config, **settings}, rows)

    return SinkEntry(f"KafkaSink ({kind})", KafkaSink, opened, each_line=False)


def record(value: bytes | None) -> Any:
    """As the client hands it over."""
    return SimpleNamespace(topic=lambda: "rows", headers=lambda: None, value=lambda: value)


HELD_TYPES = [each for each in SAMPLES if each.declared]
OF_MESSAGES = [
    each
    for each in HELD_TYPES
    # Lists and maps of messages are never without a value, and their times have a zone.
    if not str(each.declared).startswith(("array", "map", "timestamp_ntz"))
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("made", "samples"), [(avro, HELD_TYPES), (protobuf, OF_MESSAGES)])
def test_each_declared_type_comes_back(
    registry: FakeRegistry, made: Made, samples: list[Sample], engine: str, tmp_path: Path
) -> None:
    for number, sample in enumerate(samples):
        registry.subjects.clear()
        sink, folder = made(registry, str(sample.declared)), tmp_path / str(number)
        assert sink_trials.type_outcome(sink, sample, engine, True, folder) == "same", sample.name


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("made", [avro, protobuf])
def test_none_is_null_from_the_first_row_on(
    registry: FakeRegistry, made: Made, engine: str, tmp_path: Path
) -> None:
    for name in ("number", "decimal", "struct"):
        registry.subjects.clear()
        sink, folder = made(registry, str(NAMED[name].declared)), tmp_path / name
        found = sink_trials.nulls_outcome(sink, NAMED[name], engine, True, folder)
        assert found == "same", name


@pytest.mark.parametrize(
    ("change", "expected"),
    [("a field more", "merged"), ("a field less", "merged"), ("another type", "refused"),
     ("fields in another order", "merged")],
)  # fmt: skip
def test_a_changed_schema_is_another_version_or_is_refused(
    registry: FakeRegistry, change: str, expected: str, tmp_path: Path
) -> None:
    for engine in ENGINES:
        registry.subjects.clear()
        folder = tmp_path / engine
        assert sink_trials.schema_outcome(avro(registry), change, engine, folder) == expected


@pytest.mark.parametrize(
    "made",
    [lambda it, _: avro(it, "", **{"kafka.value.schema": GIVEN}), protobuf],
    ids=["avro", "pb"],
)
def test_it_is_exact_on_spark_whenever_it_is_killed(
    registry: FakeRegistry, made: Made, tmp_path: Path
) -> None:
    assert sink_trials.killed_on_spark(made(registry, "string"), tmp_path) == "exact"
