"""One spout, four bolts on two containers; each task notes its progress in shared memory.

Config: `benchmark.notes` names a file of NOTE doubles for each task (see Note), read by the
measuring process during writes. A note costs a tuple a quarter of a microsecond.
"""

import mmap
import time
from collections import deque
from enum import IntEnum
from typing import Any

from heronpy_compat import Bolt, Spout, Topology

NOTES_KEY = "benchmark.notes"
BOLTS = 4
TASKS = 1 + BOLTS
TUPLES_PER_SECOND = 4_000
"""A thousand for each bolt: a gap of some milliseconds is seen, and the machine stays idle."""
LATE_SECONDS_MAX = 0.01
"""Backlog limit: tuples due earlier, while emits were impossible, are skipped."""


class Note(IntEnum):
    """The doubles that each task (from 1 on) has in the file, CLOCK_MONOTONIC seconds."""

    EMITTED = 0
    """Emit time of the newest processed tuple (for a spout: acked tuple)."""
    AT = 1
    """Time of its processing."""
    GAP = 2
    """The longest time between two tuples since the reader set this to zero."""


def notes(path: str) -> "memoryview[float]":
    """The file as doubles, shared by all processes that map the file."""
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("d")


class Notes:
    """One task's part of the file."""

    def __init__(self, config: dict[str, Any], context: Any) -> None:
        self._notes = notes(config[NOTES_KEY])
        self._first = (context.get_task_id() - 1) * len(Note)
        self._last = time.monotonic()

    def add(self, emitted_at: float) -> None:
        """A tuple was processed or acked now."""
        now = time.monotonic()
        gap, self._last = now - self._last, now
        self._notes[self._first + Note.AT] = now
        self._notes[self._first + Note.EMITTED] = emitted_at
        if gap > self._notes[self._first + Note.GAP]:
            self._notes[self._first + Note.GAP] = gap


class Paced(Spout):
    """Emits a tuple when due, and replays failed tuples."""

    outputs = ["emitted_at"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The first is due now."""
        self.notes = Notes(config, context)
        self.due = time.monotonic()
        self.failed: deque[float] = deque()

    def next_tuple(self) -> None:
        """Emit one tuple if due."""
        now = time.monotonic()
        if self.failed:
            self.failed.popleft()
        elif now >= self.due:
            self.due = max(self.due + 1 / TUPLES_PER_SECOND, now - LATE_SECONDS_MAX)
        else:
            return
        self.emit([now], tup_id=now)

    def ack(self, tup_id: float) -> None:
        """One is done."""
        self.notes.add(tup_id)

    def fail(self, tup_id: float) -> None:
        """One was lost."""
        self.failed.append(tup_id)


class Keep(Bolt):
    """Takes the time of each tuple."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has arrived."""
        self.notes = Notes(config, context)

    def process(self, tup: Any) -> None:
        """One tuple."""
        self.notes.add(tup.values[0])
        self.ack(tup)


class Recovery(Topology):
    """spout -> shuffle -> bolts"""

    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.stmgrs": 2,
        # Many kills in one run.
        "topology.restart.limit": 1000,
    }

    paced = Paced.spec()
    keep = Keep.spec(par=BOLTS, inputs=[paced])
