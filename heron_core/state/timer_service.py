"""Timers by key: a component is called when event time or processing time has come to a point.

A key has at most one timer per kind of time and timestamp (Flink). Timers are part of the state:
saved and restored with the state, and divided by key. Beside the tables a queue in order of time is
derived from the tables; a timer is due if its table has the timer.
The watermark is part of the state as well.

A timer at T by event time is due when the watermark has passed T: then no event of T or before is
expected. That is a watermark of T + 1, as the next event may happen at a watermark itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heron_core.algorithms.event_windows.timers import Timers
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.errors import StateError
from heron_core.state.current_key import CurrentKey
from heron_core.state.keys import shown_key
from heron_core.state.protocol import ABSENT, StateTable
from heron_core.state.saved_watermark import save_watermark, saved_watermark


class TimeDomain(StrEnum):
    """The clock of a timer.

    Example:

        timer = Timer(60_000, "storm", TimeDomain.EVENT_TIME)
        assert timer.domain is not TimeDomain.PROCESSING_TIME
    """

    EVENT_TIME = "event time"
    PROCESSING_TIME = "processing time"


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that is due.

    Example:

        class Silence(KeyedProcessBolt):
            outputs = ["user", "until_ms"]

            timestamp_field = "time_ms"

            def process_element(self, tup, timestamp_ms):
                self.timers.register_event_time_timer(timestamp_ms + 60_000)

            def on_timer(self, timestamp_ms, timer):
                self.emit([timer.key, timestamp_ms])
    """

    timestamp_ms: int
    key: Any
    """Key as the user knows it: the value of one field, a tuple of several."""
    domain: TimeDomain


OnTimer = Callable[[Timer], object]


class _Queue:
    """The timers of one domain."""

    def __init__(self, table: StateTable, domain: TimeDomain) -> None:
        self.domain = domain
        self._table = table
        self._timers = Timers()
        self.load()

    def load(self) -> None:
        """Take the timers of the restored table."""
        self._timers.clear()
        for key in self._table.all_keys():
            for time_ms, _ in self._table.items(key):
                self._timers.add(time_ms, key)

    def add(self, key: Any, time_ms: int) -> None:
        self._table.put(key, True, time_ms)
        self._timers.add(time_ms, key)

    def remove(self, key: Any, time_ms: int) -> None:
        self._table.remove(key, time_ms)
        self._timers.remove(time_ms, key)

    def due(self, until_ms: int) -> Iterable[tuple[int, Any]]:
        """(time, key) of each timer due up to `until_ms`, including timers added meanwhile; each
        timer is removed when returned.
        """
        for time_ms, keys in self._timers.due(until_ms):
            for key in keys:
                if self._table.get(key, time_ms) is not ABSENT:
                    self._table.remove(key, time_ms)
                    yield time_ms, key

    def present(self) -> Iterable[tuple[int, Any]]:
        """All present timers in order, removed one by one as by `due`."""
        for time_ms, key in self._timers.all():
            if self._table.get(key, time_ms) is not ABSENT:
                self.remove(key, time_ms)
                yield time_ms, key


class TimerService:
    """The timers of one instance; for the main thread alone."""

    def __init__(
        self,
        tables: Callable[[TimeDomain], StateTable],
        watermark: StateTable,
        current: CurrentKey,
    ) -> None:
        """`tables` makes the table of a domain, `watermark` has the saved watermark."""
        self._current = current
        self._event, self._processing = (_Queue(tables(each), each) for each in TimeDomain)
        self._saved_watermark = watermark
        self._watermark_ms = saved_watermark(watermark)
        self._clock: Callable[[], int] = _no_clock

    # --- for user code --------------------------------------------------------------------------

    def register_event_time_timer(self, timestamp_ms: int) -> None:
        """Have `on_timer` called for the current key when the watermark has passed this time, in
        ms."""
        time_ms = _checked(timestamp_ms)
        self._event.add(self._current(), time_ms)

    def register_processing_time_timer(self, timestamp_ms: int) -> None:
        """Have `on_timer` called for the current key when the clock has reached this time, in ms
        since 1970."""
        time_ms = _checked(timestamp_ms)
        self._processing.add(self._current(), time_ms)

    def delete_event_time_timer(self, timestamp_ms: int) -> None:
        """Remove the current key's timer of the given time, if present."""
        self._event.remove(self._current(), timestamp_ms)

    def delete_processing_time_timer(self, timestamp_ms: int) -> None:
        """Remove the current key's timer of the given time, if present."""
        self._processing.remove(self._current(), timestamp_ms)

    def current_watermark(self) -> int:
        """Watermark in ms, below which no event is expected; -2**63 before the first watermark."""
        return self._watermark_ms

    def current_processing_time(self) -> int:
        """Milliseconds since 1970."""
        return self._clock()

    # --- calls of the clock and the watermark -----------------------------------------------------

    def goes_by(self, clock_ms: Callable[[], int]) -> None:
        """Set the clock of processing time."""
        self._clock = clock_ms

    def restored(self) -> None:
        """Take the timers and the watermark of a restored state."""
        self._event.load()
        self._processing.load()
        self._watermark_ms = saved_watermark(self._saved_watermark)

    def flush(self) -> None:
        """Write the watermark to its table: an event that is late before a restore is late behind
        it."""
        save_watermark(self._saved_watermark, self._watermark_ms)

    def advance_watermark(self, watermark_ms: int, on_timer: OnTimer) -> None:
        """Call `on_timer` for the timers that are due at a new watermark."""
        if watermark_ms > self._watermark_ms:
            self._watermark_ms = watermark_ms
            self._fire(self._event, self._event.due(watermark_ms - 1), on_timer)

    def complete(self, on_timer: OnTimer) -> None:
        """At the end of all events: call `on_timer` for all timers by event time except timers
        registered meanwhile, an endless series in the worst case.
        """
        self._fire(self._event, self._event.present(), on_timer)

    def advance_time(self, on_timer: OnTimer) -> None:
        """Processing time has passed."""
        self._fire(self._processing, self._processing.due(self._clock()), on_timer)

    def _fire(self, queue: _Queue, due: Iterable[tuple[int, Any]], on_timer: OnTimer) -> None:
        """Call `on_timer` for all due timers, also after an exception; then raise the first
        exception."""
        errors: list[Exception] = []
        before = self._current.state()
        for time_ms, key in due:
            self._current.go_on_with(key)
            try:
                on_timer(Timer(time_ms, shown_key(key), queue.domain))
            except Exception as error:
                errors.append(error)
        self._current.restore(before)
        if errors:
            raise errors[0]


def _no_clock() -> int:
    raise StateError("timers need a component with a clock (KeyedProcessBolt)")


def _checked(timestamp_ms: object) -> int:
    if type(timestamp_ms) is not int or not NO_WATERMARK <= timestamp_ms < END_OF_TIME:
        raise StateError(
            f"a timer is a whole number of milliseconds since 1970, not {timestamp_ms!r}"
        )
    return timestamp_ms
