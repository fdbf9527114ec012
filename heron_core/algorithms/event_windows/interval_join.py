"""Pairs of events from two streams with equal keys and close timestamps.

Event l of the left stream and r of the right stream match if lower <= time of r - time of l <=
upper. An event is retained until the watermark excludes further matches; an event older than the
watermark itself is late.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from heron_core.algorithms.event_windows.changes import Packed, SavedByKey
from heron_core.algorithms.event_windows.panes import hashable
from heron_core.algorithms.event_windows.timers import Timers
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK, Dropped, Late
from heron_core.errors import ComponentError, TopologyError

KEPT_MAX = 1_000_000
"""Events of both streams that wait for their pairs: about 400 MB of small ones."""

Kept = dict[int, tuple[int, Any]]
"""Number of an event -> timestamp and value, for one key and side."""


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Pair:
    """A matching pair; the pair's time is the later event's time."""

    key: Hashable
    timestamp_ms: int
    left: Any
    right: Any


class IntervalJoin(SavedByKey):
    """Every call returns its results, in order."""

    def __init__(
        self,
        lower_ms: int,
        upper_ms: int,
        kept_max: int = KEPT_MAX,
        pack: Callable[[Any], Any] = _same,
    ) -> None:
        """`pack`: converts a value to its saved form; the inverse is applied on restore."""
        for bound in (lower_ms, upper_ms):
            if type(bound) is not int:
                raise TopologyError(f"the bounds of a join are whole milliseconds, not {bound!r}")
        if lower_ms > upper_ms:
            raise TopologyError(f"the bounds of a join: {lower_ms} ms is more than {upper_ms} ms")
        self._lower_ms, self._upper_ms, self._kept_max = lower_ms, upper_ms, kept_max
        self._pack = pack
        self._keys: dict[Hashable, tuple[Kept, Kept]] = {}
        self._timers = Timers()
        self._numbers = 0
        self.kept = 0
        """Number of waiting events."""
        self.watermark_ms = NO_WATERMARK

    def add(
        self, key: Hashable, is_right: bool, timestamp_ms: int, value: Any
    ) -> list[Pair | Late]:
        """An event; the pairs come in the order in which their other events came."""
        if timestamp_ms < self.watermark_ms:
            return [Late(key, timestamp_ms, value)]
        if self.kept >= self._kept_max:
            raise ComponentError(
                f"{self.kept} events wait for their pairs, the limit: does the watermark advance?"
            )
        self._keep(key, is_right, timestamp_ms, value)
        others = self._keys[key][not is_right] if key in self._keys else {}
        pairs: list[Pair | Late] = []
        for other_ms, other in others.values():
            left, right = ((other_ms, other), (timestamp_ms, value))[:: -1 if not is_right else 1]
            if self._lower_ms <= right[0] - left[0] <= self._upper_ms:
                pairs.append(Pair(key, max(left[0], right[0]), left[1], right[1]))
        return pairs

    def _keep(self, key: Hashable, is_right: bool, timestamp_ms: int, value: Any) -> None:
        self._numbers += 1
        if self._changed is not None:
            self._changed.add(key)
        kept = self._keys.setdefault(key, ({}, {}))
        kept[is_right][self._numbers] = (timestamp_ms, value)
        self.kept += 1
        drop_ms = self._drop_ms(is_right, timestamp_ms)
        self._timers.add(drop_ms, (key, is_right, self._numbers))

    def _drop_ms(self, is_right: bool, timestamp_ms: int) -> int:
        # No later pair: of a left event after `upper`, of a right one `lower` before it.
        reach = -self._lower_ms if is_right else self._upper_ms
        return max(timestamp_ms, min(timestamp_ms + reach, END_OF_TIME - 1)) + 1

    def advance_watermark(self, watermark_ms: int) -> list[Dropped]:
        """No event below it is expected any more; whatever has no later pair is dropped."""
        dropped: list[Dropped] = []
        if watermark_ms <= self.watermark_ms:
            return dropped
        self.watermark_ms = watermark_ms
        self._drop_until(watermark_ms, dropped)
        return dropped

    def _drop_until(self, end_ms: int, dropped: list[Dropped]) -> None:
        for _, due in self._timers.due(end_ms):
            for key, is_right, number in due:
                dropped.append(Dropped(self._forget(key, is_right, number)))

    def drop_values(self, is_dropped: Callable[[Any], bool]) -> list[Any]:
        """Drop events, which are to come again; their values."""
        dropped = [
            (key, is_right, number, timestamp_ms, value)
            for key, sides in self._keys.items()
            for is_right, side in enumerate(sides)
            for number, (timestamp_ms, value) in side.items()
            if is_dropped(value)
        ]
        for key, is_right, number, timestamp_ms, _ in dropped:
            drop_ms = self._drop_ms(bool(is_right), timestamp_ms)
            self._timers.remove(drop_ms, (key, bool(is_right), number))
            self._forget(key, bool(is_right), number)
        return [value for *_, value in dropped]

    def _forget(self, key: Hashable, is_right: bool, number: int) -> Any:
        """Remove a waiting event; returns its value."""
        _, value = self._keys[key][is_right].pop(number)
        self.kept -= 1
        if self._changed is not None:
            self._changed.add(key)
        if not any(self._keys[key]):
            del self._keys[key]
        return value

    def exchange(self, of_value: Callable[[Any], Any]) -> None:
        """Replace every waiting event by the result of the function."""
        for sides in self._keys.values():
            for side in sides:
                for number, (timestamp_ms, value) in side.items():
                    side[number] = (timestamp_ms, of_value(value))

    def complete_open(self) -> list[Dropped]:
        """What waits has no later pair, though the input may go on."""
        last = self._timers.last_ms()
        return [] if last is None else self.advance_watermark(last)

    def finish(self) -> list[Dropped]:
        """The end of the input."""
        return self.advance_watermark(END_OF_TIME)

    def _packed(self, key: Hashable) -> Packed:
        return [
            [is_right, number, timestamp_ms, self._pack(value)]
            for is_right, side in enumerate(self._keys[key])
            for number, (timestamp_ms, value) in side.items()
        ]

    def restore(self, watermark_ms: int, keys: Iterable[tuple[Hashable, Packed]]) -> None:
        """Restore the `changes` of one or several joins; `watermark_ms` is the lowest of their
        watermarks."""
        self._keys.clear()
        self._timers.clear()
        self.kept, self.watermark_ms = 0, watermark_ms
        for key, events in keys:
            for is_right, _, timestamp_ms, value in sorted(events, key=_number):
                self._keep(hashable(key), bool(is_right), timestamp_ms, value)
        self._changed = set()


def _number(event: list[Any]) -> int:
    found: int = event[1]
    return found
