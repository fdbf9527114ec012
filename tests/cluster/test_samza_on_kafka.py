"""Samza's jobs with a real broker: topics that it makes and compacts, bootstrap and broadcast
streams, and kill -9 between store, changelog and offsets."""

import json
import re
import shutil
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.cluster.kafka_broker import PARTITIONS, KafkaBroker
from tests.cluster.servers import START_SECS
from tests.process.process_support import Place, until

FILE = Path(__file__).with_name("samza_shop.py")
JOB = """
job.name = {name}
job.container.count = 2
job.host-affinity.enabled = true
job.logged.store.base.dir = local
task.class = samza_shop.Shop
task.inputs = kafka.{name}-clicks, kafka.{name}-prices
task.broadcast.inputs = kafka.{name}-rates#0
task.outputs = kafka.{name}-sold
task.commit.ms = -1
task.transactional.state.restore.enabled = true
task.checkpoint.factory = org.apache.samza.checkpoint.kafka.KafkaCheckpointManagerFactory
task.checkpoint.system = kafka
systems.kafka.samza.factory = org.apache.samza.system.kafka.KafkaSystemFactory
systems.kafka.samza.offset.default = oldest
systems.kafka.samza.key.serde = string
systems.kafka.samza.msg.serde = json
systems.kafka.streams.{name}-prices.samza.bootstrap = true
systems.kafka.streams.{name}-prices.samza.reset.offset = true
systems.kafka.streams.{name}-rates.samza.bootstrap = true
systems.kafka.streams.{name}-rates.samza.reset.offset = true
systems.kafka.bounded = true
systems.kafka.producer.bootstrap.servers = {servers}
stores.counts.factory = org.apache.samza.storage.kv.RocksDbKeyValueStorageEngineFactory
stores.counts.key.serde = string
stores.counts.msg.serde = integer
stores.counts.changelog = kafka.{name}-counts
"""
KEYS = [f"k{number}" for number in range(20)]
RATE = 7
FIRST, SECOND, THIRD = 40, 10, 5
"""Clicks of each key before each run."""


class Shop:
    """The job in a folder, and its topics."""

    def __init__(self, broker: KafkaBroker, place: Place) -> None:
        self.broker, self.place = broker, place
        self.name = f"shop{uuid.uuid4().hex[:8]}"
        self.clicks, self.prices, self.rates, self.sold, self.changelog = (
            f"{self.name}-{each}" for each in ("clicks", "prices", "rates", "sold", "counts")
        )
        broker.create(self.clicks, self.prices, self.rates, self.sold)
        text = FILE.read_text().replace("{name}", self.name)
        (place.path / FILE.name).write_text(text)
        self.job = place.path / "shop.properties"
        self.job.write_text(JOB.format(name=self.name, servers=broker.address))
        self.write(self.prices, [(key, number) for number, key in enumerate(KEYS)])
        # A task that got another partition of the broadcast stream would see a second rate.
        self.write(self.rates, [("rate", RATE)], partitions=1)
        self.write(self.rates, [("rate", 0)] * 2, partitions=1, first=2)

    def write(
        self, topic: str, rows: list[tuple[str, int]], partitions: int = PARTITIONS, first: int = 0
    ) -> None:
        """Messages, a key always in the same partition."""
        producer = Producer({"bootstrap.servers": self.broker.address, "enable.idempotence": True})
        for number, (key, value) in enumerate(rows):
            partition = first + number % len(KEYS) % partitions
            producer.produce(topic, json.dumps(value), key, partition=partition)
        assert producer.flush(30) == 0

    def click(self, times: int) -> None:
        """So many clicks of each key."""
        self.write(self.clicks, [(key, 1) for key in KEYS] * times)

    def run(self) -> None:
        """To the ends of all partitions."""
        self.place.heronpy("run", self.job, secs=START_SECS).succeeded()

    def counts(self) -> dict[str, int]:
        """The newest value of each key of the changelog."""
        newest = self.broker.newest(self.changelog)
        return {key.decode(): int.from_bytes(value, "big") for key, value in newest.items()}


@pytest.fixture
def shop(kafka: KafkaBroker, place: Place) -> Shop:
    return Shop(kafka, place)


def test_a_job_is_exact_through_kills_compaction_and_the_loss_of_its_host(shop: Shop) -> None:
    """S1, S3, S4, N4. First kill -9 at three steps of a commit: each count is there once. Then the
    broker compacts the changelog, which it made for the job. Then the local copies are lost."""
    for number, step in enumerate(("changelog", "copy", "offsets")):
        (shop.place.path / f"kill-{step}").write_text(str(2 + 3 * number))
    shop.click(FIRST)
    shop.run()
    assert not list(shop.place.path.glob("kill-*")), "a kill was not reached"
    assert shop.counts() == dict.fromkeys(KEYS, FIRST)
    assert shop.broker.settings(shop.changelog)["cleanup.policy"] == "compact"
    shop.broker.compact_soon(shop.changelog)
    shop.click(SECOND)
    shop.run()
    assert "the tail" in shop.place.log(f"{shop.name}-1", "tasks-1")
    until(lambda: shop.broker.length(shop.changelog) <= 2 * len(KEYS), "compaction", START_SECS)
    shutil.rmtree(shop.place.path / "local")
    shop.click(THIRD)
    shop.run()
    assert shop.counts() == dict.fromkeys(KEYS, FIRST + SECOND + THIRD)
    log = shop.place.log(f"{shop.name}-1", "tasks-1")
    (restored,) = map(
        int, re.findall(r"store counts of task 0: (\d+) entries .* all$", log, re.MULTILINE)
    )
    assert len(KEYS) <= PARTITIONS * restored <= 2 * len(KEYS), "the compacted changelog"
    the_outputs_are_right(shop)


def the_outputs_are_right(shop: Shop) -> None:
    """Each count of each key, at least once, with what the bootstrap streams and the broadcast
    partition had before the first click."""
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for record in shop.broker.records(shop.sold):
        key = record.key().decode()
        row: list[Any] = json.loads(record.value())
        assert row[1:] == [KEYS.index(key), [RATE]]
        seen[key].add(row[0])
    assert seen == {key: set(range(1, FIRST + SECOND + THIRD + 1)) for key in KEYS}
