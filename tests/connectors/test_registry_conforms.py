"""KafkaSink with a schema registry keeps each declared type, natively and on Spark, and is exact
there through kills; the trials are those of all other sinks. A column of Avro always has a type, so
values without one are not tried."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_connectors.kafka.avro_records import avro_reader
from heron_connectors.kafka.schema_registry import URL, registry_of
from heron_connectors.kafka.sink import KafkaSink
from heron_core import config as keys
from tests.connectors import sink_trials
from tests.connectors.fake_kafka import FakeBroker, client_in_memory
from tests.connectors.fake_registry import FakeRegistry, served
from tests.connectors.runs import SPARK
from tests.connectors.samples import NAMED, SAMPLES
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
    """Nothing here is about the disk's own memory, which takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with client_in_memory(), served() as made:
        yield made


def avro(registry: FakeRegistry, **more: Any) -> SinkEntry:
    """The sink; its reader takes each record by the schema that it was written with."""

    def opened(folder: Path, fields: tuple[str, ...]) -> Store:
        broker = FakeBroker.installed()
        url = {URL: registry.url}
        read = avro_reader(registry_of(url, "reader", "avro"), "value", None, {})
        record = SimpleNamespace(topic=lambda: "rows", headers=lambda: None)

        def rows() -> list[Row]:
            return [read(value, record) for _, value in broker.records]

        config = {"kafka.bootstrap.servers": "fake:9092", "kafka.topic": "rows"}
        return Store({**config, **url, "kafka.value.format": "avro", **more}, rows)

    return SinkEntry("KafkaSink (avro)", KafkaSink, opened, each_line=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_declared_type_comes_back(registry: FakeRegistry, engine: str, tmp_path: Path) -> None:
    for number, sample in enumerate(each for each in SAMPLES if each.declared):
        registry.subjects.clear()
        folder = tmp_path / str(number)
        found = sink_trials.type_outcome(avro(registry), sample, engine, True, folder)
        assert found == "same", sample.name


@pytest.mark.parametrize("engine", ENGINES)
def test_none_is_null_from_the_first_row_on(
    registry: FakeRegistry, engine: str, tmp_path: Path
) -> None:
    for name in ("number", "decimal", "struct"):
        registry.subjects.clear()
        folder = tmp_path / name
        found = sink_trials.nulls_outcome(avro(registry), NAMED[name], engine, True, folder)
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


def test_it_is_exact_on_spark_whenever_it_is_killed(registry: FakeRegistry, tmp_path: Path) -> None:
    entry = avro(registry, **{"kafka.value.schema": GIVEN})
    assert sink_trials.killed_on_spark(entry, tmp_path) == "exact"
