"""One spout that emits nothing and bolts that wait: as many as BENCHMARK_BOLTS says, else ten."""

import os
from typing import Any

from benchmarks.reports import report
from heronpy_compat import Bolt, Spout, Topology

BOLTS_VARIABLE = "BENCHMARK_BOLTS"
IDLE_BOLTS = 10


class Silent(Spout):
    """A source without data."""

    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """It is there."""
        report(config, "ready")

    def next_tuple(self) -> None:
        """There is nothing."""


class Waiting(Bolt):
    """A bolt without input."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """It is there."""
        report(config, "ready")

    def process(self, tup: Any) -> None:
        """Never called."""
        self.ack(tup)


class Idle(Topology):
    """spout -> bolts"""

    silent = Silent.spec()
    waiting = Waiting.spec(par=int(os.environ.get(BOLTS_VARIABLE, IDLE_BOLTS)), inputs=[silent])
