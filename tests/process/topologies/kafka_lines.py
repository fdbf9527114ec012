"""Topologies around Kafka: one that copies a topic and ends, one that stops acking half way."""

import os

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout


class Numbers(KafkaSpout):
    outputs = ["value", "partition", "offset"]


class Record(Bolt):
    """Appends each number to a file, then acks it; from `test.hold.from` on it never does."""

    outputs = ["value"]

    def initialize(self, config, context):
        self.hold_from = int(config.get("test.hold.from", 1 << 30))
        path = os.path.join(os.environ["TEST_RESULTS"], f"{context.get_task_id()}.txt")
        self.file = open(path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115

    def process(self, tup):
        number = int(tup.values[0])
        self.file.write(f"{number}\n")
        self.emit([str(number)], anchors=[tup])
        if number < self.hold_from:
            self.ack(tup)


class Reading(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "kafka.topics": "numbers",
        "kafka.group": "reading",
        "kafka.commit.secs": 0.05,
        # Brokers give the partitions of a dead consumer away after so long; the mock takes 3 s to
        # let the members of a group come together, which must be less.
        "kafka.consumer": {"session.timeout.ms": 4000, "heartbeat.interval.ms": 300},
    }
    numbers = Numbers.spec(par=2)
    record = Record.spec(inputs={numbers: Grouping.SHUFFLE})


class Copying(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "kafka.topics": "numbers",
        "kafka.topic": "copy",
        "kafka.finish.at.end": True,
    }
    numbers = Numbers.spec(par=2)
    record = Record.spec(inputs={numbers: Grouping.SHUFFLE})
    copy = KafkaSink.spec(inputs=[record])
