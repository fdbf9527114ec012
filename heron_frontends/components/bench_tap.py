"""Components of `heronpy bench tap`: calls are correlated with their answers within a second, and
mean latencies of each firm and minute are computed (Gearpump's TAP job).

The source runs through event time as fast as it can. Its rows have a known latency, so each mean
can be checked: `call` is the definition of both.
"""

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.state.keyed_state import value_state
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_core.algorithms.event_windows.assigners import Tumbling
from heron_core.state.monoid import MeanOf

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

FIRMS = 12
STEP_MS = 500
"""Of event time between two calls of an instance: a minute is 240 tuples, so that at least once it
fits into what a spout may have pending while a window waits for its end."""
WITHIN_MS = 1_000
MINUTE_MS = 60_000
LATE_IN = 20
"""One call in so many is answered too late, and has no latency."""
SAMPLE = 1 << 12
"""Latencies drawn in advance, a power of two: drawing costs more than an emit."""


def latency_ms(number: int) -> int:
    """Of a call; longer than WITHIN_MS for one in LATE_IN."""
    return 50 + number * 37 % 500 + (WITHIN_MS if number % LATE_IN == 0 else 0)


class TapCalls(Spout):
    """Emits each call and its answer, as fast as possible; failed rows are not repeated."""

    outputs = ["call", "firm", "time_ms"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Event time begins at zero."""
        self._task = context.get_task_id()
        self._firms = [f"firm{Random(each).randrange(FIRMS)}" for each in range(SAMPLE)]
        self._number = 0

    def next_tuple(self) -> None:
        """A call and its answer."""
        number = self._number = self._number + 1
        name, firm = f"{self._task}-{number}", self._firms[number % SAMPLE]
        began_ms = number * STEP_MS
        self.emit([name, firm, began_ms], tup_id=2 * number)
        self.emit([name, firm, began_ms + latency_ms(number)], tup_id=2 * number + 1)


class TapLatency(KeyedProcessBolt):
    """The first of both rows waits for the other one, until a second has passed."""

    outputs = ["firm", "time_ms", "latency_ms"]
    timestamp_field = "time_ms"
    lag_ms = 2 * WITHIN_MS
    waiting = value_state()

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        """One row; grouped by call."""
        began_ms = self.waiting.get()
        if began_ms is None:
            self.waiting.put(timestamp_ms)
            self.timers.register_event_time_timer(timestamp_ms + WITHIN_MS)
        else:
            self.waiting.clear()
            if timestamp_ms - began_ms <= WITHIN_MS:
                row = [tup.firm, began_ms, timestamp_ms - began_ms]
                self.emit(row, anchors=[tup])
        self.ack(tup)

    def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        """The answer has not come in time."""
        self.waiting.clear()


class TapMeans(KeyedWindowBolt):
    """The mean latency of each firm and minute."""

    outputs = ["firm", "minute", "mean_ms"]
    key_fields = ["firm"]
    timestamp_field = "time_ms"
    lag_ms = 4 * WITHIN_MS
    window = Tumbling(MINUTE_MS)
    aggregate = MeanOf()

    def value(self, tup: Any, timestamp_ms: int) -> int:
        """A latency."""
        found: int = tup.latency_ms
        return found

    def values(self, result: Any) -> list[Any]:
        """A row of the table."""
        return [result.key[0], result.window.start_ms // MINUTE_MS, result.value]


class TapTable(Bolt):
    """Keeps the newest mean of each firm, as a table would."""

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """The table is empty."""
        self.rows: dict[str, tuple[int, float]] = {}
        self.written: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        """A row."""
        firm, minute, mean_ms = tup.values
        self.rows[firm] = minute, mean_ms
        self.written[firm] += 1
        self.ack(tup)
