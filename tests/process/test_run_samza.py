"""`heronpy run JOB.properties`: jobs of Samza as a user starts them, over files and over Kafka."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import confluent_kafka

from tests.process.process_support import EXAMPLES, Place, until
from tests.unit.heronpy_compat.samza.test_samza_streams import check_example

TASKS = """
from heronpy_compat.samza import InitableTask, OutgoingMessageEnvelope, StreamTask, SystemStream

COUNTS = SystemStream("kafka", "counts")


class Counter(StreamTask, InitableTask):
    def init(self, context):
        self.counts = context.get_store("counts")

    def process(self, envelope, collector, coordinator):
        count = (self.counts.get(envelope.key) or 0) + 1
        self.counts.put(envelope.key, count)
        collector.send(OutgoingMessageEnvelope(COUNTS, envelope.key, count))
"""
JOB = """
job.name = counter
job.container.count = 2
task.class = counting_by_key.Counter
task.inputs = kafka.clicks
task.outputs = kafka.counts
task.checkpoint.factory = org.apache.samza.checkpoint.kafka.KafkaCheckpointManagerFactory
task.checkpoint.system = kafka
systems.kafka.samza.factory = org.apache.samza.system.kafka.KafkaSystemFactory
systems.kafka.samza.offset.default = oldest
systems.kafka.samza.key.serde = string
systems.kafka.samza.msg.serde = integer
systems.kafka.bounded = true
systems.kafka.producer.bootstrap.servers = {servers}
stores.counts.factory = org.apache.samza.storage.kv.RocksDbKeyValueStorageEngineFactory
stores.counts.key.serde = string
stores.counts.msg.serde = integer
stores.counts.changelog = kafka.counter-counts
"""
PARTITIONS = 4
CHECKPOINTS = "__samza_checkpoint_ver_1_for_counter-1"
KEYS = [f"k{number}" for number in range(20)]


def test_the_example_runs_as_its_docstring_says(place: Place) -> None:
    """hello-samza's two jobs over files, in processes."""
    folder = place.path / "samza"
    shutil.copytree(EXAMPLES / "samza", folder, ignore=shutil.ignore_patterns("out"))
    for name in ("parser", "stats"):
        place.heronpy("run", folder / f"wikipedia-{name}.properties").succeeded()
    check_example(folder)


class MockKafka:
    """librdkafka's mock cluster with the topics of the job."""

    def __init__(self) -> None:
        self._producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
        brokers = self._producer.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        for topic in ("clicks", "counts", "counter-counts", CHECKPOINTS):
            self._producer.list_topics(topic, timeout=10)

    def click(self, times: int) -> None:
        """So many messages of each key, a key always in the same partition."""
        one = (1).to_bytes(4, "big")
        for number, key in enumerate(KEYS * times):
            self._producer.produce("clicks", one, key, partition=number % len(KEYS) % PARTITIONS)
        assert self._producer.flush(10) == 0

    def records(self, topic: str) -> list[Any]:
        """All records of a topic."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.servers, "group.id": "of the test",
             "enable.partition.eof": True}
        )  # fmt: skip
        consumer.assign([confluent_kafka.TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
        records: list[Any] = []
        ended: set[int | None] = set()

        def all_ended() -> bool:
            for record in consumer.consume(500, 0.1):
                if record.error() is None:
                    records.append(record)
                else:
                    ended.add(record.partition())
            return len(ended) == PARTITIONS

        until(all_ended, f"{topic} is read")
        consumer.close()
        return records


def test_a_job_over_kafka_goes_on_with_its_changelog_and_offsets(place: Place) -> None:
    """N4, S1: the second run restores 20 counts, reads none of the first 60 messages again, and
    sends counts that continue."""
    cluster = MockKafka()
    (place.path / "counting_by_key.py").write_text(TASKS)
    job = place.path / "counter.properties"
    job.write_text(JOB.format(servers=cluster.servers))
    for run, clicks in enumerate((3, 2), 1):
        cluster.click(clicks)
        place.heronpy("run", job).succeeded()
        newest = {record.key(): record.value() for record in cluster.records("counter-counts")}
        counts = {key.decode(): int.from_bytes(value, "big") for key, value in newest.items()}
        assert counts == dict.fromkeys(KEYS, 3 if run == 1 else 5)
    sent = Counter(
        (record.key().decode(), int.from_bytes(record.value(), "big"))
        for record in cluster.records("counts")
    )
    assert sent == Counter((key, count) for key in KEYS for count in range(1, 6))
    assert "store counts of task 0: 5 entries" in place.log("counter-1", "tasks-1")
    checkpoints = {record.key() for record in cluster.records(CHECKPOINTS)}
    assert checkpoints == {f"Partition {number}".encode() for number in range(PARTITIONS)}


def test_a_killed_container_loses_no_message(place: Place) -> None:
    """S4: kill -9 of the tasks amid the input, exactly once by the engine's checkpoints."""
    folder = place.path / "job"
    (folder / "lines").mkdir(parents=True)
    words = [f"w{number % 50}" for number in range(20_000)]
    for number in range(2):
        (folder / "lines" / str(number)).write_text("".join(f"{word}\n" for word in words))
    module = Path(__file__).parents[1] / "unit/heronpy_compat/samza/samza_support.py"
    shutil.copy(module, folder / "killed_job.py")
    from tests.unit.heronpy_compat.samza.samza_support import properties

    given = properties(folder, "killed_job.CountWords")
    path = folder / "words.properties"
    path.write_text("".join(f"{name} = {value}\n" for name, value in given.items()))
    running = place.start(
        "run", path, "-o", "topology.reliability.mode=EFFECTIVELY_ONCE",
        "-o", "topology.stateful.checkpoint.interval.seconds=0.2",
    )  # fmt: skip
    until(lambda: list((folder / "counts").glob("part-*")), "the first checkpoint is complete")
    running.until(lambda: running.process_called("heron: tasks[0]"), "the tasks run").kill()
    running.wait().succeeded()
    lines = Counter(
        line
        for part in (folder / "counts").glob("part-*")
        for line in part.read_text().splitlines()
    )
    assert lines == Counter(
        {f"w{word} {count}": 2 for word in range(50) for count in range(1, 401)}
    )
