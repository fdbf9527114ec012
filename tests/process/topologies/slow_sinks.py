"""What topologies with a sink that turns slow have in common: numbers without a pause, a sink.

Config: `test.fast.secs`, after which a tuple takes `test.slow.secs`. Told `enough`, the spout ends;
told `fast`, the sink is fast again.
"""

import os
import time

import results

from heronpy_compat import Bolt, Spout
from heronpy_compat.api.state.stateful_component import StatefulComponent

CONFIG = {
    "topology.reliability.mode": "EFFECTIVELY_ONCE",
    "topology.stateful.checkpoint.interval.seconds": 600,
    "test.fast.secs": 1.0,
    "test.slow.secs": 0.001,
}


def told(what):
    """Whether the test has said so."""
    return os.path.exists(os.path.join(os.environ["TEST_RESULTS"], f"{what}.json"))


class Numbers(Spout, StatefulComponent):
    """As fast as it can, in order."""

    outputs = ["number"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def next_tuple(self):
        if told("enough"):
            results.write_as("emitted", self.at)
            self.finish()
            return
        self.emit([self.at])
        self.at += 1


class TurnsSlow(Bolt):
    """Fast, then slow, then fast again; one that begins while others are slow is slow at once."""

    outputs = []

    def initialize(self, config, context):
        self.fast_secs, self.slow_secs = config["test.fast.secs"], config["test.slow.secs"]
        self.slow_at, self.is_slow, self.is_fast = None, told("slow"), told("fast")

    def process(self, tup):
        """What a tuple takes."""
        if self.is_fast:
            return
        if not self.is_slow:
            now = time.monotonic()
            self.slow_at = self.slow_at or now + self.fast_secs
            if now < self.slow_at:
                return
            self.is_slow = True
            results.write_as("slow", True)
        time.sleep(self.slow_secs)
        self.is_fast = told("fast")
