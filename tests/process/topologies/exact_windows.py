"""Two topologies with keyed counts, windows and files, effectively once.

    ExactDiamond
    numbers ─┬─ left  ─┬─ counts                 each number is counted twice, by its key
    others  ─┤─ right ─┴─ lines                  a file sink: each number's id comes twice
             └─ windows ─┬─ totals               each window's result arrives once
                         └─ results              a file sink: the same in files

    ExactFanIn
    numbers ─┬─ gather ─┬─ running ── steps      a file sink: each count of each key, in order
    others  ─┤          │
             └──────────┴─ windows ── results    sliding ones, by the watermarks of the spouts

Config: `exact.folder`, `exact.count` numbers of each spout's task, due `exact.rate` a second from
`exact.begin` (CLOCK_MONOTONIC seconds), `exact.burst` of them at a time (1), and all that are left
when the file `hurry` is in the folder. In the end counts and totals write what they have into
`counts-INDEX-of-INSTANCES` and `totals-INDEX-of-INSTANCES`, and again if the topology is restored
from its end; the sinks write below folders of their names. The environment variable EXACT_TASKS has
the number of tasks of each component, as JSON.
"""

import json
import os
import time

from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology
from heronpy_compat.api.state.keyed_state import list_state, value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.connectors.files import FileSink
from heronpy_compat.windows import Count as CountOf
from heronpy_compat.windows import Given, KeyedWindowBolt, Sliding, Tumbling

KEYS = 53
STEP_MS = 10
WINDOW_MS = 1000
SLIDE_MS = 250
WATERMARK_NUMBERS = 25
LOOK_SECS = 0.1
"""Between two looks for the file `hurry`."""
TASKS = json.loads(os.environ.get("EXACT_TASKS", "{}"))
CONFIG = {
    "topology.reliability.mode": "EFFECTIVELY_ONCE",
    "topology.stateful.checkpoint.interval.seconds": 0.5,
    "topology.restart.limit": 1000,
}
BY_KEY = Grouping.fields("key")


def event(task_index, at):
    """The key and the time of the number `at` of a task."""
    return (at * 7 + task_index) % KEYS, at * STEP_MS


def write(config, name, value):
    """A file that is there as a whole."""
    path = os.path.join(config["exact.folder"], name)
    with open(f"{path}.part{os.getpid()}", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.part{os.getpid()}", path)


def part(context):
    """What an instance's file is called, whatever its task's number is after new code."""
    name, task = context.get_component_id(), context.get_task_id()
    tasks = context.get_component_tasks(name)
    return f"{name}-{tasks.index(task)}-of-{len(tasks)}"


class Numbers(Spout, StatefulComponent):
    outputs = ["key", "time_ms", "id"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.name = context.get_component_id()
        self.index = context.get_component_tasks(self.name).index(context.get_task_id())
        self.count, self.rate = int(config["exact.count"]), float(config["exact.rate"])
        self.begin, self.burst = float(config["exact.begin"]), int(config.get("exact.burst", 1))
        self.hurry = os.path.join(config["exact.folder"], "hurry")
        self.look_at = 0.0
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def is_due(self):
        now, last_of_burst = time.monotonic(), self.at - self.at % self.burst + self.burst - 1
        if self.begin + last_of_burst / self.rate <= now:
            return True
        if now >= self.look_at:
            self.look_at = now + LOOK_SECS
            if os.path.exists(self.hurry):
                self.rate = float("inf")
        return False

    def next_tuple(self):
        if self.at == self.count:
            self.finish()
        elif self.is_due():
            key, time_ms = event(self.index, self.at)
            self.emit([key, time_ms, f"{self.name}-{self.index}-{self.at}"])
            self.at += 1
            if self.at % WATERMARK_NUMBERS == 0:
                self.emit_watermark(self.at * STEP_MS)


class Pass(Bolt):
    outputs = ["key", Stream(["id"], name="ids")]

    def process(self, tup):
        key, _, name = tup.values
        self.emit([key])
        self.emit([name], stream="ids")


class Gather(Bolt):
    outputs = ["key", "time_ms", "id"]

    def process(self, tup):
        self.emit(tup.values)


class Counts(Bolt):
    outputs = []
    seen = value_state(default=0)

    def initialize(self, config, context):
        self.config, self.name = config, part(context)

    def process(self, tup):
        self.seen.put(self.seen.get() + 1)

    def on_finish(self):
        write(self.config, self.name, dict(self.seen.all_items()))


class Running(Bolt):
    outputs = ["key", "count"]
    seen = value_state(default=0)

    def process(self, tup):
        self.seen.put(self.seen.get() + 1)
        self.emit([tup.values[0], self.seen.get()])


class Windows(KeyedWindowBolt):
    outputs = ["key", "start_ms", "end_ms", "events"]
    key_fields = ["key"]
    timestamp_field = "time_ms"
    window = Tumbling(WINDOW_MS)
    aggregate = CountOf()
    lag_ms = 0


class SlidingWindows(Windows):
    window = Sliding(WINDOW_MS, SLIDE_MS)
    watermarks = Given()


class Totals(Bolt):
    outputs = []
    results = list_state()

    def initialize(self, config, context):
        self.config, self.name = config, part(context)

    def process(self, tup):
        self.results.add([tup.values[1], tup.values[3]])

    def on_finish(self):
        write(self.config, self.name, dict(self.results.all_items()))


class Sink(FileSink):
    """Into a folder of its name."""

    def open(self, config, context):
        folder = os.path.join(config["exact.folder"], context.get_component_id())
        super().open({**config, "file.folder": folder}, context)


def par(name):
    """How many tasks a component has."""
    return TASKS.get(name, 1)


class ExactDiamond(Topology):
    config = CONFIG
    numbers = Numbers.spec(par=par("numbers"))
    others = Numbers.spec(par=par("others"))
    left = Pass.spec(par=par("left"), inputs=[numbers, others])
    right = Pass.spec(par=par("right"), inputs=[numbers, others])
    counts = Counts.spec(par=par("counts"), inputs={left: BY_KEY, right: BY_KEY})
    windows = Windows.spec(par=par("windows"), inputs={numbers: BY_KEY, others: BY_KEY})
    totals = Totals.spec(par=par("totals"), inputs={windows: BY_KEY})
    lines = Sink.spec(par=par("lines"), inputs=[left["ids"], right["ids"]])
    results = Sink.spec(par=par("results"), inputs=[windows])


class ExactFanIn(Topology):
    config = CONFIG
    numbers = Numbers.spec(par=par("numbers"))
    others = Numbers.spec(par=par("others"))
    gather = Gather.spec(par=par("gather"), inputs=[numbers, others])
    running = Running.spec(par=par("running"), inputs={gather: BY_KEY})
    windows = SlidingWindows.spec(
        par=par("windows"), inputs={numbers: BY_KEY, others: BY_KEY, gather: BY_KEY}
    )
    steps = Sink.spec(par=par("steps"), inputs={running: BY_KEY})
    results = Sink.spec(par=par("results"), inputs=[windows])
