"""Each number becomes many tuples, or a wide one, for a sink that turns slow until it is told.

Config: `test.fan` tuples of each number, of `test.bytes` each. Told `enough`, the spout ends.
"""

import os
import time

import results

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent

FAST_SECS = 1.0
SLOW_SECS = 0.001
KEYS = 97


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


class Fan(Bolt):
    """Many of each."""

    outputs = ["key", "filling"]

    def initialize(self, config, context):
        self.fan, self.filling = int(config["test.fan"]), "x" * int(config["test.bytes"])

    def process(self, tup):
        (number,) = tup.values
        for at in range(self.fan):
            self.emit([(number + at) % KEYS, self.filling])


class Side(Bolt):
    """Never slow."""

    outputs = []

    def process(self, tup):
        pass


class Sink(Bolt):
    """Counts by key: fast, then slow, then fast again."""

    outputs = []
    count = value_state(default=0)

    def initialize(self, config, context):
        self.slow_at, self.is_slow, self.is_fast = None, False, False

    def process(self, tup):
        self.count.put(self.count.get() + 1)
        if self.is_fast:
            return
        now = time.monotonic()
        self.slow_at = self.slow_at or now + FAST_SECS
        if now < self.slow_at:
            return
        if not self.is_slow:
            self.is_slow = True
            results.write_as("slow", True)
        time.sleep(SLOW_SECS)
        self.is_fast = told("fast")

    def on_finish(self):
        results.write_as("counted", dict(self.count.all_items()))


class FanningOut(Topology):
    """spout -> fan -> sink, and another bolt beside them"""

    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 600,
        "test.fan": 1000,
        "test.bytes": 1,
    }
    numbers = Numbers.spec()
    fan = Fan.spec(inputs={numbers: Grouping.SHUFFLE})
    side = Side.spec(inputs={numbers: Grouping.SHUFFLE})
    sink = Sink.spec(inputs={fan: Grouping.fields("key")})
