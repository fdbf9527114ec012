"""A load that triples: lines by the clock -> a bolt that takes 4 ms for each, as a service would.

Config: `benchmark.triples.after`, seconds; before that BASE_PER_SECOND lines are due each second.
"""

import time
from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology

AFTER_KEY = "benchmark.triples.after"
BASE_PER_SECOND = 150
"""60 % of what one instance of the bolt can do."""
TIMES = 3
SERVICE_SECONDS = 0.004
KEYS = 1000


class Lines(Spout):
    """Emits what is due, and never catches up with what could not be emitted in time."""

    outputs = ["key"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The first is due now."""
        self.began = self.due = time.monotonic()
        self.after = float(config[AFTER_KEY])
        self.number = 0

    def next_tuple(self) -> None:
        """One line, if it is due."""
        now = time.monotonic()
        if now < self.due:
            return
        rate = BASE_PER_SECOND * (TIMES if now - self.began > self.after else 1)
        self.due = max(self.due + 1 / rate, now - 0.05)
        self.number += 1
        self.emit([self.number % KEYS])


class Ask(Bolt):
    """Waits for a service."""

    def process(self, tup: Any) -> None:
        """One line."""
        time.sleep(SERVICE_SECONDS)


class TripledLoad(Topology):
    """lines -> ask"""

    lines = Lines.spec()
    ask = Ask.spec(inputs={lines: Grouping.fields("key")})
