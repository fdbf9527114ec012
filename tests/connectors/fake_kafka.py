"""A stand-in of confluent_kafka with the client's contract on transactions, in memory, as used by
KafkaSink. Real brokers are tested in tests/cluster."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

# These are found although their package is replaced.
import confluent_kafka.schema_registry.avro
import confluent_kafka.schema_registry.protobuf  # noqa: F401

Record = tuple[bytes | None, bytes | None]
"""(key, value)"""
NOTHING_COMMITTED = -1001


class FakeError(Exception):
    """A KafkaException: its first argument is the error."""

    def __init__(self, text: str) -> None:
        super().__init__(
            SimpleNamespace(
                str=lambda: text, code=lambda: -1, fatal=lambda: False, retriable=lambda: False
            )
        )


@dataclass
class FakePlace:
    """A TopicPartition."""

    topic: str
    partition: int
    offset: int = NOTHING_COMMITTED
    error: Any = None


@dataclass
class FakeBroker:
    """Committed records of the topic, for readers of committed records."""

    state: tuple[list[Record], dict[str, int]] = ([], {})
    epochs: dict[str, int] = field(default_factory=dict)

    @property
    def records(self) -> list[Record]:
        """Of the topic."""
        return self.state[0]

    @property
    def offsets(self) -> dict[str, int]:
        return self.state[1]

    def add(self, records: list[Record], offsets: dict[str, int]) -> None:
        """In one step, so that readers do not see a part."""
        self.state = self.records + records, self.offsets | offsets

    def add_of(self, producer: "FakeProducer", records: list[Record], offsets: Any) -> bool:
        """Unless fenced by another producer. In one line, without a gap between check and
        addition."""
        after = self.records + records, self.offsets | offsets
        epochs, name, epoch = self.epochs, producer.id, producer.epoch
        self.state = after if (is_ours := epochs[name] == epoch) else self.state
        return is_ours

    @staticmethod
    def installed() -> "FakeBroker":
        """Install an empty broker for the stand-in client."""
        broker = FakeBroker()
        client = sys.modules["confluent_kafka"]
        assert isinstance(client, SimpleNamespace), "inside of client_in_memory() alone"
        client.broker = broker
        return broker


class FakeProducer:
    """The transactions of confluent_kafka.Producer: as a whole, or not; a later producer fences the
    earlier one. Without a transaction each record is visible at once."""

    def __init__(self, broker: FakeBroker, settings: dict[str, Any]) -> None:
        self._broker = broker
        self.id = settings.get("transactional.id", "")
        self._delivered: list[Callable[[], None]] = []
        self.epoch = 0

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: None})})

    def init_transactions(self, timeout: float) -> None:
        self._broker.epochs[self.id] = self.epoch = self._broker.epochs.get(self.id, 0) + 1

    def begin_transaction(self) -> None:
        self._records: list[Record] = []
        self._offsets: dict[str, int] = {}

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        on_delivery: Any = None,
        headers: Any = (),
    ) -> None:
        if self.id:
            self._records.append((key, value))
            return
        self._broker.add([(key, value)], {})
        self._delivered.append(lambda: on_delivery(None, None))

    def poll(self, secs: float) -> int:
        calls, self._delivered = self._delivered, []
        for each in calls:
            each()
        return len(calls)

    def send_offsets_to_transaction(
        self, places: list[FakePlace], group: str, timeout: float
    ) -> None:
        self._offsets[group] = places[0].offset

    def commit_transaction(self, timeout: float) -> None:
        if not self._broker.add_of(self, self._records, self._offsets):
            raise FakeError("fenced")

    def flush(self, timeout: float) -> int:
        self.poll(0)
        return 0


class FakeConsumer:
    """As much of confluent_kafka.Consumer."""

    def __init__(self, broker: FakeBroker, settings: dict[str, Any]) -> None:
        self._broker, self._group = broker, settings["group.id"]

    def committed(self, places: list[FakePlace], timeout: float) -> list[FakePlace]:
        offset = self._broker.offsets.get(self._group, NOTHING_COMMITTED)
        return [FakePlace(each.topic, each.partition, offset) for each in places]

    def commit(self, offsets: list[FakePlace], asynchronous: bool) -> None:
        self._broker.add([], {self._group: offsets[0].offset})

    def consumer_group_metadata(self) -> str:
        return str(self._group)

    def close(self) -> None:
        """Nothing to leave."""


@contextmanager
def client_in_memory() -> Iterator[None]:
    """Instead of confluent_kafka."""
    before = sys.modules.get("confluent_kafka")
    client: Any = SimpleNamespace(broker=None, TopicPartition=FakePlace, KafkaException=FakeError)
    client.Producer = lambda settings, logger: FakeProducer(client.broker, settings)
    client.Consumer = lambda settings, logger: FakeConsumer(client.broker, settings)
    sys.modules["confluent_kafka"] = client
    try:
        yield
    finally:
        if before is None:
            del sys.modules["confluent_kafka"]
        else:
            sys.modules["confluent_kafka"] = before
