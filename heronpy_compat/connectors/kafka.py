"""Kafka: a spout that reads topics, a bolt that writes one (pip install heronpy-topologies[kafka]).

from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout
"""

from heronpy_compat.connectors.kafka_sink import KafkaSink
from heronpy_compat.connectors.kafka_spout import KafkaSpout

__all__ = ["KafkaSink", "KafkaSpout"]
