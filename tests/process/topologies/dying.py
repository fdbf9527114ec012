"""A bolt that is slow enough to be killed in the middle of its work."""

import os
import time

import results

from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

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


class Slow(Bolt, StatefulComponent):
    """Counts in its state. Its first process is so slow that it never comes to the end."""

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.pause_secs = 0.001 if self.state.get("count") else 0.05
        results.write_as(f"start-{os.getpid()}", self.state.get("count", 0))

    def process(self, tup):
        time.sleep(self.pause_secs)
        self.state.put("count", self.state.get("count", 0) + 1)
        self.ack(tup)

    def pre_save(self, checkpoint_id):
        self.taken = self.state.get("count", 0)

    def post_save(self, checkpoint_id):
        results.write_as("saved", self.taken)


class Dying(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }

    lines = Lines.spec()
    slow = Slow.spec(inputs=[lines])
