"""Event time of a source with several splits (files or parts of files). Pure.

The watermark of a split is its latest event minus the lag; of an unread split, its first event.
The watermark of the source is the minimum over its splits: events of a backfill are never late,
for any order of the splits and any number of instances.
"""

from collections.abc import Hashable
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
ROWS_BETWEEN = 64
"""A watermark is told once in so many rows."""


def event_ms(value: Any) -> int:
    """Milliseconds since 1970 of a time: a whole number is that; a datetime without a time zone is
    UTC. ValueError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - EPOCH) // MILLISECOND
    raise ValueError(
        f"{value!r:.80} is not a time: expected milliseconds since 1970, or a datetime"
    )


class SplitWatermarks:
    """The unfinished splits of one instance."""

    def __init__(self, lag_ms: int) -> None:
        self._lag_ms = lag_ms
        self._latest: dict[Hashable, int] = {}
        self._reported_ms: int | None = None

    def first(self, split: Hashable, time_ms: int) -> None:
        """The first event of a split that is still to be read."""
        self._latest.setdefault(split, time_ms)

    def seen(self, split: Hashable, time_ms: int) -> None:
        """An event of a split."""
        self._latest[split] = max(time_ms, self._latest.get(split, time_ms))

    def end(self, split: Hashable) -> None:
        """Finish a split, which no longer delays the watermark."""
        self._latest.pop(split, None)

    def rises_to(self) -> int | None:
        """The watermark, if risen since the last call."""
        found = min(self._latest.values(), default=None)
        if found is None or (
            self._reported_ms is not None and found - self._lag_ms <= self._reported_ms
        ):
            return None
        self._reported_ms = found - self._lag_ms
        return self._reported_ms
