"""Runner of Storm's windows in a bolt: time as input, calls of `execute` and acks as output."""

from collections.abc import Callable
from typing import Any

from heron_api.windows.clocked_bolt import BoltCalls, ClockRunner, Runner
from heron_api.windows.event_time import EventClock, EventTimeSettings
from heron_api.windows.saved_tuples import restore_storm_windows, save_storm_windows
from heron_api.windows.saved_windows import KeyOf
from heron_api.windows.window_runner import drop_late, is_tracked
from heron_core.algorithms.event_windows.storm import Activation, Step, StormWindows
from heron_core.algorithms.event_windows.values import NO_WATERMARK


class StepRunner(Runner):
    """Storm's windows, whose steps are done: windows are shown, tuples that have expired acked."""

    def __init__(
        self, bolt: BoltCalls, windows: StormWindows, show: Callable[[Activation], None]
    ) -> None:
        self.windows = windows
        self._bolt = bolt
        self._show = show

    def fail_retained(self) -> None:
        """See Runner."""
        retained = self.windows.retained()
        self.windows.clear()
        self._fail(retained)

    def run(self, steps: list[Step]) -> None:
        """Run the windows. If a window raises, all tuples of the window and of later windows
        fail."""
        if not steps:
            return
        retained = self.windows.retained()
        for at, step in enumerate(steps):
            if not isinstance(step, Activation):
                for tup in step.items:
                    self._bolt.ack(tup)
                continue
            try:
                self._show(step)
            except Exception:
                self.windows.clear()
                later = [each for each in steps[at:] if not isinstance(each, Activation)]
                # Tuples to be released by the remaining windows, and retained tuples.
                self._fail([*(tup for each in later for tup in each.items), *retained])
                raise

    def _fail(self, tuples: list[Any]) -> None:
        for tup in tuples:
            self._bolt.fail(tup)


class StormRunner(StepRunner, ClockRunner):
    """The windows of a bolt's instance, and the instance's clock."""

    def __init__(
        self,
        bolt: BoltCalls,
        windows: StormWindows,
        clock: EventClock,
        settings: EventTimeSettings,
        by_event_time: bool,
        show: Callable[[Activation], None],
    ) -> None:
        StepRunner.__init__(self, bolt, windows, show)
        ClockRunner.__init__(self, clock, settings, by_event_time)
        self._watermark_ms = clock.generator.watermark_ms

    def retain(self, tup: Any) -> None:
        """Retain the tuple until expiry; a tuple behind the watermark is late."""
        now_ms = self._clock.now_ms()
        if not self._by_event_time:
            self.run(self.windows.add(now_ms, tup))
            return
        timestamp_ms = self._clock.timestamp_of(tup, now_ms)
        self._clock.seen(tup, timestamp_ms, now_ms)
        if timestamp_ms < self._watermark_ms:
            drop_late(self._bolt, self._settings, self._clock, tup, list(tup.values))
        else:
            self.run(self.windows.add(timestamp_ms, tup))
        if self._settings.interval_ms == 0:
            self.tick()

    def tick(self) -> None:
        """Time has passed: a watermark, or a window by the clock."""
        now_ms = self._clock.now_ms()
        if not self._by_event_time:
            self.run(self.windows.advance(now_ms))
            return
        self._watermark_ms = self._clock.watermark_ms(now_ms)
        self.run(self.windows.advance(self._watermark_ms))
        if self.windows.number_retained and self._clock.is_quiet(self._clock.now_ms()):
            # Tuples that arrive for these windows later are not late: they are emitted separately.
            self.run(self.windows.finish())
        retained = self.windows.number_retained
        if self._clock.has_ended(self._clock.now_ms(), retained, self._bolt.logger):
            self.run(self.windows.finish())
            # The windows retain their end.
            self._clock.generator.raise_to(self.windows.latest_end_ms + 1)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """Process a source's watermark. When all sources have finished, the windows are
        complete."""
        self._clock.source_watermark(component, task, watermark_ms)
        if self._by_event_time:
            self.tick()
        if self._clock.is_complete(any(map(is_tracked, self.windows.retained()))):
            self.run(self.windows.finish())

    def finish(self) -> None:
        """End of the input: run the remaining windows."""
        if not self._by_event_time:
            self.tick()  # windows that have ended
        self.run(self.windows.finish())

    def fail_retained(self) -> None:
        """See Runner."""
        if self._by_event_time and self.windows.number_retained:
            # Storm's are late behind the watermark, though windows to come have them.
            self._clock.generator.forget()
            self._watermark_ms = NO_WATERMARK
        super().fail_retained()

    def save(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        save_storm_windows(state, self.windows, self._watermark_ms, key_of)

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        self._clock.generator.raise_to(restore_storm_windows(state, self.windows, key_of))
        self._watermark_ms = self._clock.generator.watermark_ms
