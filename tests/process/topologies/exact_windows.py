"""Keyed counts and windows over a diamond and a fan-in, effectively once.

    numbers ─┬─ left  ─┬─ counts                 each number is counted twice, by its key
    others  ─┤─ right ─┘
             └─ windows ── totals                 each window's result arrives once

Config: `exact.folder`, `exact.count` numbers of each spout's task, due `exact.rate` a second from
`exact.begin` (CLOCK_MONOTONIC seconds). In the end counts and totals write what they have into
`counts-TASK` and `totals-TASK`. The environment variable EXACT_SHAPE has the number of tasks of
each component, in the order above.
"""

import json
import os
import time

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import list_state, value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.windows import Count as CountOf
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

KEYS = 53
STEP_MS = 10
WINDOW_MS = 1000
SHAPE = tuple(map(int, os.environ.get("EXACT_SHAPE", "2,1,2,2,2,2,1").split(",")))


def event(task_index, at):
    """The key and the time of the number `at` of a task."""
    return (at * 7 + task_index) % KEYS, at * STEP_MS


def write(config, name, value):
    """A file that is there as a whole."""
    path = os.path.join(config["exact.folder"], name)
    with open(f"{path}.part{os.getpid()}", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.part{os.getpid()}", path)


class Numbers(Spout, StatefulComponent):
    outputs = ["key", "time_ms"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        tasks = context.get_component_tasks(context.get_component_id())
        self.index = tasks.index(context.get_task_id())
        self.count, self.rate = int(config["exact.count"]), float(config["exact.rate"])
        self.begin = float(config["exact.begin"])
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def next_tuple(self):
        if self.at == self.count:
            self.finish()
        elif self.begin + self.at / self.rate <= time.monotonic():
            self.emit(event(self.index, self.at))
            self.at += 1


class Pass(Bolt):
    outputs = ["key"]

    def process(self, tup):
        self.emit([tup.values[0]])


class Counts(Bolt):
    outputs = []
    seen = value_state(default=0)

    def initialize(self, config, context):
        self.config, self.name = config, f"counts-{context.get_task_id()}"

    def process(self, tup):
        self.seen.put(self.seen.get() + 1)

    def on_finish(self):
        write(self.config, self.name, dict(self.seen.all_items()))


class Windows(KeyedWindowBolt):
    outputs = ["key", "start_ms", "end_ms", "events"]
    key_fields = ["key"]
    timestamp_field = "time_ms"
    window = Tumbling(WINDOW_MS)
    aggregate = CountOf()
    lag_ms = 0


class Totals(Bolt):
    outputs = []
    results = list_state()

    def initialize(self, config, context):
        self.config, self.name = config, f"totals-{context.get_task_id()}"

    def process(self, tup):
        self.results.add([tup.values[1], tup.values[3]])

    def on_finish(self):
        write(self.config, self.name, dict(self.results.all_items()))


class ExactWindows(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.5,
        "topology.restart.limit": 1000,
    }
    numbers = Numbers.spec(par=SHAPE[0])
    others = Numbers.spec(par=SHAPE[1])
    left = Pass.spec(par=SHAPE[2], inputs=[numbers, others])
    right = Pass.spec(par=SHAPE[3], inputs=[numbers, others])
    counts = Counts.spec(
        par=SHAPE[4], inputs={left: Grouping.fields("key"), right: Grouping.fields("key")}
    )
    windows = Windows.spec(
        par=SHAPE[5], inputs={numbers: Grouping.fields("key"), others: Grouping.fields("key")}
    )
    totals = Totals.spec(par=SHAPE[6], inputs={windows: Grouping.fields("key")})
