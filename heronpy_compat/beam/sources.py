"""Spouts of a pipeline: its impulses, and the events of a TestStream."""

from typing import Any

from apache_beam.runners.common import ENCODED_IMPULSE_VALUE
from apache_beam.utils.timestamp import MAX_TIMESTAMP

from heron_api.spout.spout import Spout
from heron_api.state.stateful_component import StatefulComponent
from heron_api.topology_context import TopologyContext
from heronpy_compat.beam.plans import DATA, EVERYONE, WATERMARK, SourcePlan, unpacked

POSITION = "position"
"""State key: events that were emitted, the end among them."""


class ImpulseSpout(Spout, StatefulComponent):
    """One element for each impulse, then the end of time."""

    outputs = ()

    def init_state(self, stateful_state: Any) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Go on behind what was emitted."""
        self.plan: SourcePlan = unpacked(config)
        self._position = self._state.get(POSITION) or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the position."""
        self._state.put(POSITION, self._position)

    def next_tuple(self) -> None:
        """Emit the next event, or finish."""
        if self._position == self._events():
            self._end()
        if self._position > self._events():
            self.finish()
            return
        self._emit_event(self._position)
        self._position += 1

    def _events(self) -> int:
        return 1

    def _emit_event(self, position: int) -> None:
        for _, edge in self.plan.edges:
            self.emit([DATA, 0, ENCODED_IMPULSE_VALUE], stream=edge.stream)

    def _end(self) -> None:
        self._position += 1
        self._promise(MAX_TIMESTAMP.micros)

    def _promise(self, micros: int, tag: str | None = None) -> None:
        for of, edge in self.plan.edges:
            if tag in (None, of):
                self.emit([WATERMARK, EVERYONE, micros], stream=edge.stream)


class EventSpout(ImpulseSpout):
    """The events of a TestStream, one for each call."""

    asked_secs = 0.0
    """How far the events so far have let the clock advance: for the driver of a virtual clock."""

    def _events(self) -> int:
        return len(self.plan.events)

    def _emit_event(self, position: int) -> None:
        event = self.plan.events[position]
        self.asked_secs += event.advance_secs
        if event.watermark_micros is not None:
            self._promise(min(event.watermark_micros, MAX_TIMESTAMP.micros), event.tag)
        for tag, edge in self.plan.edges:
            if tag == event.tag and event.elements:
                self.emit([DATA, 0, event.elements], stream=edge.stream)
