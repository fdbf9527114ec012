"""A slow bolt and a cheap bolt under one parent: numbers -> mid (2) -> slow and cheap.

Small integers without ids, as fast as the spout can. Config: `benchmark.notes` names a file of
doubles (Note), which the measuring process reads; `benchmark.sleep`, seconds for each tuple of the
slow bolt.
"""

import mmap
import time
from enum import IntEnum
from typing import Any

from heronpy_compat import Bolt, Spout, Topology

NOTES_KEY = "benchmark.notes"
SLEEP_KEY = "benchmark.sleep"


class Note(IntEnum):
    """The doubles in the file."""

    SLOW = 0
    """Tuples processed by the slow bolt."""
    CHEAP = 1
    """Tuples processed by the cheap bolt."""
    AT = 2
    """Time of the cheap bolt's newest tuple, CLOCK_MONOTONIC seconds."""
    GAP = 3
    """Longest time between two of its tuples since the reader's last reset."""


def notes(path: str) -> "memoryview[float]":
    """The file as doubles, shared by all processes that map the file."""
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("d")


class Numbers(Spout):
    """Start at zero."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without emits."""
        self.number = 0

    def next_tuple(self) -> None:
        """Emit a number."""
        self.number += 1
        self.emit([self.number])


class Mid(Bolt):
    """Passes numbers on, to both."""

    outputs = ["number"]

    def process(self, tup: Any) -> None:
        """Forward a number."""
        self.emit([tup.values[0]])


class Slow(Bolt):
    """Sleeps for each tuple."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has arrived."""
        self.notes, self.seconds = notes(config[NOTES_KEY]), float(config[SLEEP_KEY])

    def process(self, tup: Any) -> None:
        """Count a number."""
        time.sleep(self.seconds)
        self.notes[Note.SLOW] += 1


class Cheap(Bolt):
    """Could take a million a second."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has arrived."""
        self.notes = notes(config[NOTES_KEY])
        self.notes[Note.AT] = time.monotonic()

    def process(self, tup: Any) -> None:
        """Count a number."""
        now = time.monotonic()
        noted = self.notes
        noted[Note.GAP] = max(noted[Note.GAP], now - noted[Note.AT])
        noted[Note.AT] = now
        noted[Note.CHEAP] += 1


class SlowAndCheap(Topology):
    """numbers -> mid -> slow and cheap"""

    numbers = Numbers.spec()
    mid = Mid.spec(par=2, inputs=[numbers])
    slow = Slow.spec(inputs=[mid])
    cheap = Cheap.spec(inputs=[mid])
