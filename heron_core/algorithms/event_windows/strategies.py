"""Watermark strategies: the watermark of a source, from its events.

A source is a task that sends events, or a partition of its events, if the strategy distinguishes
partitions: the watermark of a source follows its own events, and the combined watermark is the
minimum over the sources.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from heron_core.algorithms.event_windows.assigners import checked_ms


class WatermarkStrategy:
    """Base class of strategies: an event is the input of the bolt or the streamlet.

    Example:

        class Punctuated(WatermarkStrategy):
            def watermark_ms(self, event, timestamp_ms):
                return timestamp_ms if event["last_of_hour"] else None
    """

    def partition(self, event: Any) -> Hashable:
        """Distinguishes the partitions of one task; None for a single partition."""
        return None

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """Lower bound of later events in the partition; None for no statement. A watermark never
        falls."""
        raise NotImplementedError(f"{type(self).__name__} must define watermark_ms")


@dataclass(frozen=True)
class BoundedDisorder(WatermarkStrategy):
    """Largest lag of an event behind the latest earlier event.

    Example:

        watermark = BoundedDisorder(5_000)  # events come up to five seconds late
    """

    lag_ms: int

    def __post_init__(self) -> None:
        checked_ms("the lag of a watermark", self.lag_ms, 0)

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """The event's, less the lag."""
        return timestamp_ms - self.lag_ms


class Monotonous(BoundedDisorder):
    """Events come in order.

    Example:

        watermark = Monotonous()
    """

    def __init__(self) -> None:
        super().__init__(0)


@dataclass(frozen=True)
class ByPartition(BoundedDisorder):
    """BoundedDisorder per partition, for example for the partitions of a Kafka topic read by one
    task.

        watermark = ByPartition(5_000, lambda tup: tup["partition"])
    """

    partition_of: Callable[[Any], Hashable]

    def partition(self, event: Any) -> Hashable:
        """Result of the function."""
        return self.partition_of(event)


class Given(WatermarkStrategy):
    """Watermarks come from the spouts' `emit_watermark`, independent of events.

    Example:

        from heronpy_compat import Spout

        class Measured(Spout):
            outputs = ["value", "time_ms"]

            def next_tuple(self):
                self.emit([1, 1000])
                self.emit_watermark(1000)
    """

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """None: events give no watermark."""
        return None
