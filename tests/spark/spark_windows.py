"""Windows and timers for the tests on Spark: numbers of each key, counted by the hundred."""

from typing import Any

from heron_api.state.keyed_state import map_state
from heronpy_compat.windows import KeyedProcessBolt, KeyedWindowBolt, Timer, Tumbling

HUNDRED = 100


class ByWindow(KeyedWindowBolt):
    """By windows whose event time is the number."""

    outputs = ["number", "key"]
    key_fields = ["key"]
    window = Tumbling(HUNDRED)

    def timestamp(self, tup: Any) -> int:
        return int(tup.values[0])

    def values(self, result: Any) -> Any:
        return [result.value, f"{result.key[0]} {result.window.start_ms}"]


class ByTimer(KeyedProcessBolt):
    """The same by keyed state, and a timer for the end of each hundred."""

    outputs = ["number", "key"]
    auto_ack = True
    counts = map_state()

    def timestamp(self, tup: Any) -> int:
        return int(tup.values[0])

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        start = timestamp_ms - timestamp_ms % HUNDRED
        self.counts.put(start, self.counts.get(start, 0) + 1)
        self.timers.register_event_time_timer(start + HUNDRED - 1)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        start = timestamp_ms - HUNDRED + 1
        self.emit([self.counts.get(start), f"{timer.key} {start}"])
        self.counts.remove(start)
