"""Entries that expire: a table beside a table, with the time when each entry does.

What they do is in heron_core/hot_tables.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

from heron_core.errors import StateError

Clock = Callable[[], float]
"""Seconds since 1970; the tester's is virtual."""


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """How long an entry lives after it was written, and whether reading prolongs that."""

    secs: float
    refresh_on_read: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.secs, bool) or not 0.0 < self.secs < float("inf"):
            raise StateError(
                f"a time to live must be a positive number of seconds, not {self.secs!r}"
            )
