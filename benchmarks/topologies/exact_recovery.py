"""A million counts in four bolts on two containers, effectively once, and then a steady trickle.

Config: `benchmark.notes` names a file of NOTE doubles for each task (see Note), `benchmark.keys` is
the number of counts. The spout emits each key once at full speed, and then TUPLES_PER_SECOND keys,
until the file `benchmark.enough` exists.
"""

import os
import time
from enum import IntEnum
from typing import Any

from benchmarks.key_words import KEYS_KEY, STEP
from benchmarks.reports import report
from benchmarks.topologies.recovery import NOTES_KEY, notes
from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat import Bolt, Grouping, Spout, Topology

ENOUGH_KEY = "benchmark.enough"
BOLTS = 4
TASKS = 1 + BOLTS
TUPLES_PER_SECOND = 4_000


class Note(IntEnum):
    """The doubles that each task (from 1 on) has in the file, CLOCK_MONOTONIC seconds."""

    MADE = 0
    """Creation time of the spout that emitted the newest tuple: a restore recreates the spout."""
    AT = 1
    """Time of the newest tuple at this task."""
    KEYS = 2
    """How many keys have come so far, with repetitions."""


class Keys(Spout, StatefulComponent):
    """Its state is the number of emitted keys."""

    outputs = ["key", "made"]

    def init_state(self, stateful_state: Any) -> None:
        """Where it was."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The next is due now."""
        self.config, self.keys = config, int(config[KEYS_KEY])
        self.emitted = self.state.get("emitted") or 0
        self.made = self.due = time.monotonic()

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position."""
        self.state.put("emitted", self.emitted)

    def next_tuple(self) -> None:
        """Emit one key if due."""
        if self.emitted >= self.keys:
            now = time.monotonic()
            if now < self.due:
                return
            self.due += 1 / TUPLES_PER_SECOND
            if self.emitted % TUPLES_PER_SECOND == 0 and os.path.exists(self.config[ENOUGH_KEY]):
                report(self.config, "emitted", count=self.emitted)
                self.finish()
                return
        self.emit([self.emitted * STEP % self.keys, self.made])
        self.emitted += 1


class Keep(Bolt):
    """Counts keys."""

    counts = value_state(default=0)

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has arrived."""
        self.config = config
        self.notes = notes(config[NOTES_KEY])
        self.first = (context.get_task_id() - 1) * len(Note)

    def process(self, tup: Any) -> None:
        """One key."""
        self.counts.put(self.counts.get() + 1)
        self.notes[self.first + Note.AT] = time.monotonic()
        self.notes[self.first + Note.MADE] = tup.values[1]
        self.notes[self.first + Note.KEYS] += 1

    def on_finish(self) -> None:
        """Report the counts: their number, and two sums over all."""
        found = total = product = 0
        for key, count in self.counts.all_items():
            found, total, product = found + 1, total + count, product + key * count
        report(self.config, "counted", sums=(found, total, product))


class ExactRecovery(Topology):
    """spout -> by key -> bolts"""

    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
        "topology.stmgrs": 2,
        # Many kills in one run.
        "topology.restart.limit": 1000,
    }

    keys = Keys.spec()
    keep = Keep.spec(par=BOLTS, inputs={keys: Grouping.fields("key")})
