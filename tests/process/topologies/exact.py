"""Keyed counts on a diamond, effectively once: each number comes to its count by two ways. Beside
them the lines of a file are written into files, and numbers are counted in windows, too.

Config: `exact.folder`; a spout ends once the file `enough` exists, and writes its number of emits
into `emitted-TASK`; a task of the counting bolt writes its counts into `counted-TASK`, and
`in_windows` has the sums of all windows. The environment says the numbers of counting instances and
of instances with windows (COUNTERS). The lines come from `lines.txt` in the folder, and go into
`file.folder`.
"""

import json
import os
import time

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.connectors.files import FileSink, FileSpout
from heronpy_compat.windows import Count as CountOf
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

KEYS = 97
NUMBERS_SECS, LINE_SECS = 0.08, 0.01
"""For ten numbers, and for a line: the cores are for what is killed and comes back."""
TASKS = int(os.environ.get("COUNTERS", "2"))


def write(config, name, value):
    """A complete file."""
    path = os.path.join(config["exact.folder"], name)
    with open(f"{path}.part", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.part", path)


class Numbers(Spout, StatefulComponent):
    outputs = ["key", "at"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.config, self.task = config, context.get_task_id()
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def next_tuple(self):
        if self.at % 10 == 0:
            time.sleep(NUMBERS_SECS)
            if os.path.exists(os.path.join(self.config["exact.folder"], "enough")):
                write(self.config, f"emitted-{self.task}", self.at)
                self.finish()
                return
        self.emit([self.at % KEYS, self.at])
        self.at += 1


class Pass(Bolt):
    outputs = ["key"]

    def process(self, tup):
        self.emit([tup.values[0]])


class Count(Bolt):
    outputs = []
    count = value_state(default=0)

    def initialize(self, config, context):
        self.config, self.task = config, context.get_task_id()

    def process(self, tup):
        self.count.put(self.count.get() + 1)

    def on_finish(self):
        write(self.config, f"counted-{self.task}", dict(self.count.all_items()))


class Windows(KeyedWindowBolt):
    """Its time is the number of a number."""

    outputs = ["key", "start_ms", "end_ms", "numbers"]
    key_fields = ["key"]
    timestamp_field = "at"
    window = Tumbling(250)
    aggregate = CountOf()


class Totals(Count):
    def process(self, tup):
        self.count.put(self.count.get() + tup.numbers)

    def on_finish(self):
        write(self.config, "in_windows", dict(self.count.all_items()))


class Lines(FileSpout):
    """Slow, until it is enough."""

    def initialize(self, config, context):
        folder = config["exact.folder"]
        path = os.path.join(folder, "lines.txt")
        super().initialize({**config, "library.file.path": path}, context)
        self.end, self.is_fast = os.path.join(folder, "enough"), False

    def next_tuple(self):
        if not self.is_fast:
            time.sleep(LINE_SECS)
            self.is_fast = os.path.exists(self.end)
        super().next_tuple()


class Exact(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    numbers = Numbers.spec(par=2)
    left = Pass.spec(par=2, inputs=[numbers])
    right = Pass.spec(inputs=[numbers])
    count = Count.spec(
        par=TASKS,
        inputs={left: Grouping.fields("key"), right: Grouping.fields("key")},
    )
    windows = Windows.spec(par=TASKS, inputs={numbers: Grouping.fields("key")})
    totals = Totals.spec(inputs={windows: Grouping.fields("key")})
    lines = Lines.spec()
    written = FileSink.spec(inputs=[lines])
