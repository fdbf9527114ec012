"""Kafka: a spout that reads topics, a bolt that writes one (pip install heronpy-topologies[kafka]).

Example:

    from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout
"""

from heron_connectors.kafka.sink import KafkaSink
from heron_connectors.kafka.spout import KafkaSpout

__all__ = ["KafkaSink", "KafkaSpout"]
