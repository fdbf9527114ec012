"""interval_join: pairs of elements of two streamlets that are close in time."""

from collections.abc import Iterable
from typing import Any

from heron_api.windows.clocked_bolt import ClockRunner
from heron_api.windows.event_time import EventClock
from heron_api.windows.saved_windows import KeyOf, restore_windows, save_windows
from heron_api.windows.window_runner import drop_late, is_tracked
from heron_core.algorithms.event_windows.interval_join import IntervalJoin, Pair
from heron_core.algorithms.event_windows.values import Dropped
from heronpy_compat.streamlet.impl.eventstage import EventStageBolt, EventStageStreamlet


def _without_tuple(value: tuple[Any, Any]) -> tuple[Any, Any]:
    """An element as saved in state, without its tuple: after a restore, sources emit the tuple
    again."""
    return value[0], None


class JoinRunner(ClockRunner):
    """The elements that wait for their pairs, and the bolt's clock."""

    def __init__(self, bolt: "IntervalJoinBolt", clock: EventClock) -> None:
        super().__init__(clock, bolt.settings, by_event_time=True)
        self._bolt = bolt
        self._join = IntervalJoin(*bolt.stage.bounds_ms, pack=_without_tuple)

    def save(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        save_windows(state, self._join, key_of)

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        restore_windows(state, self._join, key_of)

    def fail_retained(self) -> None:
        """See Runner."""
        for _, retained in self._join.drop_values(lambda value: value[1] is not None):
            self._bolt.fail(retained)

    def process(self, tup: Any) -> None:
        """Pair an element."""
        bolt, now_ms = self._bolt, self._clock.now_ms()
        timestamp_ms = self._clock.timestamp_of(tup, now_ms)
        retained = tup if is_tracked(tup) else None
        element = tup.values[0]
        outputs = self._join.add(
            bolt.key(tup), bolt.is_right(tup), timestamp_ms, (element, retained)
        )
        self._clock.seen(tup, timestamp_ms, now_ms)
        pairs = [each for each in outputs if isinstance(each, Pair)]
        if len(pairs) < len(outputs):
            drop_late(bolt, self._settings, self._clock, tup, element)
        elif retained is None:
            bolt.ack(tup)
        for pair in pairs:
            bolt.emit_pair(pair)
        if self._settings.interval_ms == 0:
            self.tick()

    def tick(self) -> None:
        """See Runner."""
        now_ms = self._clock.now_ms()
        self._ack(self._join.advance_watermark(self._clock.watermark_ms(now_ms)))
        if self._clock.is_quiet(now_ms):
            self._join.exchange(
                self._acked
            )  # failing the tuple would repeat the element; the element still waits for partners
        if self._clock.has_ended(now_ms, self._join.kept, self._bolt.logger):
            self._ack(self._join.complete_open())
            self._clock.generator.raise_to(self._join.watermark_ms)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """See Runner."""
        self._clock.source_watermark(component, task, watermark_ms)
        self.tick()
        if self._clock.generator.has_ended:
            self._join.exchange(self._acked)  # an upstream bolt may still send partners

    def finish(self) -> None:
        """See Runner."""
        self._ack(self._join.finish())

    def _acked(self, value: tuple[Any, Any]) -> tuple[Any, Any]:
        element, retained = value
        if retained is not None:
            self._bolt.ack(retained)
        return element, None

    def _ack(self, dropped: Iterable[Dropped]) -> None:
        for each in dropped:
            self._acked(each.accumulator)


class IntervalJoinBolt(EventStageBolt):
    """Emits a pair when both elements are present; acks a tracked element when no later element can
    match."""

    time_runner: JoinRunner

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Make the join."""
        self.time_runner = JoinRunner(self, self.begin(config, context))
        self.restore_windows()

    def process(self, tup: Any) -> None:
        """Pair an element."""
        self.time_runner.process(tup)

    def emit_pair(self, pair: Pair) -> None:
        """Emit the result of the stage's function."""
        (left, left_tuple), (right, right_tuple) = pair.left, pair.right
        assert self.stage.function is not None
        anchors = [each for each in (left_tuple, right_tuple) if each is not None]
        self.emit_element((pair.key, self.stage.function(left, right)), anchors)


class IntervalJoinStreamlet(EventStageStreamlet):
    """Result of `interval_join`."""

    prefix = "intervaljoin"
    bolt = IntervalJoinBolt
