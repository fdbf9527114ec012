"""interval_join: pairs of elements of two streamlets that are close in time."""

from collections.abc import Iterable
from typing import Any

from heron_api.windows.saved_windows import restore_windows, save_windows
from heron_api.windows.window_runner import give_up_late, is_tracked
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.interval_join import IntervalJoin, Pair
from heron_core.algorithms.event_windows.values import Dropped
from heronpy_compat.streamlet.impl.eventstage import EventStageBolt, EventStageStreamlet


def _without_tuple(value: tuple[Any, Any]) -> tuple[Any, Any]:
    """An element as it is saved: its tuple comes again, as sources go back to the checkpoint."""
    return value[0], None


class IntervalJoinBolt(EventStageBolt):
    """Emits a pair as soon as both are there; a tracked element is acked when no later one can be
    its partner."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Make the join."""
        self._clock = self.begin(config, context)
        self._join = IntervalJoin(*self.stage.bounds_ms, pack=_without_tuple)
        self.restore_windows()

    def restore_windows(self) -> None:
        """Have waiting what the state has."""
        state = getattr(self, "saved_state", None)
        if state is not None:
            restore_windows(state, self._join, self.grouping_key())

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the elements that wait."""
        save_windows(self.saved_state, self._join, self.grouping_key())

    def fail_held(self) -> bool:
        """See EventWindowBolt: elements that wait for their pairs fail."""
        for _, held in self._join.drop_values(lambda value: value[1] is not None):
            self.fail(held)
        return self.grouping_key() is not None

    def process(self, tup: Any) -> None:
        """Pair an element."""
        now_ms = self._clock.now_ms()
        timestamp_ms = self._clock.timestamp_of(tup, now_ms)
        held = tup if is_tracked(tup) else None
        element = tup.values[0]
        found = self._join.add(self.key(tup), self.is_right(tup), timestamp_ms, (element, held))
        self._clock.seen(tup, timestamp_ms, now_ms)
        pairs = [each for each in found if isinstance(each, Pair)]
        if len(pairs) < len(found):
            give_up_late(self, self.settings, self._clock, tup, element)
        elif held is None:
            self.ack(tup)
        for pair in pairs:
            self._emit_pair(pair)
        if self.settings.interval_ms == 0:
            self.process_tick(None)

    def _emit_pair(self, pair: Pair) -> None:
        (left, left_held), (right, right_held) = pair.left, pair.right
        assert self.stage.function is not None
        anchors = [each for each in (left_held, right_held) if each is not None]
        self.emit_element((pair.key, self.stage.function(left, right)), anchors)

    def process_tick(self, tup: Any) -> None:
        """Time has passed."""
        now_ms = self._clock.now_ms()
        self._ack(self._join.advance_watermark(self._clock.watermark_ms(now_ms)))
        if self._clock.is_quiet(now_ms):
            self._join.exchange(self._acked)  # it would fail; it goes on waiting for its pairs
        if self._clock.has_ended(now_ms, self._join.kept, self.logger):
            self._ack(self._join.complete_open())
            self._clock.generator.raise_to(self._join.watermark_ms)

    def _acked(self, value: tuple[Any, Any]) -> tuple[Any, Any]:
        element, held = value
        if held is not None:
            self.ack(held)
        return element, None

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """A source has sent a watermark, or has finished (the engine calls it)."""
        self._clock.source_watermark(component, task, watermark_ms)
        self.process_tick(None)
        if self._clock.generator.has_ended:
            self._join.exchange(self._acked)  # a bolt before may still send pairs of it

    def clock_state(self) -> ClockState | None:
        """How far it is in event time (the engine asks for it, from any thread)."""
        return self._clock.state()

    def advance_watermark(self, watermark_ms: int) -> None:
        """No event below it is expected, whatever the tuples say (TopologyTester calls it)."""
        self._clock.generator.raise_to(watermark_ms)
        self.process_tick(None)

    def on_finish(self) -> None:
        """The end of a finite run."""
        self._ack(self._join.finish())

    def _ack(self, dropped: Iterable[Dropped]) -> None:
        for each in dropped:
            _, held = each.accumulator
            if held is not None:
                self.ack(held)


class IntervalJoinStreamlet(EventStageStreamlet):
    """What `interval_join` returns."""

    prefix = "intervaljoin"
    bolt = IntervalJoinBolt
