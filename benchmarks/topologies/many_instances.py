"""spout -> shuffle or ALL -> mid -> fields -> sink, with as many instances as asked for.

Parallelism is part of the topology, so the environment sets it: BENCHMARK_SHAPE (such as 4,8,8) and
BENCHMARK_GROUPING (SHUFFLE or ALL, of the first hop). Config: `benchmark.tallies`, a file of
benchmarks.tallies, and `benchmark.per.call`, tuples for each call of `next_tuple`.
"""

import os
import time
from typing import Any

from benchmarks.reports import tracked
from benchmarks.tallies import TALLIES_KEY, Tally, bucket_of, cells_of
from heronpy_compat import Bolt, Grouping, Spout, Topology

SHAPE_VARIABLE = "BENCHMARK_SHAPE"
GROUPING_VARIABLE = "BENCHMARK_GROUPING"
PER_CALL_KEY = "benchmark.per.call"
KEYS = 10_000
"""The sinks group by so many different numbers."""
SAMPLED = 64
"""Share of roots with a measured complete latency."""

SPOUTS, MIDS, SINKS = map(int, os.environ.get(SHAPE_VARIABLE, "1,2,2").split(","))
FIRST_HOP = Grouping.ALL if os.environ.get(GROUPING_VARIABLE) == "ALL" else Grouping.SHUFFLE


class Numbers(Spout):
    """Start at zero."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without emits."""
        self.cells = cells_of(config[TALLIES_KEY], context.get_task_id())
        self.per_call, self.tracked = int(config[PER_CALL_KEY]), tracked(config)
        self.number = self.acked = 0
        self.emitted_at: dict[int, float] = {}

    def next_tuple(self) -> None:
        """Emit a number, or as many as configured."""
        for _ in range(self.per_call):
            self.number = number = self.number + 1
            if not self.tracked:
                self.emit([number % KEYS])
                continue
            if not number % SAMPLED:
                self.emitted_at[number] = time.monotonic()
            self.emit([number % KEYS], tup_id=number)

    def ack(self, tup_id: int) -> None:
        """Note a complete tree."""
        self.acked += 1
        self.cells[Tally.ACKED] = self.acked
        if not tup_id % SAMPLED:
            seconds = time.monotonic() - self.emitted_at.pop(tup_id)
            self.cells[Tally.LATENCIES + bucket_of(seconds)] += 1

    def fail(self, tup_id: int) -> None:
        """Count a lost or late tree, without a replay."""
        self.emitted_at.pop(tup_id, None)
        self.cells[Tally.FAILED] += 1


class Mid(Bolt):
    """Passes numbers on."""

    outputs = ["number"]

    def process(self, tup: Any) -> None:
        """Forward a number."""
        self.emit([tup.values[0]], anchors=[tup])
        self.ack(tup)


class Sink(Bolt):
    """Counts arrivals."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without arrivals."""
        self.cells = cells_of(config[TALLIES_KEY], context.get_task_id())
        self.executed = 0

    def process(self, tup: Any) -> None:
        """Count a number."""
        self.executed += 1
        self.cells[Tally.EXECUTED] = self.executed
        self.ack(tup)


class ManyInstances(Topology):
    """numbers -> mid -> sink"""

    numbers = Numbers.spec(par=SPOUTS)
    mid = Mid.spec(par=MIDS, inputs={numbers: FIRST_HOP})
    sink = Sink.spec(par=SINKS, inputs={mid: Grouping.fields("number")})
