"""A pattern's events of one key are matched in the order of their times, across a restore too."""

from typing import Any

from heron_api.windows.pattern_matching import OrderedMatching
from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import PatternBolt, sequence

EVERY_TUPLE = {"topology.bolts.watermark.event.interval.ms": 0}


class Cell:
    """A keyed state of the current key: the value survives a restore."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        """The value."""
        return self._value

    def put(self, value: Any) -> None:
        """Replace the value."""
        self._value = value

    update = put

    def add(self, item: Any) -> None:
        """Append to a list."""
        self._value.append(item)

    def clear(self) -> None:
        """Forget the value."""
        self._value = None


class Timers:
    """Timers whose watermark a restore forgets."""

    def __init__(self) -> None:
        self.watermark_ms = -(2**63)

    def current_watermark(self) -> int:
        """See TimerService."""
        return self.watermark_ms

    def register_event_time_timer(self, timestamp_ms: int) -> None:
        """See TimerService."""


def test_an_event_that_was_late_before_a_restore_is_late_behind_it() -> None:
    pattern = sequence(lambda event: event == "a", lambda event: event == "b").within(60)
    states, timers = (Cell([]), Cell(None), Cell(None)), Timers()
    matching = OrderedMatching(pattern, *states, timers)  # type: ignore[arg-type]
    assert matching.add("b", 5_000) == []
    timers.watermark_ms = 6_000
    assert list(matching.due(5_000)) == []
    assert matching.add("a", 4_000) is None
    restored = OrderedMatching(pattern, *states, Timers())  # type: ignore[arg-type]
    assert restored.add("a", 4_000) is None
    assert restored.add("a", 5_000) == []  # at the time of the last match: not late
    assert restored.add("b", 7_000) == []
    assert list(restored.due(7_000)) == [["a", "b"]]


class Events(Spout):
    outputs = ["key", "kind", "time_ms"]

    def next_tuple(self) -> None:
        pass


class Matches(PatternBolt):
    outputs = ["key", "events"]
    timestamp_field = "time_ms"
    pattern = sequence(lambda event: event[1] == "a", lambda event: event[1] == "b").within(60)


class Matched(Topology):
    events = Events.spec()
    matches = Matches.spec(inputs={events: Grouping.fields("key")}, config=EVERY_TUPLE)


def test_an_event_of_a_key_without_matches_is_late_behind_a_restore_as_before() -> None:
    """The watermark is part of the state: the time of the last match is another key's."""
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    late, later = ["other", "a", 4_000], ["other", "b", 5_000]
    with TopologyTester(Matched, config=config) as tester:
        tester.feed("events", ["some", "a", 6_000])
        tester.run()
        assert tester.checkpoint()
        for _ in range(2):
            for event in (late, later):
                tester.feed("events", event)
            tester.run()
            assert tester.metrics("matches")["user"]["numLateRecordsDropped"] == 2
            tester.crash("matches")
        tester.finish()
        assert tester.values("matches") == []
