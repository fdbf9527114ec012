"""Watermark strategies: in order, bounded disorder, by partition, given by spouts, own ones."""

from typing import Any

import pytest

from heron_core.errors import ComponentError, TopologyError
from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.testing import ComponentTester, TopologyTester
from heronpy_compat.windows import (
    BoundedDisorder,
    ByPartition,
    Given,
    KeyedWindowBolt,
    Monotonous,
    Tumbling,
    WatermarkStrategy,
)

EVERY_TUPLE = {"topology.bolts.watermark.event.interval.ms": 0}
INPUTS = {"reads": ["partition", "time_ms"]}


class Counts(KeyedWindowBolt):
    outputs = ["start_ms", "end_ms", "events"]
    timestamp_field = "time_ms"
    window = Tumbling(10)


def shown(strategy: Any, *times: Any) -> list[list[Any]]:
    """What each event brings, of (partition, time) or times."""

    class Tried(Counts):
        watermarks = strategy

    with ComponentTester(Tried, inputs=INPUTS, config=EVERY_TUPLE) as bolt:
        rows = [each if isinstance(each, tuple) else ("only", each) for each in times]
        return [[each.values for each in bolt.process(list(row))] for row in rows]


class Punctuated(WatermarkStrategy):
    """Every tenth millisecond of an event says that the ten before are complete."""

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        return timestamp_ms if event["time_ms"] % 10 == 0 else None


@pytest.mark.parametrize(
    ("strategy", "shown_with"),
    [(Monotonous(), 11), (BoundedDisorder(5), 15), (Punctuated(), 20)],
)
def test_each_strategy_completes_the_first_window_in_its_time(
    strategy: Any, shown_with: int
) -> None:
    times = [1, 11, 15, 20]
    found = shown(strategy, *times)
    assert [times[at] for at, each in enumerate(found) if [0, 10, 1] in each] == [shown_with]


def test_partitions_of_one_task_are_sources_of_their_own() -> None:
    by_partition = ByPartition(0, lambda tup: tup["partition"])
    found = shown(by_partition, ("a", 1), ("b", 3), ("a", 12), ("b", 9), ("b", 13))
    assert found == [[], [], [], [], [[0, 10, 3]]]
    # Without it the 3 and the 9 of b, behind those of a, would be late.
    assert shown(Monotonous(), ("a", 1), ("a", 12), ("b", 9))[1:] == [[[0, 10, 1]], []]


class Gives(Spout):
    outputs = ["partition", "time_ms"]

    def initialize(self, config: Any, context: Any) -> None:
        self.steps = [15, 3, -10, 4, 12, None]

    def next_tuple(self) -> None:
        step = self.steps.pop(0) if self.steps else None
        if step is None:
            self.finish()
        elif step < 0:
            self.emit_watermark(-step)
        else:
            self.emit(["a", step])


class CountsGiven(Counts):
    watermarks = Given()


class ByGiven(Topology):
    gives = Gives.spec()
    counts = CountsGiven.spec(inputs={gives: Grouping.GLOBAL})


def test_windows_by_the_watermarks_that_a_spout_gives() -> None:
    """The event of 15 makes that of 3 not late; that of 4, behind the watermark 10, is."""
    with TopologyTester(ByGiven) as tester:
        tester.run_spouts(5)
        assert tester.values("counts") == [[0, 10, 1]]
        tester.run_spouts(1)
        assert tester.values("counts") == [[0, 10, 1], [10, 20, 2]]


class Nonsense(WatermarkStrategy):
    def watermark_ms(self, event: Any, timestamp_ms: int) -> Any:
        return "soon"


def test_a_strategy_that_gives_no_time_fails_its_events() -> None:
    class Wrong(Counts):
        watermarks = Nonsense()

    with ComponentTester(Wrong, inputs=INPUTS) as bolt:
        with pytest.raises(ComponentError, match="Nonsense gives the watermark 'soon'"):
            bolt.process(["a", 1])
        assert bolt.failed == [1]
    with pytest.raises(TopologyError, match="the lag of a watermark"):
        BoundedDisorder(-1)
