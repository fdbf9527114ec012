"""Kafka as a system of Samza: partitions of topics, and changelogs in compacted topics."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from heron_connectors.kafka.client import METADATA_SECS, SparingLog, kafka, partitions_of
from heron_connectors.kafka.rights import error_text
from heron_core.errors import ComponentError
from heronpy_compat.samza.compacted_logs import ChangelogDamaged, Entry
from heronpy_compat.samza.envelopes import SystemStreamPartition
from heronpy_compat.samza.systems import OLDEST, UPCOMING, Record

RECORDS_AT_ONCE = 500
BUFFERED_MAX = 1_000
"""Records of a partition that wait for their task; the partition is paused meanwhile."""
FLUSH_SECS = 30.0
"""So long brokers may take for the entries of a commit; then the container starts again."""
READ_SECS = 30.0
"""So long brokers may be silent during a restore."""
DELETE_RETENTION_SECS = 24 * 3600.0
"""Kafka's own default of delete.retention.ms: a copy that is older may lack deletions."""
COMPACTION_LAG_MS = 4 * 3600 * 1000
"""As Samza sets min.compaction.lag.ms of a changelog with transactional state: values of the last
commit are there for the restore."""


class KafkaConsumer:
    """A SystemConsumer of topics; offsets are committed by tasks, so the group is only a name."""

    def __init__(self, settings: Mapping[str, Any], group: str, bounded: bool, logger: Any) -> None:
        self._servers = str(settings["bootstrap.servers"])
        self._bounded = bounded
        self._client: Any = kafka().Consumer(
            {
                **settings,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": bounded,
                "auto.offset.reset": settings.get("auto.offset.reset", "error"),
            },
            logger=SparingLog(logger),
        )
        self._logger = logger
        self._buffers: dict[tuple[str, int], deque[Record]] = {}
        self._paused: set[tuple[str, int]] = set()
        self._ended: set[tuple[str, int]] = set()

    def partitions(self, stream: str) -> int:
        """See SystemConsumer."""
        return len(partitions_of(self._client, self._servers, [stream]))

    def end_of(self, partition: SystemStreamPartition) -> int:
        """See SystemConsumer."""
        topic_partition = kafka().TopicPartition(partition.stream, partition.partition)
        try:
            return int(
                self._client.get_watermark_offsets(topic_partition, timeout=METADATA_SECS)[1]
            )
        except kafka().KafkaException as error:
            raise _away(self._servers, error) from None

    def begin(self, positions: Mapping[SystemStreamPartition, int | str]) -> None:
        """See SystemConsumer."""
        make, beginnings = kafka().TopicPartition, []
        for partition, position in positions.items():
            named = {OLDEST: kafka().OFFSET_BEGINNING, UPCOMING: kafka().OFFSET_END}
            offset = named[position] if isinstance(position, str) else position
            beginnings.append(make(partition.stream, partition.partition, offset))
            self._buffers[partition.stream, partition.partition] = deque()
        self._client.assign(beginnings)

    def take(self, partition: SystemStreamPartition) -> Record | None:
        """See SystemConsumer; ComponentError for an error that brokers do not mend."""
        topic_partition = partition.stream, partition.partition
        buffer = self._buffers[topic_partition]
        if not buffer:
            if topic_partition in self._paused:
                self._paused.remove(topic_partition)
                self._client.resume([kafka().TopicPartition(*topic_partition)])
            self._poll()
        return buffer.popleft() if buffer else None

    def _poll(self) -> None:
        for record in self._client.consume(RECORDS_AT_ONCE, 0):
            topic_partition = record.topic(), record.partition()
            if record.error() is not None:
                self._take_error(record.error(), topic_partition)
                continue
            buffer = self._buffers[topic_partition]
            offset = record.offset()
            buffer.append(Record(record.key(), record.value(), offset, offset + 1))
            if len(buffer) >= BUFFERED_MAX and topic_partition not in self._paused:
                self._paused.add(topic_partition)
                self._client.pause([kafka().TopicPartition(*topic_partition)])

    def _take_error(self, error: Any, topic_partition: tuple[str, int]) -> None:
        if error.code() == kafka().KafkaError._PARTITION_EOF:
            self._ended.add(topic_partition)
        elif error.retriable():
            self._logger.warning("Kafka at %s: %s", self._servers, error_text(error))
        else:
            raise ComponentError(
                f"Kafka at {self._servers}: {topic_partition[0]}: {error_text(error)}"
            )

    def has_ended(self, partition: SystemStreamPartition) -> bool:
        """See SystemConsumer."""
        topic_partition = partition.stream, partition.partition
        return (
            self._bounded and topic_partition in self._ended and not self._buffers[topic_partition]
        )

    def close(self) -> None:
        """See SystemConsumer."""
        self._client.close()


class KafkaLog:
    """A CompactedLog in one partition of a topic; brokers compact it."""

    def __init__(
        self, settings: Mapping[str, Any], topic: str, partition: int, partitions: int, logger: Any
    ) -> None:
        """Create the topic, compacted and with `partitions`, if it is missing."""
        self._servers = str(settings["bootstrap.servers"])
        self._topic, self._partition = topic, partition
        self._producer: Any = kafka().Producer(
            {**settings, "enable.idempotence": True}, logger=SparingLog(logger)
        )
        self._reading = {
            **settings,
            "group.id": f"heronpy.restore.{topic}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
        }
        self._logger = logger
        ensure_topic(self._producer, settings, topic, partitions)
        self._first, self._end = self._watermarks()

    def _watermarks(self) -> tuple[int, int]:
        consumer = kafka().Consumer(self._reading, logger=SparingLog(self._logger))
        try:
            topic_partition = kafka().TopicPartition(self._topic, self._partition)
            first, end = consumer.get_watermark_offsets(topic_partition, timeout=METADATA_SECS)
        except kafka().KafkaException as error:
            raise _away(self._servers, error) from None
        finally:
            consumer.close()
        return first, end

    @property
    def end(self) -> int:
        """See CompactedLog."""
        return self._end

    def append(self, entries: Sequence[Entry]) -> int:
        """See CompactedLog; ComponentError if an entry is not delivered within FLUSH_SECS."""
        failures: list[Any] = []

        def delivered(error: Any, record: Any) -> None:
            if error is not None:
                failures.append(error)
            else:
                self._end = max(self._end, record.offset() + 1)

        for key, value in entries:
            self._produce(key, value, delivered)
        left = self._producer.flush(FLUSH_SECS)
        if left or failures:
            text = error_text(failures[0]) if failures else f"{left} entries are not delivered"
            raise ComponentError(f"{self._where}: {text}")
        return self._end

    def _produce(self, key: bytes, value: bytes | None, delivered: Callable[..., None]) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, partition=self._partition, on_delivery=delivered
                )
                return
            except BufferError:  # the producer's queue is full: it is emptied by deliveries
                self._producer.poll(0.1)

    def read(self, start: int, end: int) -> Iterator[Entry]:
        """See CompactedLog; ComponentError if brokers are silent for READ_SECS."""
        if start >= end:
            return
        consumer = kafka().Consumer(self._reading, logger=SparingLog(self._logger))
        try:
            consumer.assign([kafka().TopicPartition(self._topic, self._partition, start)])
            for record in self._records(consumer):
                if record.offset() >= end:
                    return
                yield record.key(), record.value()
                if record.offset() + 1 >= end:
                    return
        finally:
            consumer.close()

    def _records(self, consumer: Any) -> Iterator[Any]:
        """Records up to the end of the partition, as brokers send them."""
        while (first := consumer.poll(READ_SECS)) is not None:
            for record in (first, *consumer.consume(RECORDS_AT_ONCE, 0)):
                error = record.error()
                if error is None:
                    yield record
                elif error.code() == kafka().KafkaError._PARTITION_EOF:
                    return
                elif not error.retriable():
                    raise ComponentError(f"{self._where}: {error_text(error)}")
        raise ComponentError(f"{self._where}: brokers are silent for {READ_SECS:g} s")

    @property
    def _where(self) -> str:
        return f"Kafka at {self._servers}: changelog {self._topic}"

    def has_tail(self, position: int, age_secs: float) -> bool:
        """See CompactedLog."""
        return position >= self._first and age_secs < DELETE_RETENTION_SECS

    def cut(self, position: int, value_of: Callable[[bytes], bytes | None]) -> int:
        """See CompactedLog: the entries are undone by newer ones, as a topic only grows."""
        if position > self._end:
            raise ChangelogDamaged(
                f"changelog {self._topic}[{self._partition}] ends at {self._end}, before position"
                f" {position} of the checkpoint: the topic was created again"
            )
        keys = dict.fromkeys(key for key, _ in self.read(position, self._end))
        return self.append([(key, value_of(key)) for key in keys])

    def compact(self, entries: Callable[[], Iterable[Entry]], end: int) -> None:
        """See CompactedLog: brokers do."""

    def forget(self, position: int) -> None:
        """See CompactedLog: brokers do."""

    def close(self) -> None:
        """See CompactedLog: what was appended is delivered."""


def ensure_topic(client: Any, settings: Mapping[str, Any], topic: str, partitions: int) -> None:
    """Create a compacted topic if it is missing; ComponentError for a topic of fewer partitions."""
    servers = str(settings["bootstrap.servers"])
    try:
        topics = client.list_topics(timeout=METADATA_SECS).topics
    except kafka().KafkaException as error:
        raise _away(servers, error) from None
    if topic not in topics:
        _create(settings, topic, partitions)
        return
    number = len(topics[topic].partitions)
    if number < partitions:
        raise ComponentError(
            f"Kafka at {servers}: changelog {topic} has {number} partitions and the job"
            f" {partitions} tasks: give the topic {partitions} partitions"
        )


def _create(settings: Mapping[str, Any], topic: str, partitions: int) -> None:
    admin = import_module("confluent_kafka.admin")
    config = {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(COMPACTION_LAG_MS),
        "delete.retention.ms": str(int(DELETE_RETENTION_SECS * 1000)),
    }
    new_topic = admin.NewTopic(topic, num_partitions=partitions, config=config)
    client = admin.AdminClient(dict(settings))  # its requests end with it
    try:
        client.create_topics([new_topic])[topic].result()
    except kafka().KafkaException as error:
        if error.args[0].code() != kafka().KafkaError.TOPIC_ALREADY_EXISTS:
            raise ComponentError(f"changelog {topic}: {error_text(error.args[0])}") from None


def _away(servers: str, error: Any) -> ComponentError:
    return ComponentError(f"Kafka at {servers} does not answer: {error_text(error.args[0])}")
