"""Tuples at a low rate, over two hops: how long each takes from its emit to the last bolt."""

import time

import results

from heronpy_compat import Bolt, Spout, Topology

ROUNDS = 3
TUPLES = 220
"""Of a round."""
PAUSE_SECS = 0.004


class Paced(Spout):
    outputs = ["number", "emitted_at"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        if self.number == ROUNDS * TUPLES:
            self.finish()
            return
        time.sleep(PAUSE_SECS)
        self.emit([self.number, time.monotonic()])
        self.number += 1


class Relay(Bolt):
    outputs = ["number", "emitted_at"]

    def process(self, tup):
        self.emit(list(tup.values))


class Last(Bolt):
    def initialize(self, config, context):
        self.context = context
        self.secs = [[] for _ in range(ROUNDS)]

    def process(self, tup):
        number, emitted_at = tup.values
        self.secs[number // TUPLES].append(time.monotonic() - emitted_at)

    def on_finish(self):
        results.write(self.context, self.secs)


class PacedHops(Topology):
    paced = Paced.spec()
    relay = Relay.spec(inputs=[paced])
    last = Last.spec(inputs=[relay])
