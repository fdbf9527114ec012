"""Tuples into a Kafka topic, acked when the brokers have them; or exactly once, in transactions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_connectors.kafka.client import (
    METADATA_SECS,
    NEEDED_PACKAGE,
    PRODUCER,
    SERVERS,
    SparingLog,
    kafka,
    message_bytes_max,
    partitions_of,
    setting,
    to_reach_brokers,
)
from heron_connectors.kafka.committed import committed_offsets
from heron_connectors.kafka.formats import (
    Encode,
    Inputs,
    PartPosition,
    encoder,
    format_of,
    plain_encoder,
)
from heron_connectors.kafka.records import (
    Record,
    client_limit,
    headers_of,
    size_of,
    topic_limit,
)
from heron_connectors.kafka.rights import WRITE, Rights
from heron_connectors.kafka.schema_registry import format_key
from heron_connectors.transactions import TransactionId, number_of_run
from heron_connectors.two_phase import WriteAheadSink
from heron_core import config as keys
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

TOPIC = "kafka.topic"
"""Config key: the topic to write."""
KEY_AT = "kafka.key.position"
"""Config key: which value of a tuple, counting from 0, is the record's key; none by default."""
VALUE_AT = "kafka.value.position"
"""Config key: index of the value field (last field; in Avro by default all fields, as the
record's fields)."""
HEADERS_AT = "kafka.headers.position"
"""Config key: index of the headers field, a dict or a list of pairs; default: no headers."""

GROUPS = "heronpy."
"""The beginning of the groups in which the sink notes offsets."""

ASK_ABOVE_BYTES = 16 * 1024
"""The brokers are asked for a topic's own limit when a record is larger, as the question costs
seconds where brokers do not answer it. What a topic of less refuses fails its own tuple."""
ASK_IN_TRANSACTIONS_ABOVE_BYTES = 1024
"""Like ASK_ABOVE_BYTES, for records committed in one transaction: a record rejected by its topic
would block all others permanently. Topics with a lower limit are not supported."""

POLL_SECS = 0.005
"""How often to ask for deliveries while nothing else comes."""
QUEUE_FULL_SECS = 0.1
"""How long to wait at a time until the producer's full queue has room."""
CLOSE_SECS = 5.0
"""What is under way at the end may take so long, as executors give their processes no more."""
IN_TIME = 0.8
"""Part of the message timeout after which an undelivered record fails its tuple."""


NOTING_SECS = 10.0
"""So long a consumer is kept that notes a run: a coordinator is found, and answers, within it."""
TRANSACTION_SECS = 30.0
"""How long brokers may take for a step of a transaction; less than their own limit (60 s)."""


class KafkaSink(WriteAheadSink):
    """Writes one record per tuple: texts as UTF-8, bytes unchanged, other values as JSON; or, by
    `kafka.value.format`, in Avro with a schema registry.

    The producer is idempotent: internal retries write a record once. A replayed tuple is written
    again. Under EFFECTIVELY_ONCE the records of a checkpoint form one Kafka transaction. The
    checkpoint's number is the offset of a consumer group named after the writer, committed in
    the transaction: an existing number is not written again. The last writing run is recorded
    likewise, in a group named after topology, component and index.
    """

    topic: str | None = None
    servers: str | None = None
    needed_package = NEEDED_PACKAGE

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Connect; ComponentError if no broker answers or the topic is unknown."""
        name = self._name
        self._topic = str(setting(config, TOPIC, self.topic, name))
        self._servers = str(setting(config, SERVERS, self.servers, name))
        self._headers_at = _position(config, HEADERS_AT)
        self._value_at = _position(config, VALUE_AT)
        timeout_ms = int(keys.seconds(keys.with_defaults(config), keys.MESSAGE_TIMEOUT_SECS) * 1000)
        self._under_way = 0
        self._is_polling = False
        self._settings = {
            "bootstrap.servers": self._servers,
            "enable.idempotence": True,
            **config.get(PRODUCER, {}),
        }
        self._limits = [client_limit(self._settings)]
        self._knows_topic = False
        """Whether the topic's own limit is included, or unavailable."""
        timeout = {"message.timeout.ms": max(1, int(timeout_ms * IN_TIME))}
        index = context.get_component_tasks(name).index(context.get_task_id())
        self.transactional_id = f"{context.get_topology_name()}.{name}.{index}"
        self._transactional: Any = None
        self._run = number_of_run(context.get_incarnation().run)
        self._is_noted = False
        """Whether the brokers have recorded the run."""
        self._noting = ExitStack()
        self._rights = Rights(self._topic, WRITE, f"{GROUPS}*", self.transactional_id)
        one_by_one = {**timeout, "error_cb": self._producer_failed}
        self._producer = self._made_producer({} if self.is_two_phase else one_by_one)
        partitions_of(self._producer, self._servers, [self._topic])
        with ExitStack() as opened:
            self._encoders = self._made_encoders(config, context, opened)
            self._opened = opened.pop_all()

    def _made_encoders(
        self, config: Mapping[str, Any], context: "TopologyContext", opened: ExitStack
    ) -> dict[str, Encode]:
        """Codecs of the key, if configured, and the value."""
        key_at, value_at = _position(config, KEY_AT), self._value_at
        encoders: dict[str, Encode] = {}
        for part, position in (("key", key_at), ("value", value_at)):
            if not format_of(config, part, self._name, ()):
                if position is not None or part == "value":
                    encoders[part] = plain_encoder(position or PartPosition(-1, VALUE_AT))
            elif position is None and part == "key":
                raise ComponentError(f"{self._name}: {format_key(part)} needs {KEY_AT}")
            else:
                inputs = Inputs(self.fields_of_inputs(context), self.types_of_inputs(context))
                encoders[part] = encoder(
                    config, self._name, self._topic, part, position, inputs, self._headers_at,
                    opened,
                )  # fmt: skip
        return encoders

    def _made_producer(self, settings: dict[str, Any]) -> Any:
        return kafka().Producer({**settings, **self._settings}, logger=SparingLog(self.logger))

    def _producer_failed(self, error: Any) -> None:
        """librdkafka calls this inside poll(). After a fatal error the producer refuses each record
        without a reason; another process may have another fate."""
        if error.fatal():
            text = f"Kafka at {self._servers}: {self._topic}: {self._rights.described(error)}"
            self.delegate.call_soon(partial(self.delegate.leave, text))

    # --- whose records there are ----------------------------------------------------------------

    def unknown_output(self) -> str:
        """Records of another run of this topology; whose others are a topic does not say."""
        return "" if self._last_run() is None else self._of_another_run

    def output_of_another_run(self, run: str) -> str:
        """See `unknown_output`."""
        return "" if self._last_run() in (None, number_of_run(run)) else self._of_another_run

    @property
    def _of_another_run(self) -> str:
        return f"another run has written into the topic {self._topic}"

    @contextmanager
    def _consumer(self, group: str) -> Iterator[Any]:
        """A member of a group that only notes offsets."""
        consumer = kafka().Consumer(
            {**to_reach_brokers(self._settings), "group.id": f"{GROUPS}{group}"},
            logger=SparingLog(self.logger),
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def _noted(self, number: int) -> list[Any]:
        return [kafka().TopicPartition(self._topic, 0, number)]

    def _last_run(self) -> int | None:
        """Id of the run that wrote last; None if none or unknown: brokers expire old offsets."""
        of_runs = self._topic, 0
        try:
            with self._consumer(self._group_of_runs) as consumer:
                return committed_offsets(consumer, [of_runs], self._rights.lacking)[of_runs]
        except kafka().KafkaException as error:
            why = self._rights.described(error.args[0])
            self.logger.warning("the run that wrote last is unknown: %s", why)
            return None

    @property
    def _group_of_runs(self) -> str:
        return f"run.{self.transactional_id}"

    def _note_run(self) -> None:
        """Outside of transactions: record the run with the first delivered record."""
        self._is_noted = True
        self._noting.enter_context(self._consumer(self._group_of_runs)).commit(
            offsets=self._noted(self._run), asynchronous=True
        )
        self.delegate.call_later(NOTING_SECS, self._noting.close)

    # --- transactions -----------------------------------------------------------------------------

    def row_of(self, tup: Any) -> list[Any]:
        """The key, the value and, if the config asks for some, the headers of a record."""
        key = self._encoders.get("key")
        record: list[Any] = [None if key is None else key(tup), self._encoders["value"](tup)]
        if self._headers_at is not None:
            record.append(headers_of(*self._headers_at.of(tup)))
        return record

    def checked_row(self, tup: Any) -> list[Any]:
        """The record; ValueError for a record above the size limit."""
        row = self.row_of(tup)
        most = ASK_IN_TRANSACTIONS_ABOVE_BYTES if self.repeats else ASK_ABOVE_BYTES
        if not self._knows_topic and size_of(row) > most:
            self._learn_limit()
        for each in self._limits:
            each.check(row, tup.fields[-1 if self._value_at is None else self._value_at.at])
        return row

    def _learn_limit(self) -> None:
        """Limit of the topic for uncompressed records: the size of a compressed record is known
        only in its batch."""
        self._knows_topic = True
        if self._settings.get("compression.type", "none") == "none":
            most = message_bytes_max(to_reach_brokers(self._settings), self._topic)
            if most is not None:
                self._limits.append(topic_limit(most, self._topic))

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Write the records in a transaction, unless it was committed before. ComponentError for a
        refused transaction."""
        producer, self._transactional = self._transactional, None
        try:
            if producer is None:
                # Fences a previous process and its open transaction, before the number is read.
                producer = self._made_producer({"transactional.id": self.transactional_id})
                producer.init_transactions(TRANSACTION_SECS)
            self._commit_with(producer, prepared, transaction_id)
        except kafka().KafkaException as error:
            raise ComponentError(
                f"Kafka at {self._servers}: {self._topic}: {self._rights.described(error.args[0])}"
            ) from None
        # The next attempt starts with a new producer, whatever the state of the current producer.
        self._transactional = producer

    def _commit_with(self, producer: Any, records: Sequence[Any], number: TransactionId) -> None:
        with self._consumer(number.writer) as consumer:
            (committed,) = consumer.committed(self._noted(0), timeout=METADATA_SECS)
            if committed.error is not None:
                raise kafka().KafkaException(committed.error)
            if committed.offset >= number.number:
                return
            producer.begin_transaction()
            for record in records:
                self._produce(producer, record)
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

    def _produce(self, producer: Any, record: Record, **more: Any) -> None:
        key, value, *headers = record
        if headers:
            more["headers"] = [tuple(each) for each in headers[0]]
        while True:
            try:
                producer.produce(self._topic, value, key, **more)
                return
            except BufferError:
                producer.poll(QUEUE_FULL_SECS)

    # --- records one by one -----------------------------------------------------------------------

    def process(self, tup: Any) -> None:
        """Pass a record to the producer, or retain the record for the checkpoint. ComponentError
        for a record refused for good."""
        if self.is_two_phase or self.is_in_batch:
            super().process(tup)
            return
        row = self.checked_row(tup)
        try:
            self._produce(self._producer, row, on_delivery=partial(self._delivered, tup))
        except kafka().KafkaException as error:
            text = self._rights.described(error.args[0])
            raise ComponentError(f"topic {self._topic}: {text}") from None
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
            f"Kafka at {self._servers}: {self._topic}: {self._rights.described(error)}",
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
        self._opened.close()


def _position(config: Mapping[str, Any], key: str) -> PartPosition | None:
    at = config.get(key)
    return None if at is None else PartPosition(int(at), key)
