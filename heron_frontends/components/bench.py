"""Components of `heronpy bench`: messages through stages (Gearpump's SOL), and a paced, acked
stream.

Config keys begin with `heronpy.bench.`; the command sets them.
"""

import mmap
import random
import time
from collections import deque
from itertools import cycle
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

BYTES = "heronpy.bench.bytes"
"""Of a message."""
NOTES = "heronpy.bench.notes"
"""Path of a file with a double for each task: emit time of the newest processed tuple."""
RATE = "heronpy.bench.rate"
"""Tuples a second of the paced spout."""
MESSAGES = 100
"""Different ones, as Gearpump's producer has."""
DOUBLE_BYTES = 8
LATE_SECS_MAX = 0.01
"""Backlog limit: tuples due earlier, while emits were impossible, are skipped."""


def notes(path: str) -> "memoryview[float]":
    """The file as doubles, shared by all processes that map the file."""
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("d")


class Producer(Spout):
    """Emits one of a hundred random texts at full speed; failed tuples are not replayed."""

    outputs = ["message"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Make the messages."""
        size = int(config[BYTES])
        letters = "abcdefghijklmnopqrstuvwxyz"
        chance = random.Random(context.get_task_id())
        self._messages = cycle("".join(chance.choices(letters, k=size)) for _ in range(MESSAGES))
        self._number = 0

    def next_tuple(self) -> None:
        """One message."""
        self._number += 1
        self.emit([next(self._messages)], tup_id=self._number)


class Processor(Bolt):
    """Passes messages on."""

    outputs = ["message"]

    def process(self, tup: Any) -> None:
        """One message."""
        self.emit([tup.values[0]], anchors=[tup])
        self.ack(tup)


class Last(Bolt):
    """Takes messages."""

    def process(self, tup: Any) -> None:
        """One message."""
        self.ack(tup)


class Paced(Spout):
    """Emits a tuple when due, and replays failed tuples."""

    outputs = ["emitted_at"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """The first is due now."""
        self._notes = notes(config[NOTES])
        self._slot = context.get_task_id() - 1
        self._interval_secs = 1 / float(config[RATE])
        self._due = time.monotonic()
        self._failed: deque[float] = deque()

    def next_tuple(self) -> None:
        """Emit one tuple if due."""
        now = time.monotonic()
        if self._failed:
            self._failed.popleft()
        elif now >= self._due:
            self._due = max(self._due + self._interval_secs, now - LATE_SECS_MAX)
        else:
            return
        self.emit([now], tup_id=now)

    def ack(self, tup_id: Any) -> None:
        """Note a complete tuple tree."""
        self._notes[self._slot] = max(self._notes[self._slot], tup_id)

    def fail(self, tup_id: Any) -> None:
        """Replay a failed tuple."""
        self._failed.append(tup_id)


class Noting(Bolt):
    """Notes the emit time of the last processed tuple."""

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Open the notes."""
        self._notes = notes(config[NOTES])
        self._slot = context.get_task_id() - 1

    def process(self, tup: Any) -> None:
        """One tuple."""
        self._notes[self._slot] = max(self._notes[self._slot], tup.values[0])
        self.ack(tup)
