"""Windows behind a component that names the task of each tuple itself: an instance of it that has
sent nothing to them tells them all the same how far it has come in event time."""

from typing import Any

import pytest

from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import BatchWindowBolt, KeyedWindowBolt, Tumbling

MODE = "topology.reliability.mode"
MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")
TIMES_MS = [1, 4, 11]
FIELDS = {"ad": "string", "time_ms": "bigint"}


class Clicks(Spout):
    """All of one key, so that one task of a reader by fields gets all of them."""

    outputs = FIELDS
    is_finite = True

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = list(TIMES_MS)

    def next_tuple(self) -> None:
        if self.left:
            time_ms = self.left.pop(0)
            self.emit(["a", time_ms], tup_id=time_ms)
            self.emit_watermark(time_ms)
        elif self.is_finite:
            self.finish()


class Endless(Clicks):
    is_finite = False


class ClicksOfTheFirst(Spout):
    """The first of its instances has all clicks, and names who gets them."""

    outputs = [Stream(FIELDS, "chosen", direct=True)]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        is_first = context.get_task_id() == min(context.get_component_tasks("clicks"))
        self.left = list(TIMES_MS) if is_first else []
        self.reader = context.get_component_tasks("counts")[0]

    def next_tuple(self) -> None:
        if self.left:
            time_ms = self.left.pop(0)
            self.emit(["a", time_ms], tup_id=time_ms, stream="chosen", direct_task=self.reader)
        else:
            self.finish()


class Chooses(Bolt):
    outputs = [Stream(FIELDS, "chosen", direct=True)]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.reader = context.get_component_tasks("counts")[0]

    def process(self, tup: Any) -> None:
        self.emit(tup.values, anchors=[tup], stream="chosen", direct_task=self.reader)
        self.ack(tup)


class Counts(KeyedWindowBolt):
    outputs = ["number"]
    timestamp_field = "time_ms"
    window = Tumbling(10)

    def values(self, result: Any) -> Any:
        return [result.value]


class Batches(BatchWindowBolt):
    outputs = {"number": "bigint"}
    timestamp_field = "time_ms"
    window = Tumbling(10)
    aggregates = {"number": "count"}


def numbers(tester: TopologyTester) -> list[int]:
    return [number for (number,) in tester.values("counts")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("windows", [Counts, Batches])
def test_windows_are_complete_though_a_task_before_them_gets_no_key(
    windows: Any, mode: str
) -> None:
    class Chosen(Topology):
        clicks = Clicks.spec()
        chooses = Chooses.spec(inputs={clicks: Grouping.fields("ad")}, par=3)
        counts = windows.spec(inputs={chooses["chosen"]: Grouping.DIRECT})

    with TopologyTester(Chosen, config={MODE: mode}) as tester:
        tester.run_spouts()
        assert numbers(tester) == [2, 1]
        if mode == "ATLEAST_ONCE":
            assert sorted(tester.acked("clicks")) == TIMES_MS


@pytest.mark.parametrize("mode", MODES)
def test_windows_of_an_endless_source_end_though_a_task_before_them_gets_no_key(mode: str) -> None:
    class Chosen(Topology):
        clicks = Endless.spec()
        chooses = Chooses.spec(inputs={clicks: Grouping.fields("ad")}, par=3)
        counts = Counts.spec(inputs={chooses["chosen"]: Grouping.DIRECT})

    with TopologyTester(Chosen, config={MODE: mode}) as tester:
        tester.run_spouts()
        assert numbers(tester) == [2]


@pytest.mark.parametrize("mode", MODES)
def test_windows_are_complete_though_a_spout_beside_the_others_has_nothing(mode: str) -> None:
    class Chosen(Topology):
        clicks = ClicksOfTheFirst.spec(par=2)
        counts = Counts.spec(inputs={clicks["chosen"]: Grouping.DIRECT})

    with TopologyTester(Chosen, config={MODE: mode}) as tester:
        tester.run_spouts()
        assert numbers(tester) == [2, 1]
        if mode == "ATLEAST_ONCE":
            assert sorted(tester.acked("clicks")) == TIMES_MS
