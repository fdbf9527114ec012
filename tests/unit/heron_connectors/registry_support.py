"""KafkaSink and KafkaSpout with a schema registry in memory, and brokers that are not there."""

from types import SimpleNamespace
from typing import Any

import confluent_kafka

from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout
from heronpy_compat.testing import ComponentTester
from tests.connectors.fake_kafka import FakeBroker, client_in_memory
from tests.connectors.fake_registry import FakeRegistry
from tests.connectors.runs import Ended, Rows, classes, given, natively, sinking


def run(registry: FakeRegistry, rows: Rows, fields: Any, **more: Any) -> tuple[Ended, list[Any]]:
    """A sink of these rows into the topic rows: what the run came to, and the records."""
    config = {
        "kafka.bootstrap.servers": "fake:9092",
        "kafka.topic": "rows",
        "kafka.value.format": "avro",
        "kafka.schema.registry.url": registry.url,
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    mode = config.pop("topology.reliability.mode", "ATLEAST_ONCE")
    topology = sinking(fields, KafkaSink, config)
    with client_in_memory(), classes(given(rows), KafkaSink):
        broker = FakeBroker.installed()
        ended, _ = natively(topology, mode)
        return ended, broker.records


def record(value: bytes | None, key: bytes | None = None, offset: int = 0) -> Any:
    """As the client hands it over."""
    found = {"value": value, "key": key, "topic": "rows", "partition": 0, "offset": offset,
             "timestamp": (1, 1234), "headers": None, "error": None}  # fmt: skip
    return SimpleNamespace(**{name: lambda each=each: each for name, each in found.items()})


class Client:
    """A consumer of one partition, with the records that a test gives."""

    def __init__(self, records: list[Any]) -> None:
        self.records, self.paused = records, False

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: None})})

    def poll(self, secs: float) -> Any:
        return self.records.pop(0) if self.records and not self.paused else None

    def pause(self, places: Any) -> None:
        self.paused = True

    def resume(self, places: Any) -> None:
        self.paused = False

    def commit(self, offsets: Any, asynchronous: bool) -> None:
        self.offset = offsets[0].offset

    def committed(self, places: Any, timeout: float) -> Any:
        return [confluent_kafka.TopicPartition(each.topic, each.partition, 0) for each in places]

    def assign(self, places: Any) -> None:
        """All there is."""

    def close(self) -> None:
        """Nothing to leave."""


def spout(registry: FakeRegistry, outputs: Any = ("value",), **more: Any) -> ComponentTester:
    config = {
        "kafka.bootstrap.servers": "fake:9092",
        "kafka.topics": "rows",
        "kafka.assignment": "fixed",
        "kafka.value.format": "avro",
        "kafka.schema.registry.url": registry.url,
        "topology.reliability.mode": "ATLEAST_ONCE",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    declared = dict(outputs) if isinstance(outputs, dict) else list(outputs)
    kind = type("Rows", (KafkaSpout,), {"outputs": declared})
    return ComponentTester(kind, config=config, name="rows", patch_time=False)
