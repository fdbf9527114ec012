"""Entries that expire: a table beside a table, with the time when each entry does.

An expired entry is never seen. It is removed when it is looked at; and each write looks at two
more, so that what nobody asks for again is removed after as many writes as half of the entries.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from heron_core.errors import StateError
from heron_core.state.protocol import ABSENT, StateTable

Clock = Callable[[], float]
"""Seconds since 1970; the tester's is virtual."""
EXAMINED_EACH_WRITE = 2
"""One would do if nothing were written anew; more make a write slower for nothing."""


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


class TimedTable:
    """A StateTable whose entries expire."""

    def __init__(
        self, entries: StateTable, deadlines: StateTable, time_to_live: TimeToLive, clock: Clock
    ) -> None:
        self._entries = entries
        self._deadlines = deadlines
        self._time_to_live = time_to_live
        self._clock = clock
        self._to_examine: Iterator[tuple[Any, Any]] = iter(())

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        if self._is_expired(key, sub):
            return ABSENT
        value = self._entries.get(key, sub)
        if self._time_to_live.refresh_on_read and value is not ABSENT:
            self._prolong(key, sub)
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        self._entries.put(key, value, sub)
        self._prolong(key, sub)
        self._examine()

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        self._entries.remove(key, sub)
        self._deadlines.remove(key, sub)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        found = self._entries.items(key)
        alive = [(sub, value) for sub, value in found if not self._is_expired(key, sub)]
        if self._time_to_live.refresh_on_read:
            for sub, _ in alive:
                self._prolong(key, sub)
        return alive

    def last(self, key: Any) -> Any:
        """See StateTable: an index may be one that has expired, as long as it is not used again."""
        return self._entries.last(key)

    def all_keys(self) -> Iterator[Any]:
        """See StateTable."""
        for key in self._entries.all_keys():
            if any(not self._is_expired(key, sub) for sub, _ in self._entries.items(key)):
                yield key

    def clear(self) -> None:
        """See StateTable."""
        self._entries.clear()
        self._deadlines.clear()

    def _prolong(self, key: Any, sub: Any) -> None:
        self._deadlines.put(key, self._clock() + self._time_to_live.secs, sub)

    def _is_expired(self, key: Any, sub: Any) -> bool:
        """Whether the entry has expired; it is gone then. One that was written when its state had
        no time to live begins to have one now."""
        deadline = self._deadlines.get(key, sub)
        if deadline is ABSENT:
            if self._entries.get(key, sub) is not ABSENT:
                self._prolong(key, sub)
            return False
        if self._clock() < deadline:
            return False
        self.remove(key, sub)
        return True

    def _examine(self) -> None:
        seen = 0
        for key, sub in islice(self._to_examine, EXAMINED_EACH_WRITE):
            self._is_expired(key, sub)
            seen += 1
        if seen < EXAMINED_EACH_WRITE:
            self._to_examine = self._pairs()

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        for key in self._deadlines.all_keys():
            for sub, _ in self._deadlines.items(key):
                yield key, sub


_timed: type[StateTable] = TimedTable
