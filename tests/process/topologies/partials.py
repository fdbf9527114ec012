"""Parts of a whole at several tasks, effectively once: a sum kept by tasks until the end, and a
sketch whose partial values are merged by a single task.

Config: `exact.folder`. A spout ends when the file `enough` exists in the folder, and writes the
number of emitted tuples into `emitted-TASK`; the tasks' results are in `part-TASK` and `distinct`.
"""

import json
import os
import time

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import mergeable_state, partial_state
from heronpy_compat.api.state.monoid import SumOf
from heronpy_compat.api.state.sketches import HyperLogLog
from heronpy_compat.windows import PartialBolt

NUMBERS_SECS = 0.02
"""For ten numbers: the cores are for what is killed and comes back."""


def write(config, name, value):
    """Write the file as a whole."""
    path = os.path.join(config["exact.folder"], name)
    with open(f"{path}.part", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.part", path)


class Numbers(Spout):
    outputs = ["number"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.config, self.task = config, context.get_task_id()

    def next_tuple(self):
        at = self.state.get("at", 0)
        if at % 10 == 0:
            time.sleep(NUMBERS_SECS)
            if os.path.exists(os.path.join(self.config["exact.folder"], "enough")):
                write(self.config, f"emitted-{self.task}", at)
                self.finish()
                return
        self.state.put("at", at + 1)
        self.emit([at])


class Parts(Bolt):
    """Keeps a part of the sum."""

    outputs = []
    part = partial_state(SumOf())

    def initialize(self, config, context):
        self.config, self.task = config, context.get_task_id()

    def process(self, tup):
        self.part.add(tup.values[0])

    def on_finish(self):
        write(self.config, f"part-{self.task}", self.part.estimate())


class Share(PartialBolt):
    monoid = HyperLogLog()

    def value(self, tup):
        return tup.values[0]


class Distinct(Bolt):
    outputs = []
    numbers = mergeable_state(Share.monoid)

    def initialize(self, config, context):
        self.config = config

    def process(self, tup):
        self.numbers.merge(tup.partial)

    def on_finish(self):
        write(self.config, "distinct", self.numbers.for_key(None).estimate())


class Partials(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    }
    numbers = Numbers.spec(par=2)
    parts = Parts.spec(par=3, inputs=[numbers])
    share = Share.spec(par=3, inputs=[numbers])
    distinct = Distinct.spec(inputs={share: Grouping.fields("key")})
