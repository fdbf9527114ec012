"""A bolt that a person has hang: it does not save its state while there is a file `hold` in the
folder `hanging.folder`, and a second instance does not begin while there is a file `hang`."""

import os
import time

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent

PACE_SECS = 0.01
LOOK_AGAIN_SECS = 0.05


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.at = 0

    def next_tuple(self):
        time.sleep(PACE_SECS)
        self.emit([self.at])
        self.at += 1


class Seen(Bolt, StatefulComponent):
    outputs = []
    seen = value_state(default=0)

    def init_state(self, stateful_state):
        pass

    def initialize(self, config, context):
        self.folder = config["hanging.folder"]
        if context.get_task_id() != min(context.get_component_tasks("seen")):
            self.wait_for("hang")

    def wait_for(self, name):
        """Until a person has removed the file."""
        while os.path.exists(os.path.join(self.folder, name)):
            time.sleep(LOOK_AGAIN_SECS)

    def process(self, tup):
        self.seen.put(self.seen.get() + 1)

    def pre_save(self, checkpoint_id):
        self.wait_for("hold")


class Hanging(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    numbers = Numbers.spec()
    seen = Seen.spec(inputs={numbers: Grouping.fields("number")})
