"""Tuples into a Kafka topic, acked when the brokers have them; or exactly once, in transactions."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.connectors.json_values import document_of
from heronpy_compat.connectors.kafka_client import (
    METADATA_SECS,
    NEEDED_PACKAGE,
    PRODUCER,
    SERVERS,
    SparingLog,
    error_text,
    kafka,
    partitions_of,
    setting,
    to_reach_brokers,
)
from heronpy_compat.connectors.transactions import TransactionId, number_of_run
from heronpy_compat.connectors.two_phase import WriteAheadSink

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext

TOPIC = "kafka.topic"
"""Config key: the topic to write."""
KEY_AT = "kafka.key.position"
"""Config key: which value of a tuple, counting from 0, is the record's key; none by default."""
VALUE_AT = "kafka.value.position"
"""Config key: which one is its value (the last one)."""

POLL_SECS = 0.005
"""How often to ask for deliveries while nothing else comes."""
ROOM_SECS = 0.1
"""How long to wait at a time until the producer's full queue has room."""
CLOSE_SECS = 5.0
"""What is under way at the end may take so long, as executors give their processes no more."""
IN_TIME = 0.8
"""Part of the message timeout after which a record that is not delivered fails its tuple."""


NOTING_SECS = 10.0
"""So long a consumer is kept that notes a run: a coordinator is found, and answers, within it."""
TRANSACTION_SECS = 30.0
"""How long brokers may take for a step of a transaction; less than their own limit (60 s)."""


class KafkaSink(WriteAheadSink):
    """Writes one record for each tuple: texts as UTF-8, bytes as they are, the rest as JSON.

    The producer is idempotent: its own repetitions come once. A tuple that is replayed comes again.
    Under EFFECTIVELY_ONCE the records of a checkpoint are written in one transaction of Kafka's.
    Its number is the offset of a consumer group that is named after the writer, committed within
    the transaction: one that is there is not written again. Which run has written last is noted in
    the same way, in a group that is named after topology, component and index.
    """

    topic: str | None = None
    servers: str | None = None
    needed_package = NEEDED_PACKAGE

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Connect; ComponentError if no broker answers or the topic is unknown."""
        name = self._name
        self._topic = str(setting(config, TOPIC, self.topic, name))
        self._servers = str(setting(config, SERVERS, self.servers, name))
        key_at = config.get(KEY_AT)
        self._key_at = None if key_at is None else int(key_at)
        self._value_at = int(config.get(VALUE_AT, -1))
        timeout_ms = int(keys.seconds(keys.with_defaults(config), keys.MESSAGE_TIMEOUT_SECS) * 1000)
        self._under_way = 0
        self._is_polling = False
        self._settings = {
            "bootstrap.servers": self._servers,
            "enable.idempotence": True,
            **config.get(PRODUCER, {}),
        }
        timeout = {"message.timeout.ms": max(1, int(timeout_ms * IN_TIME))}
        index = context.get_component_tasks(name).index(context.get_task_id())
        self.transactional_id = f"{context.get_topology_name()}.{name}.{index}"
        self._transactional: Any = None
        self._run = number_of_run(context.get_incarnation().run)
        self._is_noted = False
        """Whether the brokers have it that our run writes."""
        self._noting = ExitStack()
        self._producer = self._made_producer(timeout if not self.is_two_phase else {})
        partitions_of(self._producer, self._servers, [self._topic])

    def _made_producer(self, settings: dict[str, Any]) -> Any:
        return kafka().Producer({**settings, **self._settings}, logger=SparingLog(self.logger))

    # --- whose records there are ----------------------------------------------------------------

    def unknown_output(self) -> str:
        """Records of another run of this topology; whose others are a topic does not say."""
        return "" if self._last_run() is None else self._of_another_run

    def output_of_another_run(self, run: str) -> str:
        """See `unknown_output`."""
        return "" if self._last_run() in (None, number_of_run(run)) else self._of_another_run

    @property
    def _of_another_run(self) -> str:
        return f"another run of it has written into the topic {self._topic}"

    @contextmanager
    def _consumer(self, group: str) -> Iterator[Any]:
        """A member of a group that only notes offsets."""
        consumer = kafka().Consumer(
            {**to_reach_brokers(self._settings), "group.id": f"heronpy.{group}"},
            logger=SparingLog(self.logger),
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def _noted(self, number: int) -> list[Any]:
        return [kafka().TopicPartition(self._topic, 0, number)]

    def _last_run(self) -> int | None:
        """The number of the run that has written last; None if there is none, or it is not known:
        brokers forget what was noted long ago."""
        try:
            with self._consumer(self._group_of_runs) as consumer:
                (found,) = consumer.committed(self._noted(0), timeout=METADATA_SECS)
        except kafka().KafkaException:
            return None
        return None if found.error is not None or found.offset < 0 else int(found.offset)

    @property
    def _group_of_runs(self) -> str:
        return f"run.{self.transactional_id}"

    def _note_run(self) -> None:
        """Where no transaction does it: the first record of this process is delivered."""
        self._is_noted = True
        self._noting.enter_context(self._consumer(self._group_of_runs)).commit(
            offsets=self._noted(self._run), asynchronous=True
        )
        self.delegate.call_later(NOTING_SECS, self._noting.close)

    # --- transactions -----------------------------------------------------------------------------

    def row_of(self, tup: Any) -> list[bytes | None]:
        """The key and the value of a record."""
        key = None if self._key_at is None else self._bytes_at(tup, self._key_at)
        return [key, self._bytes_at(tup, self._value_at)]

    def _bytes_at(self, tup: Any, at: int) -> bytes | None:
        return _as_bytes(tup.values[at], f"{tup.fields[at]}=")

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Write the records in a transaction, unless it was committed before."""
        producer, self._transactional = self._transactional, None
        try:
            if producer is None:
                # This ends what another process has under way, before it is asked for its number.
                producer = self._made_producer({"transactional.id": self.transactional_id})
                producer.init_transactions(TRANSACTION_SECS)
            self._commit_with(producer, prepared, transaction_id)
        except kafka().KafkaException as error:
            raise ComponentError(
                f"Kafka at {self._servers}: {self._topic}: {error_text(error.args[0])}"
            ) from None
        # Else the next try begins with another producer, whatever state this one is in.
        self._transactional = producer

    def _commit_with(self, producer: Any, records: Sequence[Any], number: TransactionId) -> None:
        with self._consumer(number.writer) as consumer:
            (found,) = consumer.committed(self._noted(0), timeout=METADATA_SECS)
            if found.error is not None:
                raise kafka().KafkaException(found.error)
            if found.offset >= number.number:
                return
            producer.begin_transaction()
            for key, value in records:
                self._produce(producer, value, key)
            self._note(producer, consumer, number.number)
            if not self._is_noted:
                with self._consumer(self._group_of_runs) as of_runs:
                    self._note(producer, of_runs, self._run)
            producer.commit_transaction(TRANSACTION_SECS)
            self._is_noted = True

    def _note(self, producer: Any, consumer: Any, number: int) -> None:
        """Within the transaction."""
        group = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(self._noted(number), group, TRANSACTION_SECS)

    def _produce(self, producer: Any, value: Any, key: Any, **more: Any) -> None:
        while True:
            try:
                producer.produce(self._topic, value, key, **more)
                return
            except BufferError:
                producer.poll(ROOM_SECS)

    # --- records one by one -----------------------------------------------------------------------

    def process(self, tup: Any) -> None:
        """Hand a record to the producer, or let it wait for its checkpoint."""
        if self.is_two_phase or self.is_in_batch:
            super().process(tup)
            return
        key, value = self.row_of(tup)
        try:
            self._produce(self._producer, value, key, on_delivery=partial(self._delivered, tup))
        except kafka().KafkaException as error:
            raise ComponentError(f"topic {self._topic}: {error_text(error.args[0])}") from None
        self._under_way += 1
        self._producer.poll(0)
        self._poll_later()

    def _delivered(self, tup: Any, error: Any, _: Any) -> None:
        self._under_way -= 1
        if error is None:
            if not self._is_noted:
                self._note_run()
            self.ack(tup)
            return
        self.fail(tup)
        self.delegate.record_error(
            "a record is not delivered",
            f"Kafka at {self._servers}: {self._topic}: {error_text(error)}",
        )

    def _poll_later(self) -> None:
        if self._under_way and not self._is_polling:
            self._is_polling = True
            self.delegate.call_later(POLL_SECS, self._poll)

    def _poll(self) -> None:
        self._is_polling = False
        self._producer.poll(0)
        self._poll_later()

    def is_idle(self) -> bool:
        """Whether every record is delivered, or failed."""
        return self._under_way == 0 and super().is_idle()

    def close(self) -> None:
        """Wait a little for what is under way."""
        super().close()
        self._producer.flush(CLOSE_SECS)
        self._noting.close()


def _as_bytes(value: Any, name: str = "") -> bytes | None:
    """Of a record; ValueError, with `name` before it, for what has none."""
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        return document_of(value, name)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{name}{value!r}: half a character (a lone surrogate) is not text"
        ) from None
