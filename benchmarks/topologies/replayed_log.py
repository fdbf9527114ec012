"""A log of RATE records a second, counted by key in four bolts.

Config: `benchmark.start` is the time of record 0 (CLOCK_MONOTONIC seconds), `benchmark.notes` names
a file of NOTE doubles for each task, `benchmark.work` is the work of a record in seconds. A late
spout reads at full speed, as from Kafka. With the file `benchmark.enough` the spout ends at the
newest record.
"""

import os
import time
from enum import IntEnum
from typing import Any

from benchmarks.reports import report
from benchmarks.topologies.exact_recovery import ENOUGH_KEY
from benchmarks.topologies.recovery import NOTES_KEY, notes
from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat import Bolt, Grouping, Spout, Topology

START_KEY, WORK_KEY = "benchmark.start", "benchmark.work"
RATE = 4_000
KEYS = 1_000
BOLTS = 4
TASKS = 1 + BOLTS
READ_MAX = 64
"""Records of a call of next_tuple."""


class Note(IntEnum):
    """The doubles of each task (from 1 on)."""

    NEWEST = 0
    """Number of the newest processed record."""
    RUNS = 1
    """Number of processed records, with repetitions."""


class Log(Spout, StatefulComponent):
    """Its state is its position."""

    outputs = ["key", "number"]

    def init_state(self, stateful_state: Any) -> None:
        """Restore the position."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Continue at the position."""
        self.config, self.start = config, float(config[START_KEY])
        self.position = self.state.get("position") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position."""
        self.state.put("position", self.position)

    def next_tuple(self) -> None:
        """Emit a part of the records up to now."""
        end = int((time.monotonic() - self.start) * RATE)
        if self.position >= end:
            if os.path.exists(self.config[ENOUGH_KEY]):
                report(self.config, "emitted", count=self.position)
                self.finish()
            return
        for number in range(self.position, min(end, self.position + READ_MAX)):
            self.emit([number % KEYS, number])
            self.position += 1


class Count(Bolt):
    """Counts by key; each record takes its time."""

    counts = value_state(default=0)

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Map the notes."""
        self.config, self.secs = config, float(config[WORK_KEY])
        self.notes = notes(config[NOTES_KEY])
        self.first = (context.get_task_id() - 1) * len(Note)

    def process(self, tup: Any) -> None:
        """Count a record and work on the record for its time."""
        until = time.perf_counter() + self.secs
        self.counts.put(self.counts.get() + 1)
        self.notes[self.first + Note.NEWEST] = tup.values[1]
        self.notes[self.first + Note.RUNS] += 1
        while time.perf_counter() < until:
            pass

    def on_finish(self) -> None:
        """Report the sum of all counts."""
        report(self.config, "counted", count=sum(count for _, count in self.counts.all_items()))


class ReplayedLog(Topology):
    """log -> by key -> count"""

    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE", "topology.stmgrs": 2}

    log = Log.spec()
    count = Count.spec(par=BOLTS, inputs={log: Grouping.fields("key")})
