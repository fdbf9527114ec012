"""Watermark strategies: which watermark the events of a source make.

A source is a task that sends events, or a partition of what it sends, if the strategy tells them
apart: each is as far as its own events, and all of them together as far as the slowest.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from heron_core.algorithms.event_windows.assigners import checked_ms


class WatermarkStrategy:
    """To be derived from: an event is what the bolt or the streamlet gets."""

    def partition(self, event: Any) -> Hashable:
        """Tells the partitions of one task apart; None if there is no more than one."""
        return None

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """No event of the same partition is expected below this after this one; None if it says
        nothing of that. A watermark never falls."""
        raise NotImplementedError(f"{type(self).__name__} must define watermark_ms")


@dataclass(frozen=True)
class BoundedDisorder(WatermarkStrategy):
    """An event may be so far behind the latest one before it."""

    lag_ms: int

    def __post_init__(self) -> None:
        checked_ms("the lag of a watermark", self.lag_ms, 0)

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """The event's, less the lag."""
        return timestamp_ms - self.lag_ms


class Monotonous(BoundedDisorder):
    """Events come in order."""

    def __init__(self) -> None:
        super().__init__(0)


@dataclass(frozen=True)
class ByPartition(BoundedDisorder):
    """As BoundedDisorder, of each partition: of a Kafka topic, say, that one task reads many of."""

    partition_of: Callable[[Any], Hashable]

    def partition(self, event: Any) -> Hashable:
        """What the function says."""
        return self.partition_of(event)


class Given(WatermarkStrategy):
    """Watermarks are those that spouts give by `emit_watermark`, whatever events there are."""

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """Nothing."""
        return None
