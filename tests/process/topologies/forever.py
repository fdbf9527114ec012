"""Runs until it is ended: numbers from a spout to two bolts; several topologies to choose from."""

import results

from heronpy_compat import Bolt, Grouping, Spout, Topology

CALLS_PER_TUPLE = 8
"""Some forty tuples a second: calls that emit nothing come more and more slowly."""


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        self.number += 1
        # A turn of calls ends with the first one that emits nothing, and the next one waits if it
        # emits nothing at all. Busy processes would only slow down the test.
        if self.number % CALLS_PER_TUPLE == 0:
            self.emit([self.number], tup_id=self.number)


class Add(Bolt):
    def initialize(self, config, context):
        self.context, self.total = context, 0

    def process(self, tup):
        self.total += tup.values[0]
        self.ack(tup)

    def close(self):
        results.write(self.context, {"closed": True})


class Forever(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    numbers = Numbers.spec()
    add = Add.spec(par=2, inputs={numbers: Grouping.SHUFFLE})


class Other(Forever):
    pass
