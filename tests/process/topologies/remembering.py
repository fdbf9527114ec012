"""A spout that remembers how far it is, at least once, and says where each of its processes begins.

Config: `remembered.folder` has a line in `begun` for each process; the spout ends when the file
`enough` is there.
"""

import os
import time

from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

PACE_SECS = 0.02


class Numbers(Spout, StatefulComponent):
    outputs = ["number"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.folder = config["remembered.folder"]
        self.at = self.state.get("at") or 0
        with open(os.path.join(self.folder, "begun"), "a") as file:
            file.write(f"{self.at}\n")

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def next_tuple(self):
        time.sleep(PACE_SECS)
        if os.path.exists(os.path.join(self.folder, "enough")):
            self.finish()
            return
        self.at += 1
        self.emit([self.at], tup_id=self.at)


class Taken(Bolt):
    outputs = []

    def process(self, tup):
        self.ack(tup)


class Remembering(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    numbers = Numbers.spec()
    taken = Taken.spec(inputs=[numbers])
