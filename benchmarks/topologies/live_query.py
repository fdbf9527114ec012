"""Counts keys at full speed: each of LIVE_QUERY_KEYS once, and then in the same order again."""

import os
from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state

KEYS = int(os.environ.get("LIVE_QUERY_KEYS", "1000000"))
BURST = 50


class Keys(Spout):
    """Emits the keys for ever."""

    outputs: Any = ("key",)

    def initialize(self, config: Any, context: Any) -> None:
        """Begin with the first."""
        self.at = 0

    def next_tuple(self) -> None:
        """Some keys."""
        for _ in range(BURST):
            self.emit([f"key {self.at}"])
            self.at = (self.at + 1) % KEYS


class Count(Bolt):
    """Counts."""

    outputs: Any = ()
    count = value_state(default=0)

    def process(self, tup: Any) -> None:
        """One more."""
        self.count.put(self.count.get() + 1)


class LiveQuery(Topology):
    """A spout and a bolt."""

    config = {"topology.reliability.mode": "ATMOST_ONCE"}
    keys = Keys.spec()
    count = Count.spec(inputs={keys: Grouping.fields("key")})
