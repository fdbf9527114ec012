"""Each number becomes many tuples, or a wide one, for sinks that turn slow until they are told.

Config: `test.fan` tuples of each number, of `test.bytes` each; see slow_sinks.py.
Environment: TEST_SINKS instances of the sink.
"""

import os

import results
import slow_sinks

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.api.state.keyed_state import value_state

KEYS = 97


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


class Sink(slow_sinks.TurnsSlow):
    """Counts by key."""

    count = value_state(default=0)

    def initialize(self, config, context):
        super().initialize(config, context)
        self.context = context

    def process(self, tup):
        self.count.put(self.count.get() + 1)
        super().process(tup)

    def on_finish(self):
        results.write(self.context, dict(self.count.all_items()))


class FanningOut(Topology):
    """spout -> fan -> sink, and another bolt beside them"""

    config = {**slow_sinks.CONFIG, "test.fan": 1000, "test.bytes": 1}
    numbers = slow_sinks.Numbers.spec()
    fan = Fan.spec(inputs={numbers: Grouping.SHUFFLE})
    side = Side.spec(inputs={numbers: Grouping.SHUFFLE})
    sink = Sink.spec(
        par=int(os.environ.get("TEST_SINKS", "1")), inputs={fan: Grouping.fields("key")}
    )
