"""A spout of 100-byte tuples without ids, as fast as it can, into a bolt that sleeps.

Config: `benchmark.sleep`, seconds for each tuple.
"""

import time
from typing import Any

from benchmarks import workload
from benchmarks.reports import report
from heronpy_compat import Bolt, Spout, Topology

SLEEP_KEY = "benchmark.sleep"
PAYLOAD = workload.message(0)


class HundredBytes(Spout):
    """There always is one more."""

    outputs = ["payload"]

    def next_tuple(self) -> None:
        """One message."""
        self.emit([PAYLOAD])


class Sleeping(Bolt):
    """It takes its time for each tuple."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """It is there."""
        self.seconds = float(config[SLEEP_KEY])
        report(config, "ready")

    def process(self, tup: Any) -> None:
        """One message."""
        time.sleep(self.seconds)


class Flood(Topology):
    """spout -> shuffle -> bolt"""

    hundred_bytes = HundredBytes.spec()
    sleeping = Sleeping.spec(inputs=[hundred_bytes])
