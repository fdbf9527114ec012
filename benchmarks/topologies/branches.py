"""Two independent branches; the bolt of the left branch may be slow.

Config: `benchmark.right.rate`, `benchmark.left.rate` tuples a second (0: none), and
`benchmark.left.sleep`, seconds of sleep per tuple in the left bolt.
"""

import time
from typing import Any

from benchmarks import workload
from benchmarks.reports import report
from heronpy_compat import Bolt, Spout, Topology

RIGHT_RATE_KEY = "benchmark.right.rate"
LEFT_RATE_KEY = "benchmark.left.rate"
LEFT_SLEEP_KEY = "benchmark.left.sleep"
REPORT_SECONDS = 0.5
SHORT_PAYLOAD = workload.message(0)
LONG_PAYLOAD = 10 * workload.message(0)
"""1,000 bytes: the slow branch fills its queues in a moment, before the measurement."""
BEHIND_SECONDS = 0.01
"""Backlog limit of a paced spout: a longer pause is lost."""


class Paced(Spout):
    """So many tuples a second."""

    outputs = ["payload"]

    def start(self, rate: float, payload: bytes | str) -> None:
        """The first tuple is due at once."""
        self.rate, self.payload, self.due = rate, payload, 0.0

    def next_tuple(self) -> None:
        """Emit a tuple if due."""
        if not self.rate:
            return
        now = time.monotonic()
        if now >= self.due:
            self.due = max(self.due, now - BEHIND_SECONDS) + 1 / self.rate
            self.emit([self.payload])


class Left(Paced):
    """The branch that may be slow."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Read the speed from the config."""
        self.start(float(config[LEFT_RATE_KEY]), LONG_PAYLOAD)


class Right(Paced):
    """The branch that is measured."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Read the speed from the config."""
        self.start(float(config[RIGHT_RATE_KEY]), SHORT_PAYLOAD)


class LeftBolt(Bolt):
    """Read the sleep per tuple, possibly zero."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """How long is in the config."""
        self.seconds = float(config[LEFT_SLEEP_KEY])

    def process(self, tup: Any) -> None:
        """Count a message."""
        if self.seconds:
            time.sleep(self.seconds)


class RightBolt(Bolt):
    """Counts, and tells the count twice a second."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has come."""
        self.config, self.count = config, 0

    def process(self, tup: Any) -> None:
        """Count a message."""
        self.count += 1

    def process_tick(self, tup: Any) -> None:
        """The count so far."""
        report(self.config, "count", count=self.count)


class Branches(Topology):
    """left -> left_bolt; right -> right_bolt"""

    left = Left.spec()
    left_bolt = LeftBolt.spec(inputs=[left])
    right = Right.spec()
    right_bolt = RightBolt.spec(
        inputs=[right], config={"topology.tick.tuple.freq.secs": REPORT_SECONDS}
    )
