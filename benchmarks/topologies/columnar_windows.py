"""Sums by key and second of event time: a spout, and two bolts grouped by the key.

Config: `benchmark.count` events. A topology by tuples uses a KeyedWindowBolt, a topology by batches
a BatchWindowBolt. Both report the sums of their windows at the end.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.reports import COUNT_KEY, report
from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.windows import BatchWindowBolt, KeyedWindowBolt, Tumbling

KEYS = 1000
EVENTS_PER_MS = 10
WINDOW_MS = 1000
WATERMARK_EVENTS = 10_000
TYPES = {"key": "bigint", "value": "bigint", "time_ms": "bigint"}
ROWS = 50_000
"""Of a batch."""


class Sum:
    """An aggregate: sum and number of the values."""

    def create(self) -> list[int]:
        """Start with zeros."""
        return [0, 0]

    def add(self, accumulator: list[int], value: int) -> list[int]:
        """Add a value."""
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        """Both."""
        return [left[0] + right[0], left[1] + right[1]]

    def result(self, accumulator: list[int]) -> list[int]:
        """The two."""
        return accumulator


class Events(Spout):
    """Numbers from 0 on; key, value and time are functions of them."""

    outputs = ["key", "value", "time_ms"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the clock runs."""
        self.config, self.count, self.at = config, int(config[COUNT_KEY]), 0

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.config, "first")

    def next_tuple(self) -> None:
        """Emit an event."""
        at = self.at
        if at == self.count:
            self.finish()
            return
        self.emit([at * 7919 % KEYS, at % 100, at // EVENTS_PER_MS])
        self.at += 1
        if self.at % WATERMARK_EVENTS == 0:
            self.emit_watermark(self.at // EVENTS_PER_MS)


class EventBatches(Events):
    """Emit events by columns."""

    outputs = TYPES

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the clock runs."""
        super().initialize(config, context)
        self.numbers = pa.array(range(ROWS), pa.int64())

    def next_tuple(self) -> None:
        """Some events."""
        size = min(self.count - self.at, ROWS)
        if not size:
            self.finish()
            return
        numbers = pc.add(self.numbers.slice(0, size), self.at)
        self.emit_batch(
            {
                "key": _modulo(pc.multiply(numbers, 7919), KEYS),
                "value": _modulo(numbers, 100),
                "time_ms": pc.divide(numbers, EVENTS_PER_MS),
            }
        )
        self.at += size
        self.emit_watermark(self.at // EVENTS_PER_MS)


class Windows(KeyedWindowBolt):
    """The sums by tuples."""

    outputs = ["key", "start_ms", "total"]
    key_fields = ["key"]
    timestamp_field = "time_ms"
    window = Tumbling(WINDOW_MS)
    aggregate = Sum()

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without sums."""
        super().initialize(config, context)
        self.config, self.windows, self.total, self.number = config, 0, 0, 0

    def value(self, tup: Any, timestamp_ms: int) -> int:
        """What is summed."""
        number: int = tup.values[1]
        return number

    def values(self, result: Any) -> list[int]:
        """Add a complete window."""
        total, number = result.value
        self.windows, self.total, self.number = (
            self.windows + 1, self.total + total, self.number + number,
        )  # fmt: skip
        return [result.key[0], result.window[0], total]

    def on_finish(self) -> None:
        """The last ones are, too."""
        super().on_finish()
        _report(self)


class WindowBatches(BatchWindowBolt):
    """The same by columns."""

    outputs = {"key": "bigint", "start_ms": "bigint", "total": "bigint"}
    key_fields = ["key"]
    timestamp_field = "time_ms"
    window = Tumbling(WINDOW_MS)
    aggregates = {"total": ("value", "sum"), "events": "count"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without sums."""
        super().initialize(config, context)
        self.config, self.windows, self.total, self.number = config, 0, 0, 0

    def values(self, result: Any) -> Any:
        """Add a complete window of each key."""
        found = result.value
        self.windows += len(found["total"])
        self.total += pc.sum(found["total"]).as_py()
        self.number += pc.sum(found["events"]).as_py()
        return found

    def on_finish(self) -> None:
        """The last ones are, too."""
        super().on_finish()
        _report(self)


def _modulo(numbers: pa.Array, by: int) -> pa.Array:
    return pc.subtract(numbers, pc.multiply(pc.divide(numbers, by), by))


def _report(bolt: Any) -> None:
    counts = [bolt.windows, bolt.total, bolt.number]
    report(bolt.config, "finished", counts=counts)


class WindowsByTuples(Topology):
    """spout -> by key -> windows x 2"""

    events = Events.spec()
    sums = Windows.spec(par=2, inputs={events: Grouping.fields("key")})


class WindowsByColumns(Topology):
    """The same."""

    events = EventBatches.spec()
    sums = WindowBatches.spec(par=2, inputs={events: Grouping.fields("key")})
