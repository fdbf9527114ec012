"""KafkaSink in transactions: exact against a fake that keeps the client's contract, whenever it is
killed; and the steps of a transaction against librdkafka's own mock cluster, with its protocol.
(The mock shows records before their transaction ends and forgets offsets that belong to one, so
what a reader sees is tested with real brokers, in tests/cluster.)"""

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest

from heron_instance.runtime.context import InstanceContext
from heronpy_compat.api.incarnation import Incarnation
from heronpy_compat.connectors.kafka import KafkaSink
from heronpy_compat.connectors.transactions import TransactionId, number_of_run
from heronpy_compat.testing import ComponentTester, check_two_phase_sink


class FakeError(Exception):
    """A KafkaException: its first argument is the error."""

    def __init__(self, text: str) -> None:
        super().__init__(SimpleNamespace(str=lambda: text))


@dataclass
class FakePlace:
    """A TopicPartition."""

    topic: str
    partition: int
    offset: int = -1001
    error: Any = None


@dataclass
class FakeBroker:
    """What is in the topic and committed, for readers of committed records."""

    state: tuple[list[bytes], dict[str, int]] = ([], {})
    epochs: dict[str, int] = field(default_factory=dict)

    @property
    def records(self) -> list[bytes]:
        return self.state[0]

    @property
    def offsets(self) -> dict[str, int]:
        return self.state[1]


class FakeProducer:
    """The transactions of confluent_kafka.Producer: as a whole, or not; who begins later fences
    who began before."""

    def __init__(self, broker: FakeBroker, settings: dict[str, Any]) -> None:
        self._broker = broker
        self._id = settings.get("transactional.id", "")

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: None})})

    def init_transactions(self, timeout: float) -> None:
        self._broker.epochs[self._id] = self._epoch = self._broker.epochs.get(self._id, 0) + 1

    def begin_transaction(self) -> None:
        self._records: list[bytes] = []
        self._offsets: dict[str, int] = {}

    def produce(self, topic: str, value: bytes, key: bytes | None) -> None:
        self._records.append(value)

    def send_offsets_to_transaction(
        self, places: list[FakePlace], group: str, timeout: float
    ) -> None:
        self._offsets[group] = places[0].offset

    def commit_transaction(self, timeout: float) -> None:
        if self._epoch != self._broker.epochs[self._id]:
            raise FakeError("fenced")
        self._broker.state = (  # in one step, as nobody sees a part of it
            self._broker.records + self._records,
            self._broker.offsets | self._offsets,
        )

    def flush(self, timeout: float) -> int:
        return 0


class FakeConsumer:
    """As much of confluent_kafka.Consumer."""

    def __init__(self, broker: FakeBroker, settings: dict[str, Any]) -> None:
        self._broker, self._group = broker, settings["group.id"]

    def committed(self, places: list[FakePlace], timeout: float) -> list[FakePlace]:
        offset = self._broker.offsets.get(self._group, -1001)
        return [FakePlace(each.topic, each.partition, offset) for each in places]

    def consumer_group_metadata(self) -> str:
        return str(self._group)

    def close(self) -> None:
        """Nothing to leave."""


def with_fake(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        Producer=lambda settings, logger: FakeProducer(broker, settings),
        Consumer=lambda settings, logger: FakeConsumer(broker, settings),
        TopicPartition=FakePlace,
        KafkaException=FakeError,
    )
    monkeypatch.setitem(sys.modules, "confluent_kafka", fake)


def test_a_run_that_begins_without_state_is_told_of_the_records_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A transaction that is aborted leaves no note."""
    broker = FakeBroker()
    with_fake(broker, monkeypatch)
    config = {
        "kafka.bootstrap.servers": "fake:9092",
        "kafka.topic": "numbers",
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    told = []
    for run in ("first", "second"):
        monkeypatch.setattr(
            InstanceContext, "get_incarnation", lambda self, of=run: Incarnation(of, 1)
        )
        with ComponentTester(KafkaSink, inputs={"rows": ["text"]}, config=config) as tester:
            tester.advance(0)
            told.append([each.text for each in tester.errors])
            tester.component.commit([[None, b"a"]], TransactionId(run, 1))
            tester.component.commit([[None, b"b"]], TransactionId(run, 2))
    nothing, (said,) = told
    assert nothing == []
    assert "another run of it has written into the topic numbers" in said
    assert "resume from the checkpoint of that run" in said
    group = "heronpy.run." + tester.component.transactional_id
    assert broker.offsets[group] == number_of_run("second")


def test_records_are_exact_whenever_the_sink_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker()
    with_fake(broker, monkeypatch)
    check_two_phase_sink(
        KafkaSink,
        lambda: map(int, broker.records),
        config={"kafka.bootstrap.servers": "fake:9092", "kafka.topic": "numbers"},
        other_modes=False,
    )


def test_the_steps_of_a_transaction_are_those_of_the_protocol() -> None:
    """Three commits, the last one by another process of the same instance."""
    cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
    brokers = cluster.list_topics("exactly", timeout=10).brokers.values()
    servers = ",".join(f"{each.host}:{each.port}" for each in brokers)
    config = {
        "kafka.bootstrap.servers": servers,
        "kafka.topic": "exactly",
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    for mine in ((1, [b"a", b"b"]), (2, [b"c"])), ((3, [b"d"]),):
        with ComponentTester(
            KafkaSink, inputs={"rows": ["text"]}, config=config, patch_time=False
        ) as tester:
            for number, values in mine:
                records = [[None, each] for each in values]
                tester.component.commit(records, TransactionId("writer", number))
    reader = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "of the test"})
    reader.assign([confluent_kafka.TopicPartition("exactly", each, 0) for each in range(4)])
    found: list[Any] = []
    for _ in range(300):
        found += [each.value() for each in reader.consume(10, 0.1) if each.error() is None]
        if len(found) >= 4:
            break
    reader.close()
    assert sorted(found) == [b"a", b"b", b"c", b"d"]
