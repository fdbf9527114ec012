"""Every kind of state, half filled by one version of heronpy and continued by the next.

Config: `upgrade.folder`, where each task of a bolt writes its results as JSON; `upgrade.until`, the
first number that is not emitted; `upgrade.ends`, whether the spout then finishes or stays idle.
"""

import json
from pathlib import Path

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import (
    list_state,
    map_state,
    reducing_state,
    value_state,
)
from heronpy_compat.connectors.files import FileSink
from heronpy_compat.windows import Count, KeyedProcessBolt, KeyedWindowBolt, Session, Tumbling

KEYS = ("ant", "bee", "cat")
WINDOW_MS, GAP_MS, TIMER_MS = 70, 2, 1_000


class Numbers(Spout):
    """Numbers from 0 on; the next one is the spout's state."""

    outputs = ["key", "number"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.until, self.ends = int(config["upgrade.until"]), config["upgrade.ends"]
        self.next = self.state.get("next") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("next", self.next)

    def next_tuple(self):
        if self.next < self.until:
            self.emit([KEYS[self.next % len(KEYS)], self.next])
            self.next += 1
        elif self.ends:
            self.finish()


class Writing(Bolt):
    """Writes its states when the input has ended."""

    def initialize(self, config, context):
        name = f"{context.get_component_id()}-{context.get_task_id()}.json"
        self.result = Path(config["upgrade.folder"], name)

    def on_finish(self):
        self.result.write_text(json.dumps(self.states()))


class Kept(Writing):
    """Keyed states of each kind."""

    count = value_state(default=0)
    recent = list_state()
    by_digit = map_state()
    highest = reducing_state(max)

    def process(self, tup):
        self.count.put(self.count.get() + 1)
        self.recent.add(tup.number)
        digit = str(tup.number % 10)
        self.by_digit[digit] = self.by_digit.get(digit, 0) + 1
        self.highest.add(tup.number)

    def states(self):
        return {
            "count": dict(self.count.all_items()),
            "recent": {key: list(values) for key, values in self.recent.all_items()},
            "by_digit": {key: dict(values) for key, values in self.by_digit.all_items()},
            "highest": dict(self.highest.all_items()),
        }


class Windows(KeyedWindowBolt):
    """Windows that the end of the first half divides."""

    outputs = ["key", "start_ms", "end_ms", "count"]
    key_fields = ["key"]
    timestamp_field = "number"
    window = Tumbling(WINDOW_MS)
    aggregate = Count()


class Sessions(Windows):
    """One session for each key, as long as the stream."""

    window = Session(GAP_MS * len(KEYS))


class Totals(Writing):
    """The results of windows."""

    windows = list_state()

    def process(self, tup):
        self.windows.add([tup.start_ms, tup.end_ms, tup.count])

    def states(self):
        return {key: sorted(values) for key, values in self.windows.all_items()}


class Timers(KeyedProcessBolt):
    """A timer of each key, due when the second half has begun."""

    outputs = ["key", "number"]
    timestamp_field = "number"

    def process_element(self, tup, timestamp_ms):
        if timestamp_ms < len(KEYS):
            self.timers.register_event_time_timer(TIMER_MS)

    def on_timer(self, timestamp_ms, timer):
        self.emit([timer.key, timestamp_ms])


class Upgraded(Topology):
    """Numbers to states, windows, sessions, timers, and files."""

    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    numbers = Numbers.spec()
    kept = Kept.spec(par=2, inputs={numbers: Grouping.fields("key")})
    windows = Windows.spec(par=2, inputs={numbers: Grouping.fields("key")})
    sessions = Sessions.spec(par=2, inputs={numbers: Grouping.fields("key")})
    in_windows = Totals.spec(inputs={windows: Grouping.fields("key")})
    in_sessions = Totals.spec(inputs={sessions: Grouping.fields("key")})
    timers = Timers.spec(inputs={numbers: Grouping.fields("key")})
    lines = FileSink.spec(inputs=[timers])
