"""100-byte messages from one spout to one bolt by shuffle.

Config: `benchmark.count` messages; with ATLEAST_ONCE each of them is acked.
"""

from typing import Any

from benchmarks import workload
from benchmarks.reports import COUNT_KEY, report, tracked
from heronpy_compat import Bolt, Spout, Topology


class Messages(Spout):
    """Emits the messages once, each acked if the topology tracks."""

    outputs = ["message"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the clock runs."""
        self.config, self.count = config, int(config[COUNT_KEY])
        self.numbers = iter(range(self.count))
        self.acked, self.tracked = 0, tracked(config)

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.config, "first")

    def next_tuple(self) -> None:
        """Emit a message."""
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        elif self.tracked:
            self.emit([workload.message(number)], tup_id=number)
        else:
            self.emit([workload.message(number)])

    def ack(self, tup_id: int) -> None:
        """Note an arrival."""
        self.acked += 1
        if self.acked == self.count:
            report(self.config, "last")

    def fail(self, tup_id: int) -> None:
        """Replay the message: the bolt will have counted an extra message."""
        self.emit([workload.message(tup_id)], tup_id=tup_id)


class Lengths(Bolt):
    """Adds up the lengths of the messages, as the peer's map does."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without arrivals."""
        self.config, self.total_bytes = config, 0

    def process(self, tup: Any) -> None:
        """Count a message."""
        self.total_bytes += len(tup.values[0])
        self.ack(tup)

    def on_finish(self) -> None:
        """Everything has arrived."""
        report(self.config, "finished", total_bytes=self.total_bytes)


class OneHop(Topology):
    """spout -> shuffle -> bolt"""

    messages = Messages.spec()
    lengths = Lengths.spec(inputs=[messages])
