"""10,000 messages a second from one spout to one bolt, each carrying the instant of its emit.

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
    """Emits a message when it is due, and all that are due when it is late."""

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
        """One message, if it is time."""
        if not self.left:
            self.finish()
            return
        now = time.monotonic()
        if now >= self.due:
            self.emit([PAYLOAD, now, self.due], tup_id=now if self.tracked else None)
            self.due += self.interval
            self.left -= 1

    def ack(self, tup_id: float) -> None:
        """The way of one message there and of its ack back."""
        self.latencies.append(time.monotonic() - tup_id)
        if len(self.latencies) == self.unacked:
            report(self.config, "complete", seconds=self.latencies.tolist())


class Arrivals(Bolt):
    """Takes the time when a message arrives."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has arrived."""
        self.config = config
        self.since_emit, self.since_due = array("d"), array("d")

    def process(self, tup: Any) -> None:
        """One message."""
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
