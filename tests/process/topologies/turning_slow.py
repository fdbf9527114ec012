"""A sink that is fast for a while, and then a thousand times slower: what waits for it then?"""

import slow_sinks

from heronpy_compat import Bolt, Grouping, Topology

KEYS = 100


class Pass(Bolt):
    """On to the sink."""

    outputs = ["number"]

    def process(self, tup):
        self.emit([tup.number % KEYS])


class TurningSlow(Topology):
    """spout -> bolt -> sink"""

    config = {
        **slow_sinks.CONFIG,
        "test.fast.secs": 2.0,
        "test.slow.secs": 0.0005,  # a million of them, as a queue of 4 MiB had, are ten minutes
    }
    numbers = slow_sinks.Numbers.spec()
    through = Pass.spec(inputs={numbers: Grouping.SHUFFLE})
    sink = slow_sinks.TurnsSlow.spec(inputs={through: Grouping.fields("number")})
