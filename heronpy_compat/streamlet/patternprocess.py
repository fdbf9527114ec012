"""match: the matches of a pattern, by key."""

from collections.abc import Iterator
from typing import Any

from heron_api.state.keyed_state import list_state, value_state
from heron_api.windows.pattern_matching import OrderedMatching
from heron_core.algorithms.patterns import Pattern
from heronpy_compat.streamlet.keyedprocess import KeyedProcess, ProcessContext


class PatternProcess(KeyedProcess):
    """(key, [events]) of each match."""

    waiting = list_state()
    runs = value_state()
    matched_ms = value_state()

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def open(self, context: ProcessContext) -> None:
        """See KeyedProcess."""
        self._matching = OrderedMatching(
            self._pattern, self.waiting, self.runs, self.matched_ms, context.timers
        )

    def process_element(self, element: Any, context: ProcessContext) -> list[Any]:
        """See KeyedProcess."""
        matches = self._matching.add(element, context.timestamp_ms)
        if matches is None:
            context.drop_late()
        return [(context.key, events) for events in matches or ()]

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Iterator[Any]:
        """See KeyedProcess."""
        return ((context.key, events) for events in self._matching.due(timestamp_ms))
