"""A topology that copies a topic by the schemas of a registry; whether to its end, its -o say."""

from typing import Any

from heronpy_compat import Topology
from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout


class Rows(KafkaSpout):
    outputs: Any = {"id": "bigint", "name": "string"}


class RegistryCopy(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
        "topology.restart.limit": 1000,
    }
    rows = Rows.spec()
    copy = KafkaSink.spec(inputs=[rows])
