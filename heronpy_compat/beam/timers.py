"""Timers of the DoFns of a stage: set by bundles, given to later bundles when due."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from apache_beam.coders.coder_impl import create_OutputStream
from apache_beam.transforms import userstate
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp

from heronpy_compat.beam.groups import NEVER
from heronpy_compat.beam.plans import TimerPlan
from heronpy_compat.beam.saved import SavedParts

PART = "timer"
Family = tuple[str, str]
"""(transform, family)"""


class DoFnTimers:
    """The pending timers, at most one for each family, key, window and tag."""

    def __init__(self, plans: tuple[TimerPlan, ...], coders: Any, saved: SavedParts) -> None:
        """`coders`: id -> coder."""
        self._coders = {
            (plan.transform, plan.family): coders[plan.coder].get_impl() for plan in plans
        }
        self._by_event_time = {(plan.transform, plan.family): plan.by_event_time for plan in plans}
        self._saved = saved
        self._set: dict[tuple[Any, ...], Any] = {}
        """(transform, family, key and window, key and window and tag) -> Beam's Timer"""
        self._changed: set[tuple[Any, ...]] = set()
        for at, encoded in saved.restored(PART):
            (self._set[at],) = self._coders[at[0], at[1]].decode_all(encoded)

    def take(self, written: Mapping[Family, bytes]) -> None:
        """Set and clear timers as a bundle has written."""
        for family, encoded in written.items():
            coder = self._coders[family]
            for timer in coder.decode_all(encoded):
                for window in timer.windows:
                    at = (*family, *_identity(coder, timer, window))
                    self._changed.add(at)
                    if timer.clear_bit:
                        self._set.pop(at, None)
                    else:
                        self._set[at] = timer

    def due(self, by_event_time: bool, now: Timestamp) -> dict[Family, bytes]:
        """Remove and return the first due timer of each key, encoded; empty without due timers.

        The bundle of a timer may set timers before the next due timer of the key.
        """
        first: dict[Any, tuple[Any, ...]] = {}
        for at, timer in self._set.items():
            if self._by_event_time[at[0], at[1]] != by_event_time or timer.fire_timestamp > now:
                continue
            known = first.get(at[2])
            if known is None or timer.fire_timestamp < self._set[known].fire_timestamp:
                first[at[2]] = at
        fired: dict[Family, Any] = defaultdict(create_OutputStream)
        order = sorted(first.values(), key=lambda at: self._set[at].fire_timestamp)
        for at in order:
            timer = self._set.pop(at)
            self._changed.add(at)
            self._coders[at[0], at[1]].encode_to_stream(timer, fired[at[0], at[1]], True)
        return {family: stream.get() for family, stream in fired.items()}

    @property
    def earliest_output(self) -> Timestamp:
        """The earliest output time of pending timers."""
        return min((timer.hold_timestamp for timer in self._set.values()), default=MAX_TIMESTAMP)

    @property
    def next_due(self) -> float:
        """When the next processing-time timer is due, in seconds since 1970; NEVER for none."""
        times = [
            timer.fire_timestamp.micros / 1e6
            for at, timer in self._set.items()
            if not self._by_event_time[at[0], at[1]]
        ]
        return min(times, default=NEVER)

    def save(self) -> None:
        """Write the timers that have changed."""
        for at in self._changed:
            timer = self._set.get(at)
            encoded = None if timer is None else self._coders[at[0], at[1]].encode(timer)
            self._saved.put(PART, at, encoded)
        self._changed.clear()


def _identity(coder: Any, timer: Any, window: Any) -> tuple[bytes, bytes]:
    """(key and window, key and window and tag), encoded as timers that are cleared."""

    def cleared(tag: str) -> bytes:
        identity = userstate.Timer(timer.user_key, tag, (window,), True, None, None, None)
        return bytes(coder.encode(identity))

    return cleared(""), cleared(timer.dynamic_timer_tag)
