"""A topology whose calls raise: for tuples, ticks, timers, windows and at the end, for both
engines."""

from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.windows import KeyedProcessBolt, KeyedWindowBolt, Tumbling, WindowedBolt

COUNT = 100
KEYS = 5
EACH = 10
"""So many numbers are in a window by number."""
WINDOW_MS = 200
POISON = 42
"""A number; the window and the timer about it raise, too."""
POISONED_KEY = POISON % KEYS


class Numbers(Spout):
    """Numbers with their event time, ten milliseconds apart."""

    outputs = ["key", "number", "time_ms"]
    at = 0

    def next_tuple(self) -> None:
        """One, or the end."""
        if self.at == COUNT:
            self.finish()
            return
        number, self.at = self.at, self.at + 1
        self.emit([number % KEYS, number, 10_000 + 10 * number])


class Parse(Bolt):
    """Raises for a tuple."""

    def process(self, tup: Any) -> None:
        """Raise for the poisoned number."""
        if tup.values[1] == POISON:
            raise ValueError(f"tuple: {tup.values[1]}")
        self.ack(tup)


class Ticking(Bolt):
    """Raises in its first tick."""

    ticks = 0

    def process(self, tup: Any) -> None:
        """Nothing to do."""
        self.ack(tup)

    def process_tick(self, tup: Any) -> None:
        """Raise once."""
        self.ticks += 1
        if self.ticks == 1:
            raise ValueError("tick")


class Timed(KeyedProcessBolt):
    """Raises when a timer is due."""

    auto_ack = True
    timestamp_field = "time_ms"
    lag_ms = 0

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        """A timer for one number."""
        if tup.values[1] == POISON:
            self.timers.register_event_time_timer(timestamp_ms + 50)

    def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        """Raise."""
        raise ValueError(f"timer: {timestamp_ms}")


class ByEvents(KeyedWindowBolt):
    """Raises for a window of event time."""

    outputs = ["start", "number"]
    key_fields = ["key"]
    timestamp_field = "time_ms"
    window = Tumbling(WINDOW_MS)
    lag_ms = 0

    def values(self, result: Any) -> Any:
        """The poisoned number's key has no rows."""
        if result.key == (POISONED_KEY,) and result.window.start_ms == 10_400:
            raise ValueError(f"window: {result.window.start_ms}")
        return [result.window.start_ms, result.value]


class ByNumber(WindowedBolt):
    """Raises for a window of ten numbers."""

    outputs = ["number"]

    def execute(self, window: Any) -> None:
        """All of a window."""
        numbers = [each.values[1] for each in window.get()]
        if POISON in numbers:
            raise ValueError("numbers")
        self.emit([sum(numbers)])


class Ending(Bolt):
    """Raises in its last call."""

    def process(self, tup: Any) -> None:
        """Nothing to do."""
        self.ack(tup)

    def on_finish(self) -> None:
        """Raise."""
        raise ValueError("the end")


class Calls(Topology):
    """One of each."""

    config = {"topology.bolts.watermark.event.interval.ms": 0}
    numbers = Numbers.spec()
    parse = Parse.spec(inputs=[numbers])
    ticking = Ticking.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 0.05})
    timed = Timed.spec(inputs={numbers: Grouping.fields("key")})
    by_events = ByEvents.spec(inputs={numbers: Grouping.fields("key")})
    by_number = ByNumber.spec(
        inputs=[numbers],
        config={
            "topology.bolts.window.length.count": EACH,
            "topology.bolts.window.sliding.interval.count": EACH,
        },
    )
    ending = Ending.spec(inputs=[numbers])
