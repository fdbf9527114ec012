"""Records of a topic into a Delta table, each once: to the end of the topic."""

from heron_connectors.delta import DeltaSink
from heronpy_compat import Topology
from heronpy_compat.connectors.kafka import KafkaSpout


class KafkaToDelta(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
        "kafka.finish.at.end": True,
    }
    numbers = KafkaSpout.spec(par=2)
    table = DeltaSink.spec(inputs=[numbers])
