"""A spout that reads a topic of Apache Pulsar (heronpy.connectors.pulsar.pulsarspout)."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from heron_api.component.component_spec import HeronComponentSpec
from heron_api.spout.spout import Spout
from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM
from heronpy_compat.streamlet.impl.streamletspoutbase import StreamletSpoutBase

RECEIVE_TIMEOUT_MS = 10
"""Longest wait for a message in a call of next_tuple (Heron's default)."""


def pulsar_client() -> ModuleType:
    """Import pulsar-client; ComponentError with the install command if the package is missing."""
    try:
        return import_module("pulsar")
    except ImportError:
        raise ComponentError(
            "reading from Pulsar needs the package pulsar-client: pip install pulsar-client"
        ) from None


class PulsarSpout(Spout, StreamletSpoutBase):
    """Emits the messages of a topic, acknowledges acked tuples and redelivers failed tuples.

    Required config keys: `PulsarSpout.serviceUrl` and `PulsarSpout.topicName`. Optional keys:
    `receiveTimeoutMs` and `deserializer` (message -> list with one value; default: the text). All
    instances share one subscription, named after the topology.
    """

    serviceUrl = "PULSAR_SERVICE_URL"  # noqa: N815 (heronpy's names)
    topicName = "PULSAR_TOPIC"  # noqa: N815
    receiveTimeoutMs = "PULSAR_RECEIVE_TIMEOUT_MS"  # noqa: N815
    deserializer = "PULSAR_MESSAGE_DESERIALIZER"

    @classmethod
    def spec(cls, *arguments: Any, **named: Any) -> HeronComponentSpec:
        """Like `Spout.spec`; ComponentError if pulsar-client is not installed."""
        pulsar_client()
        return super().spec(*arguments, **named)

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Subscribe to the topic."""
        self._pulsar = pulsar_client()
        name = context.get_component_id()
        for key in (self.serviceUrl, self.topicName):
            if key not in config:
                raise ComponentError(f"spout {name!r}: its config needs {key}")
        self._timeout_ms = int(config.get(self.receiveTimeoutMs, RECEIVE_TIMEOUT_MS))
        self._deserialize: Callable[[Any], list[Any]] = config.get(self.deserializer, _as_text)
        self.client = self._pulsar.Client(str(config[self.serviceUrl]))
        self.consumer = self.client.subscribe(
            str(config[self.topicName]),
            context.get_topology_name(),
            consumer_type=self._pulsar.ConsumerType.Failover,
            unacked_messages_timeout_ms=int(keys.seconds(config, keys.MESSAGE_TIMEOUT_SECS) * 1000),
        )

    def next_tuple(self) -> None:
        """Emit one message, if available."""
        try:
            message = self.consumer.receive(timeout_millis=self._timeout_ms)
        except self._pulsar.Timeout:
            return
        values = self._deserialize(message.data())
        self.emit(values, tup_id=message.message_id(), stream=OUTPUT_STREAM)

    def ack(self, tup_id: Any) -> None:
        """The message is processed."""
        self.consumer.acknowledge(tup_id)

    def fail(self, tup_id: Any) -> None:
        """Request redelivery of the message."""
        self.consumer.negative_acknowledge(tup_id)

    def close(self) -> None:
        """Close the consumer; the remaining instances take over the subscription."""
        self.client.close()


def _as_text(data: bytes) -> list[str]:
    return [data.decode()]
