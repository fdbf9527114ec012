"""10,000 messages a second from one spout to one bolt, with the instant of emission in each.

Config: `benchmark.count` messages; with ATLEAST_ONCE each of them is acked.
"""

import time
from array import array
from typing import Any

from benchmarks import workload
from benchmarks.reports import COUNT_KEY, report, tracked
from heronpy_compat import Bolt, Spout, Topology

TUPLES_PER_SECOND = 10_000
PAYLOAD = workload.message(0)


class Paced(Spout):
    """Emits each message when due, and overdue messages at once."""

    outputs = ["payload", "emitted_at", "due_at"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The first message is due when the topology runs."""
        self.config, self.left = config, int(config[COUNT_KEY])
        self.unacked, self.tracked = self.left, tracked(config)
        self.interval, self.due = 1 / TUPLES_PER_SECOND, 0.0
        self.latencies = array("d")

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        self.due = time.monotonic()

    def next_tuple(self) -> None:
        """Emit a message if due."""
        if not self.left:
            self.finish()
            return
        now = time.monotonic()
        if now >= self.due:
            self.emit([PAYLOAD, now, self.due], tup_id=now if self.tracked else None)
            self.due += self.interval
            self.left -= 1

    def ack(self, tup_id: float) -> None:
        """Latency of a message with its ack."""
        self.latencies.append(time.monotonic() - tup_id)
        if len(self.latencies) == self.unacked:
            report(self.config, "complete", seconds=self.latencies.tolist())


class Arrivals(Bolt):
    """Takes the time when a message arrives."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without arrivals."""
        self.config = config
        self.since_emit, self.since_due = array("d"), array("d")

    def process(self, tup: Any) -> None:
        """Note the latency of a message."""
        now = time.monotonic()
        _, emitted_at, due_at = tup.values
        self.since_emit.append(now - emitted_at)
        self.since_due.append(now - due_at)
        self.ack(tup)

    def on_finish(self) -> None:
        """All have arrived."""
        report(self.config, "hop", since_emit=self.since_emit.tolist(),
               since_due=self.since_due.tolist())  # fmt: skip


class Latency(Topology):
    """spout -> shuffle -> bolt"""

    paced = Paced.spec()
    arrivals = Arrivals.spec(inputs=[paced])
