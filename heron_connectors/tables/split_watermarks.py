"""How far a source is in event time that reads several splits, files or parts of them. Pure.

Each split is as far as the latest of its events, less the lag; one that is not read yet is as far
as its first event is. The source is as far as the slowest of them: so no event of a backfill is
late, whichever split is read first, and however many instances read.
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
    """The splits of one instance that are not at their end."""

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
        """A split is at its end: it holds nothing back any more."""
        self._latest.pop(split, None)

    def rises_to(self) -> int | None:
        """The watermark, if it has risen since this was asked last."""
        found = min(self._latest.values(), default=None)
        if found is None or (
            self._reported_ms is not None and found - self._lag_ms <= self._reported_ms
        ):
            return None
        self._reported_ms = found - self._lag_ms
        return self._reported_ms
