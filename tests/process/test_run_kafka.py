"""Topologies that read and write Kafka, with librdkafka's mock cluster: the real protocol."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import confluent_kafka
import psutil
import pytest

from tests.process.kafka_group import (
    HALF,
    PARTITIONS,
    RECORDS,
    a_partition_that_moves_takes_its_records_along,
)
from tests.process.process_support import TOPOLOGIES, Place, until

FILE = TOPOLOGIES / "kafka_lines.py"


class Cluster:
    """Brokers in this process, with the numbers from 0 to RECORDS, in turn into the partitions."""

    def __init__(self) -> None:
        self.client = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
        brokers = self.client.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{each.host}:{each.port}" for each in brokers)
        for topic in ("numbers", "copy"):
            self.client.list_topics(topic, timeout=10)
        for number in range(RECORDS):
            self.client.produce("numbers", str(number), partition=number % PARTITIONS)
        assert self.client.flush(10) == 0

    def consumer(self, group: str) -> Any:
        """A client of the group, not yet a member."""
        return confluent_kafka.Consumer(
            {"bootstrap.servers": self.servers, "group.id": group, "auto.offset.reset": "earliest"}
        )

    def written(self, topic: str, count: int) -> Counter[str]:
        consumer = self.consumer("of the test")
        consumer.assign([confluent_kafka.TopicPartition(topic, n) for n in range(PARTITIONS)])
        found: Counter[str] = Counter()

        def enough() -> bool:
            found.update(each.value().decode() for each in consumer.consume(500, 0.1))
            return found.total() >= count

        until(enough, "the topic is written")
        consumer.close()
        return found


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def numbers_in(place: Place) -> list[int]:
    texts = [each.read_text() for each in place.results_folder.glob("*.txt")]
    return [int(line) for text in texts for line in text.splitlines()]


def watching(cluster: Cluster, group: str) -> Callable[[], list[int]]:
    consumer = cluster.consumer(group)
    places = [confluent_kafka.TopicPartition("numbers", each) for each in range(PARTITIONS)]
    return lambda: [each.offset for each in consumer.committed(places, timeout=10)]


def test_kill_9_in_the_middle_loses_no_record(place: Place, cluster: Cluster) -> None:
    """The second half is processed but never acked; everything is killed; the next run begins
    exactly there: committed offsets equal the acked ones."""
    committed = watching(cluster, "reading")
    servers = ("-o", f"kafka.bootstrap.servers={cluster.servers}")
    arguments = ("run", FILE, "-n", "Reading", *servers)
    first = place.start(*arguments, "-o", f"test.hold.from={HALF}")
    first.until(lambda: len(set(numbers_in(place))) == RECORDS, "all records are processed")
    first.until(lambda: committed() == [HALF // PARTITIONS] * PARTITIONS, "the half is committed")
    for each in first.processes():
        with suppress(psutil.Error):  # it ends with its parent
            each.kill()
    first.wait()
    assert committed() == [HALF // PARTITIONS] * PARTITIONS
    for path in place.results_folder.glob("*.txt"):
        path.unlink()
    second = place.start(*arguments)
    second.until(lambda: committed() == [RECORDS // PARTITIONS] * PARTITIONS, "the rest is, too")
    assert set(numbers_in(place)) == set(range(HALF, RECORDS))
    second.end()


def test_a_topic_is_copied_to_its_end(place: Place, cluster: Cluster) -> None:
    """A finite run from Kafka to Kafka; all acked offsets are committed at its end."""
    servers = ("-o", f"kafka.bootstrap.servers={cluster.servers}")
    place.heronpy("run", FILE, "-n", "Copying", *servers).succeeded()
    assert cluster.written("copy", RECORDS) == Counter(map(str, range(RECORDS)))
    group = watching(cluster, "Copying.numbers")
    assert group() == [RECORDS // PARTITIONS] * PARTITIONS
    place.nothing_is_left()


def test_no_broker_is_one_line(place: Place) -> None:
    """Port 1 of this machine is without a listener."""
    finished = place.heronpy(
        *("run", FILE, "-n", "Copying", "-o", "kafka.bootstrap.servers=127.0.0.1:1"),
        *("-o", "topology.restart.limit=0"),
    )
    assert finished.code == 1
    (error,) = finished.errors
    assert "Kafka at 127.0.0.1:1 does not answer" in error


def test_a_partition_that_moves_takes_its_records_along(cluster: Cluster) -> None:
    """A second member joins: records unacked by the first member are emitted again by the
    partition's new member; late acks of lost partitions are without effect."""
    config = {
        "kafka.bootstrap.servers": cluster.servers,
        "kafka.topics": "numbers",
        "kafka.group": "moving",
    }
    a_partition_that_moves_takes_its_records_along(config, watching(cluster, "moving"))
