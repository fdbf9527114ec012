"""Dead letters in a topic of Kafka, and requests to send letters again: records of the same topic.

A record with the header `heronpy.replay` is a letter that is to be sent again; the value of the
header is the name of the topology. All requests are in the first partition, and the offset of a
request is its number. Those of one command are written in a transaction: all or none. How far the
spout is (connectors.replayed_letters) is the offset of the group `heronpy.replayed.TOPOLOGY`.
"""

import logging
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from heron_connectors.kafka.client import (
    METADATA_SECS,
    SparingLog,
    kafka,
    partitions_of,
    to_reach_brokers,
)
from heron_connectors.kafka.rights import error_text
from heron_connectors.letters.records import letter_of
from heron_core.errors import ComponentError, HeronError

REPLAY_HEADER = "heronpy.replay"
REQUESTS_AT = 0
"""Partition of the requests: present in every topic."""
READ_SECS = 30.0
"""Longest silence while reading a topic to its end; longer than a broker's restart."""
WRITE_SECS = 30.0
"""For each step of a transaction; less than the brokers' own limit (60 s)."""
RECORDS_AT_ONCE = 500
_log = logging.getLogger(__name__)
Letter = dict[str, Any]


def read_topic(
    topic: str, servers: str, settings: Mapping[str, Any]
) -> tuple[list[Letter], frozenset[str]]:
    """All letters of a topic, the oldest first, and the ids of those that were sent again.
    HeronError if the brokers do not answer, or a record is none."""
    letters: list[Letter] = []
    replayed: set[str] = set()
    with _consumer(servers, "heronpy.letters", settings, _log) as consumer:
        partitions = partitions_of(consumer, servers, [topic])
        make, beginning = kafka().TopicPartition, kafka().OFFSET_BEGINNING
        consumer.assign([make(*each, beginning) for each in partitions])
        for record in _to_the_end(consumer, servers, len(partitions)):
            letter = _letter(record)
            if _replayed_by(record) is None:
                letters.append(letter)
            else:
                replayed.add(letter["id"])
    letters.sort(key=lambda each: (each["time_ms"], each["id"]))
    return letters, frozenset(replayed)


def request_in_topic(
    topic: str, servers: str, topology: str, settings: Mapping[str, Any], lines: Sequence[bytes]
) -> None:
    """Request the replay of the letters, atomically; HeronError if the write fails."""
    writer = f"heronpy.replay.{secrets.token_hex(8)}"
    own = {"bootstrap.servers": servers, "transactional.id": writer}
    producer = kafka().Producer({**settings, **own}, logger=SparingLog(_log))
    partitions_of(producer, servers, [topic])
    headers = [(REPLAY_HEADER, topology.encode())]
    try:
        producer.init_transactions(WRITE_SECS)
        producer.begin_transaction()
        for line in lines:
            producer.produce(topic, line, headers=headers, partition=REQUESTS_AT)
        producer.commit_transaction(WRITE_SECS)
    except kafka().KafkaException as error:
        raise HeronError(
            f"Kafka at {servers}: {topic}: letters are not sent again: {error_text(error.args[0])}"
        ) from None


@contextmanager
def _consumer(
    servers: str, group: str, settings: Mapping[str, Any], logger: logging.Logger
) -> Iterator[Any]:
    consumer = _made_consumer(servers, group, settings, logger)
    try:
        yield consumer
    finally:
        consumer.close()


def _made_consumer(
    servers: str, group: str, settings: Mapping[str, Any], logger: logging.Logger
) -> Any:
    """A reader of committed records that joins no group."""
    own = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    return kafka().Consumer({**to_reach_brokers(settings), **own}, logger=SparingLog(logger))


def _to_the_end(consumer: Any, servers: str, partitions: int) -> Iterator[Any]:
    """The records of all assigned partitions; HeronError if they do not come to their end."""
    ended: set[int] = set()
    deadline = time.monotonic() + READ_SECS
    while len(ended) < partitions:
        for record in consumer.consume(RECORDS_AT_ONCE, 0.1):
            deadline = time.monotonic() + READ_SECS
            if record.error() is None:
                yield record
            elif record.error().code() == kafka().KafkaError._PARTITION_EOF:
                ended.add(record.partition())
            elif not record.error().retriable():
                raise HeronError(f"Kafka at {servers}: {error_text(record.error())}")
        if time.monotonic() > deadline:
            raise HeronError(f"Kafka at {servers} answers no more, and the topic is read in part")


def _letter(record: Any) -> Letter:
    try:
        return letter_of(record.value() or b"")
    except HeronError as error:
        where = f"{record.topic()}[{record.partition()}]@{record.offset()}"
        raise HeronError(f"{where}: {error}") from None


def _replayed_by(record: Any) -> str | None:
    """Target topology of a replay request; None for a letter."""
    for name, value in record.headers() or ():
        if name == REPLAY_HEADER:
            return str(value.decode("utf-8", "replace"))
    return None


class TopicRequests:
    """Replay requests of one topology (a LetterRequests of locations.py); numbers are offsets."""

    def __init__(
        self,
        topic: str,
        servers: str,
        topology: str,
        settings: Mapping[str, Any],
        logger: logging.Logger,
    ) -> None:
        """Read available requests; ComponentError for an unreachable broker or unknown topic."""
        self._topology = topology
        self._waiting: dict[int, Letter] = {}
        self._following = 0
        """The offset after the newest record that was read."""
        self._consumer = _made_consumer(servers, f"heronpy.replayed.{topology}", settings, logger)
        self._logger = logger
        partitions_of(self._consumer, servers, [topic])
        self._partition = kafka().TopicPartition(topic, REQUESTS_AT)
        try:
            (known,) = self._consumer.committed([self._partition], timeout=METADATA_SECS)
            self._following = self._committed = max(0, known.offset)
            self._consumer.assign([kafka().TopicPartition(topic, REQUESTS_AT, self._following)])
            for record in _to_the_end(self._consumer, servers, 1):
                self._take(record)
        except (kafka().KafkaException, HeronError) as error:
            text = str(error) if isinstance(error, HeronError) else error_text(error.args[0])
            raise ComponentError(f"requests in the topic {topic}: {text}") from None

    def waiting(self) -> list[int]:
        """See Requests. A broker that is away comes back: the client tries on."""
        for record in self._consumer.consume(RECORDS_AT_ONCE, 0):
            error = record.error()
            if error is None:
                self._take(record)
            elif error.code() != kafka().KafkaError._PARTITION_EOF and not error.retriable():
                self._logger.warning("requests for letters: %s", error_text(error))
        return sorted(self._waiting)

    def _take(self, record: Any) -> None:
        self._following = record.offset() + 1
        if _replayed_by(record) == self._topology:
            self._waiting[record.offset()] = _letter(record)

    def letters(self, number: int) -> list[Letter]:
        """See Requests."""
        return [self._waiting[number]]

    def is_done(self, number: int) -> None:
        """See Requests."""
        if self._waiting.pop(number, None) is not None:
            self._commit(wait=False)

    def _commit(self, wait: bool) -> None:
        """Record the position for later runs; otherwise a later run would replay the letters
        again."""
        offset = min(self._waiting, default=self._following)
        if offset == self._committed and not wait:
            return
        self._committed = offset
        position = kafka().TopicPartition(self._partition.topic, REQUESTS_AT, offset)
        try:
            self._consumer.commit(offsets=[position], asynchronous=not wait)
        except kafka().KafkaException as error:
            self._logger.warning(
                "finished requests are not recorded: %s", error_text(error.args[0])
            )

    def close(self) -> None:
        """Note how far this run was."""
        self._commit(wait=True)
        self._consumer.close()
