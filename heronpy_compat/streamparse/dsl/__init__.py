"""The words that a topology is written in (streamparse.dsl)."""

from heronpy_compat.streamparse.dsl.stream import Grouping, Stream
from heronpy_compat.streamparse.dsl.topology import Topology

__all__ = ["Grouping", "Stream", "Topology"]
