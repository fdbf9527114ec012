"""A bolt that is slow enough to be killed in the middle of its work."""

import os
import time

import results

from heronpy_compat import Bolt, Spout, Topology

LINES = 300


class Lines(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.waiting = list(range(LINES))

    def next_tuple(self):
        if self.waiting:
            number = self.waiting.pop()
            self.emit([number], tup_id=number)
        else:
            self.finish()

    def fail(self, tup_id):
        self.waiting.append(tup_id)


class Slow(Bolt):
    def initialize(self, config, context):
        results.write_as(f"start-{os.getpid()}", True)

    def process(self, tup):
        time.sleep(0.003)
        self.ack(tup)


class Dying(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    lines = Lines.spec()
    slow = Slow.spec(inputs=[lines])
