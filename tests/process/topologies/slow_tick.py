"""A tick takes 1.5 s and emits something at its end; it is under way when the run is stopped."""

import time

import results

from heronpy_compat import Bolt, Grouping, Spout, Topology

HANDLER_SECS = 1.5


class Nothing(Spout):
    outputs = ["number"]

    def next_tuple(self):
        pass


class Slow(Bolt):
    outputs = ["tick"]

    def initialize(self, config, context):
        self.context, self.begun = context, 0

    def process(self, tup):
        raise NotImplementedError

    def process_tick(self, tup):
        self.begun += 1
        results.write_as("begun-1", self.begun)
        time.sleep(HANDLER_SECS)
        self.emit([self.begun])


class Keep(Bolt):
    auto_ack = True

    def initialize(self, config, context):
        self.context, self.rows = context, []

    def process(self, tup):
        self.rows.append(tup["tick"])

    def close(self):
        results.write(self.context, self.rows)


class SlowTick(Topology):
    nothing = Nothing.spec()
    slow = Slow.spec(inputs=[nothing], config={"topology.tick.tuple.freq.secs": 1})
    keep = Keep.spec(inputs={slow: Grouping.GLOBAL})
