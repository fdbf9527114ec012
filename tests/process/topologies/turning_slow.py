"""A sink that is fast for a while, and then a thousand times slower: what waits for it then?"""

import time

import results

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

FAST_SECS = 2.0
SLOW_SECS = 0.0005
"""For a tuple. A million of them, as a queue of 4 MiB had, are ten minutes."""


class Numbers(Spout, StatefulComponent):
    """As fast as it can."""

    outputs = ["number"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def next_tuple(self):
        self.emit([self.at % 100])
        self.at += 1


class Pass(Bolt):
    """On to the sink."""

    outputs = ["number"]

    def process(self, tup):
        self.emit(tup.values)


class Sink(Bolt):
    """Fast, then slow."""

    outputs = []

    def initialize(self, config, context):
        self.slow_at, self.is_slow = None, False

    def process(self, tup):
        now = time.monotonic()
        if self.slow_at is None:
            self.slow_at = now + FAST_SECS
        if now < self.slow_at:
            return
        if not self.is_slow:
            self.is_slow = True
            results.write_as("slow", True)
        time.sleep(SLOW_SECS)


class TurningSlow(Topology):
    """spout -> bolt -> sink"""

    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 600,
    }
    numbers = Numbers.spec()
    through = Pass.spec(inputs={numbers: Grouping.SHUFFLE})
    sink = Sink.spec(inputs={through: Grouping.fields("number")})
