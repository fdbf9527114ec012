"""A topology that copies a topic without end, by two readers of a group."""

from typing import Any

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout


class Hold(Bolt):
    """Hands numbers on; from `test.hold.from` on it keeps them, and they are never acked."""

    outputs = ["value"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.hold_from = int(config.get("test.hold.from", 1 << 30))

    def process(self, tup: Any) -> None:
        if int(tup.values[0]) < self.hold_from:
            self.emit(tup.values, anchors=[tup])
            self.ack(tup)


class Copying(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        # What is held, and what was read before a partition moved, must not keep the rest waiting.
        "topology.max.spout.pending": 10_000,
        "kafka.commit.secs": 0.05,
        # So soon the partitions of a reader that was killed are given to the other.
        "kafka.consumer": {
            "session.timeout.ms": 2000,
            "heartbeat.interval.ms": 300,
            "reconnect.backoff.max.ms": 500,
        },
        "kafka.producer": {"reconnect.backoff.max.ms": 500},
    }
    numbers = KafkaSpout.spec(par=2)
    hold = Hold.spec(inputs={numbers: Grouping.SHUFFLE})
    copy = KafkaSink.spec(inputs=[hold])
