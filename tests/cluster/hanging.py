"""Numbers into four sinks; each component hangs once, in one attempt, while another attempt
continues.

Config: `test.folder` is shared by all attempts. A component that hangs first leaves
`hung-COMPONENT`, so that further attempts run on, and `woke-COMPONENT` when another attempt has
emitted numbers of later batches meanwhile.
"""

import os
import time
from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.connectors.database import DatabaseSink
from heronpy_compat.connectors.files import FileSink
from heronpy_compat.connectors.kafka import KafkaSink
from heronpy_compat.connectors.parquet import ParquetSink

NUMBERS = 1000
BATCH = 40
"""Deliveries of all spouts in a batch."""
HANGS_AT = {"numbers": 45, "doubled": 205, "lines": 365, "rows": 525, "table": 685, "topic": 845}
"""A component wakes up before the next one hangs: a partition has a process on each of two hosts,
for all levels."""
LATER = 2 * BATCH
"""So far the numbers have to come before an attempt that hangs wakes up."""
LOOK_AGAIN_SECS = 0.05
HANG_SECS_MAX = 240.0
"""Without another attempt."""


class Hanging:
    """State of a hanging component."""

    def take(self, config: dict[str, Any], context: Any) -> None:
        """Settle where the marks are."""
        self.name = context.get_component_id()
        self.marks = config["test.folder"]

    def mark(self, name: str) -> bool:
        """Leave a mark; False if the mark exists."""
        try:
            os.close(os.open(os.path.join(self.marks, name), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def hang(self, number: int) -> None:
        """Hang at that number, for the first time."""
        if number != HANGS_AT[self.name] or not self.mark(f"hung-{self.name}"):
            return
        awaited = os.path.join(self.marks, f"at-{number // BATCH * BATCH + LATER}")
        deadline = time.monotonic() + HANG_SECS_MAX
        while time.monotonic() < deadline:
            if os.path.exists(awaited):
                self.mark(f"woke-{self.name}")
                return
            time.sleep(LOOK_AGAIN_SECS)


class Numbers(Spout, Hanging):
    """Each task has the numbers of its remainder."""

    outputs = {"number": "bigint"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.take(config, context)
        tasks = context.get_component_tasks(self.name)
        self.step, self.at = len(tasks), tasks.index(context.get_task_id())

    def next_tuple(self) -> None:
        if self.at >= NUMBERS:
            self.finish()
            return
        self.hang(self.at)
        if self.at % BATCH == 0:
            self.mark(f"at-{self.at}")
        self.emit([self.at])
        self.at += self.step


class Doubled(Bolt, Hanging):
    """Twice the number, too."""

    outputs = {"number": "bigint", "double": "bigint"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.take(config, context)

    def process(self, tup: Any) -> None:
        self.hang(tup.number)
        self.emit([tup.number, 2 * tup.number])


class HangingSink(Hanging):
    """Hangs amid a batch, or behind its commit: its writes do not count."""

    is_behind = False
    at = -1

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.take(config, context)
        super().initialize(config, context)  # type: ignore[misc]

    def process(self, tup: Any) -> None:
        if not self.is_behind:
            self.hang(tup.number)
        elif tup.number == HANGS_AT[self.name]:
            self.at = tup.number
        super().process(tup)  # type: ignore[misc]

    def end_batch(self) -> None:
        super().end_batch()  # type: ignore[misc]
        self.hang(self.at)
        self.at = -1


class Lines(HangingSink, FileSink):
    pass


class Rows(HangingSink, ParquetSink):
    is_behind = True


class Table(HangingSink, DatabaseSink):
    is_behind = True


class Topic(HangingSink, KafkaSink):
    pass


class Hangs(Topology):
    numbers = Numbers.spec(par=2)
    doubled = Doubled.spec(par=2, inputs={numbers: Grouping.fields("number")})
    lines = Lines.spec(par=2, inputs={doubled: Grouping.fields("number")})
    rows = Rows.spec(par=2, inputs={doubled: Grouping.fields("number")})
    table = Table.spec(par=2, inputs={doubled: Grouping.fields("number")})
    topic = Topic.spec(par=2, inputs={doubled: Grouping.fields("number")})
