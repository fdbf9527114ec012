"""Three thousand tasks, or as many as BENCHMARK_SHAPE says: their classes do nothing at all."""

import os
from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology

SHAPE_VARIABLE = "BENCHMARK_SHAPE"
SPOUTS, MIDS, SINKS = map(int, os.environ.get(SHAPE_VARIABLE, "600,1200,1200").split(","))


class Numbers(Spout):
    """A source without data."""

    outputs = ["number"]

    def next_tuple(self) -> None:
        """There is nothing."""


class Mid(Bolt):
    """A bolt without input."""

    outputs = ["number"]

    def process(self, tup: Any) -> None:
        """Never called."""


class Sink(Bolt):
    """A bolt without input."""

    def process(self, tup: Any) -> None:
        """Never called."""


class ManyTasks(Topology):
    """numbers -> mid -> sink"""

    numbers = Numbers.spec(par=SPOUTS)
    mid = Mid.spec(par=MIDS, inputs=[numbers])
    sink = Sink.spec(par=SINKS, inputs={mid: Grouping.fields("number")})
