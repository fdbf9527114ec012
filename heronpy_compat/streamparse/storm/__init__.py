"""The classes that users derive theirs from (streamparse.storm)."""

from heronpy_compat.pystorm.component import Tuple
from heronpy_compat.streamparse.storm.bolt import (
    BatchingBolt,
    Bolt,
    JavaBolt,
    ShellBolt,
    TicklessBatchingBolt,
)
from heronpy_compat.streamparse.storm.component import Component, StormHandler
from heronpy_compat.streamparse.storm.spout import JavaSpout, ReliableSpout, ShellSpout, Spout

__all__ = [
    "BatchingBolt",
    "Bolt",
    "Component",
    "JavaBolt",
    "JavaSpout",
    "ReliableSpout",
    "ShellBolt",
    "ShellSpout",
    "Spout",
    "StormHandler",
    "TicklessBatchingBolt",
    "Tuple",
]
