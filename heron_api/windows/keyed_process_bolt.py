"""KeyedProcessBolt: keyed state and timers (Flink's KeyedProcessFunction). heronpy has none."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from heron_api.method_shapes import refuse_coroutine
from heron_api.state.state import State
from heron_api.topology_context import TopologyContext
from heron_api.windows.clocked_bolt import TimedBolt
from heron_api.windows.saved_windows import FirstEnd
from heron_api.windows.timer_runner import TimerRunner, request_timer_ticks, timers_of
from heron_core.state.timer_service import Timer, TimerService

KEY_SHOWN = 100
"""Characters of a key in an error's note."""


class KeyedProcessBolt(TimedBolt):
    """Processes tuples by key, with state, and is called when time has come to a point.

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

    Timers are part of the state. Read the bolt with `Grouping.fields`, as keyed states want it.
    Without a timestamp field (or a `timestamp(self, tup)`) the watermark is what spouts give by
    `emit_watermark`. What the config says of `topology.bolts…` wins over the class.
    """

    timers: TimerService
    """There from `init_state` on."""
    time_runner: TimerRunner

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts: nothing to process with, a wrong value."""
        if cls.process_element is KeyedProcessBolt.process_element:
            return f"class {cls.__name__} must define process_element(self, tup, timestamp_ms)"
        return super().load_problem(config, runs_here)

    def init_state(self, state: State) -> None:
        """Keep the timers that are in the state; call it if you override it."""
        self.timers = timers_of(state, type(self).__name__)
        self._timer_state = state

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the clock's settings, and ask for ticks; call it if you override it."""
        clock, by_event_time = self.begin_clock(config, context)
        self.time_runner = TimerRunner(self.timers, clock, self.settings, by_event_time, self._due)
        self.time_runner.remember_end(FirstEnd(self._timer_state))
        request_timer_ticks(context, self.settings)

    def process_element(self, tup: Any, timestamp_ms: int | None) -> Any:
        """Process one tuple, as `process` of other bolts; `timestamp_ms` None without event
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
        """Process a tuple, then what is due."""
        self.time_runner.process(tup, partial(self._run_element, tup))
