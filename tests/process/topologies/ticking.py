"""Ticks come between tuples and while there are none."""

import time

import results

from heronpy_compat import Bolt, Spout, Topology

RUNS_SECS = 0.6


class Rare(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.until = None

    def next_tuple(self):
        if self.until is None:
            self.until = time.monotonic() + RUNS_SECS
            self.emit([1])
        elif time.monotonic() > self.until:
            self.finish()


class Clock(Bolt):
    def initialize(self, config, context):
        self.context, self.ticks, self.tuples = context, [], 0

    def process(self, tup):
        self.tuples += not self.is_tick(tup)
        self.ack(tup)

    def process_tick(self, tup):
        assert self.is_tick(tup)
        self.ticks.append([time.monotonic(), tup.component, tup.stream, tup.values])

    def on_finish(self):
        results.write(self.context, {"ticks": self.ticks, "tuples": self.tuples})


class Ticking(Topology):
    rare = Rare.spec()
    clock = Clock.spec(inputs=[rare], config={"topology.tick.tuple.freq.secs": 0.05})
    without = Clock.spec(inputs=[rare])
