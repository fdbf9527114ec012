"""A hundred words a second through 20 instances: topologies that are there to be looked at."""

import time
from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology

PER_SEC = 25
"""Of each of the four spouts."""
WORDS = [f"word-{number}" for number in range(100)]
BEHIND_SECS_MAX = 0.5
"""More is not caught up with after a pause."""


class Paced(Spout):
    """So many words a second."""

    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is due yet."""
        self.number, self.due = 0, time.monotonic()

    def next_tuple(self) -> None:
        """Those that are due."""
        now = time.monotonic()
        self.due = max(self.due, now - BEHIND_SECS_MAX)
        while self.due <= now:
            self.due += 1 / PER_SEC
            self.number += 1
            self.emit([WORDS[self.number % len(WORDS)]], tup_id=self.number)


class Pass(Bolt):
    """Hands words on."""

    outputs = ["word"]

    def process(self, tup: Any) -> None:
        """One of them."""
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Count(Bolt):
    """Takes them."""

    def process(self, tup: Any) -> None:
        """One of them."""
        self.ack(tup)


class PacedWords(Topology):
    """lines (4) -> split (8) -> count (8)"""

    config = {"topology.stmgrs": 2}

    lines = Paced.spec(par=4)
    split = Pass.spec(par=8, inputs=[lines])
    count = Count.spec(par=8, inputs={split: Grouping.fields("word")})
