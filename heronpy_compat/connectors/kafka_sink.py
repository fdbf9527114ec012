"""Tuples into a Kafka topic, acked when the brokers have them."""

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.api.bolt.bolt import Bolt
from heronpy_compat.connectors.kafka_client import (
    NEEDED_PACKAGE,
    SERVERS,
    SparingLog,
    error_text,
    kafka,
    partitions_of,
    setting,
)

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext

TOPIC = "kafka.topic"
"""Config key: the topic to write."""
KEY_AT = "kafka.key.position"
"""Config key: which value of a tuple, counting from 0, is the record's key; none by default."""
VALUE_AT = "kafka.value.position"
"""Config key: which one is its value (the last one)."""
PRODUCER = "kafka.producer"
"""Config key: further settings of librdkafka's producer."""

POLL_SECS = 0.005
"""How often to ask for deliveries while nothing else comes."""
ROOM_SECS = 0.1
"""How long to wait at a time until the producer's full queue has room."""
CLOSE_SECS = 5.0
"""What is under way at the end may take so long, as executors give their processes no more."""
IN_TIME = 0.8
"""Part of the message timeout after which a record that is not delivered fails its tuple."""


class KafkaSink(Bolt):
    """Writes one record for each tuple: texts as UTF-8, bytes as they are, the rest as JSON.

    The producer is idempotent: its own repetitions come once. A tuple that is replayed comes again.
    """

    topic: str | None = None
    servers: str | None = None
    needed_package = NEEDED_PACKAGE

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Connect; ComponentError if no broker answers or the topic is unknown."""
        name = context.get_component_id()
        self._topic = str(setting(config, TOPIC, self.topic, name))
        self._servers = str(setting(config, SERVERS, self.servers, name))
        key_at = config.get(KEY_AT)
        self._key_at = None if key_at is None else int(key_at)
        self._value_at = int(config.get(VALUE_AT, -1))
        timeout_ms = int(keys.seconds(keys.with_defaults(config), keys.MESSAGE_TIMEOUT_SECS) * 1000)
        self._under_way = 0
        self._is_polling = False
        self._producer: Any = kafka().Producer(
            {
                "bootstrap.servers": self._servers,
                "enable.idempotence": True,
                "message.timeout.ms": max(1, int(timeout_ms * IN_TIME)),
                **config.get(PRODUCER, {}),
            },
            logger=SparingLog(self.logger),
        )
        partitions_of(self._producer, self._servers, [self._topic])

    def process(self, tup: Any) -> None:
        """Hand a record to the producer."""
        key = None if self._key_at is None else _as_bytes(tup.values[self._key_at])
        value = _as_bytes(tup.values[self._value_at])
        delivered = partial(self._delivered, tup)
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=delivered)
                break
            except BufferError:
                self._producer.poll(ROOM_SECS)
            except kafka().KafkaException as error:
                raise ComponentError(f"topic {self._topic}: {error_text(error.args[0])}") from None
        self._under_way += 1
        self._producer.poll(0)
        self._poll_later()

    def _delivered(self, tup: Any, error: Any, _: Any) -> None:
        self._under_way -= 1
        if error is None:
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
        return self._under_way == 0

    def close(self) -> None:
        """Wait a little for what is under way."""
        self._producer.flush(CLOSE_SECS)

    def __getstate__(self) -> dict[str, Any]:
        """Nothing has to be remembered: between two batches no record is under way."""
        return {}


def _as_bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()
