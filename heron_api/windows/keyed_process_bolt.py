"""KeyedProcessBolt: keyed state and timers (Flink's KeyedProcessFunction). An extension of
heronpy's API."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from heron_api.method_shapes import refuse_coroutine
from heron_api.state.state import State
from heron_api.topology_context import TopologyContext
from heron_api.tuple import ReadRow
from heron_api.windows.clocked_bolt import TimedBolt
from heron_api.windows.saved_windows import FirstEnd
from heron_api.windows.timer_runner import TimerRunner, request_timer_ticks, timers_of
from heron_core.state.timer_service import Timer, TimerService

KEY_SHOWN = 100
"""Characters of a key in an error's note."""


class KeyedProcessBolt(TimedBolt[ReadRow]):
    """Processes tuples by key, with state and timers.

        class Inactive(KeyedProcessBolt):
            outputs = ["user", "last_ms"]
            auto_ack = True
            timestamp_field = "time_ms"
            lag_ms = 5_000
            last = value_state()

            def process_element(self, tup, timestamp_ms):      # grouped by "user"
                self.last.put(timestamp_ms)
                self.timers.register_event_time_timer(timestamp_ms + 60_000)

            def on_timer(self, timestamp_ms, timer):           # for timer.key
                if self.last.get() == timestamp_ms - 60_000:
                    self.emit([timer.key, self.last.get()])

    Timers are part of the state. Keyed states require `Grouping.fields` on the input. Without a
    timestamp field (or a `timestamp(self, tup)`) the watermark comes from the spouts'
    `emit_watermark`. Config keys `topology.bolts…` override the class.
    """

    timers: TimerService
    """Set from `init_state` on."""
    time_runner: TimerRunner

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: a missing method, an invalid value."""
        if cls.process_element is KeyedProcessBolt.process_element:
            return f"class {cls.__name__} must define process_element(self, tup, timestamp_ms)"
        return super().load_problem(config, runs_here)

    def init_state(self, state: State) -> None:
        """Restore the timers of the state; call super when overriding."""
        self.timers = timers_of(state, type(self).__name__)
        self._timer_state = state

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the clock's settings and request ticks; call super when overriding."""
        clock, by_event_time = self.begin_clock(config, context)
        self.time_runner = TimerRunner(self.timers, clock, self.settings, by_event_time, self._due)
        self.time_runner.remember_end(FirstEnd(self._timer_state))
        request_timer_ticks(context, self.settings)

    def process_element(self, tup: ReadRow, timestamp_ms: int | None) -> Any:
        """Process one tuple, like `process` of other bolts; `timestamp_ms` is None without event
        time."""
        raise NotImplementedError

    def on_timer(self, timestamp_ms: int, timer: Timer) -> Any:
        """A timer is due; `timer.key` is the current key, `timer.domain` says by which time."""

    def _due(self, timer: Timer) -> None:
        try:
            refuse_coroutine(self.on_timer, self.on_timer(timer.timestamp_ms, timer))
        except Exception as error:
            error.add_note(f"the timer of {timer.timestamp_ms} ms, key {timer.key!r:.{KEY_SHOWN}}")
            raise

    def _run_element(self, tup: Any, timestamp_ms: int | None) -> None:
        refuse_coroutine(self.process_element, self.process_element(tup, timestamp_ms))

    def process(self, tup: Any) -> None:
        """Process a tuple, then fire due timers."""
        self.time_runner.process(tup, partial(self._run_element, tup))
