"""Common parts of Kafka's spout and sink: keys, the client's package, errors in one line."""

import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from heron_connectors.kafka.rights import DESCRIBE, Rights, error_text
from heron_core.errors import ComponentError
from heron_core.optional_packages import needed

SERVERS = "kafka.bootstrap.servers"
"""Config key: host:port of one or more brokers, separated by commas."""
PRODUCER = "kafka.producer"
"""Config key: further settings of librdkafka's producer."""

NEEDED_PACKAGE = ("confluent_kafka", "Kafka")
"""The client's module, and its purpose."""

METADATA_SECS = 6.0
"""How long the brokers may take to tell of a topic before they count as absent."""

LOG_EVERY_SECS = 60.0
"""librdkafka logs each try to connect: twenty lines a second while a broker is away."""


class SparingLog:
    """Logger for librdkafka: at most one line a minute of each kind."""

    def __init__(self, logger: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._logged_at: dict[str, float] = {}
        """Kind -> time of the last line; librdkafka has some dozens of kinds, such as FAIL and
        GETPID."""

    def log(self, level: int, form: str, kind: str, *rest: Any) -> None:
        """As logging.Logger.log; confluent_kafka calls nothing else."""
        now = self._clock()
        if now >= self._logged_at.get(kind, -LOG_EVERY_SECS) + LOG_EVERY_SECS:
            self._logged_at[kind] = now
            self._logger.log(level, form, kind, *rest)


def kafka() -> Any:
    """The package confluent_kafka; ComponentError if it is missing."""
    return needed(*NEEDED_PACKAGE)


def to_reach_brokers(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a producer's settings that a consumer needs as well."""
    names = ("bootstrap.servers", "client.id", "log_level")
    prefixes = ("security.", "sasl.", "ssl.", "socket.", "broker.")
    return {
        name: each for name, each in settings.items() if name in names or name.startswith(prefixes)
    }


def setting(config: Mapping[str, Any], key: str, attribute: Any, name: str) -> Any:
    """The value in the config, or else an attribute of the class; ComponentError without a
    value."""
    value = config.get(key, attribute)
    if value is None or value in ("", []):
        raise ComponentError(f"{name}: its config needs {key}")
    return value


def partitions_of(client: Any, servers: str, topics: Iterable[str]) -> list[tuple[str, int]]:
    """(topic, partition) of all topics; ComponentError if no broker answers or one is unknown."""
    errors = kafka().KafkaException
    partitions = []
    for topic in topics:
        try:
            described = client.list_topics(topic, timeout=METADATA_SECS).topics[topic]
        except errors as error:
            raise ComponentError(
                f"Kafka at {servers} does not answer: {error_text(error.args[0])}"
            ) from None
        if described.error is not None:
            text = Rights(topic, DESCRIBE).described(described.error)
            raise ComponentError(f"Kafka at {servers}: topic {topic!r}: {text}")
        partitions += [(topic, number) for number in sorted(described.partitions)]
    return partitions


def message_bytes_max(settings: Mapping[str, Any], topic: str) -> int | None:
    """How large a batch of records of a topic may be; None if the brokers do not tell."""
    admin = import_module("confluent_kafka.admin")
    asked = admin.ConfigResource(admin.ResourceType.TOPIC, topic)
    try:
        client = admin.AdminClient(settings)
        (answer,) = client.describe_configs([asked], request_timeout=METADATA_SECS).values()
        return int(answer.result()["max.message.bytes"].value)
    except kafka().KafkaException:  # the client may lack the right
        return None
