"""A windowed bolt with state of its own: Storm's IStatefulWindowedBolt."""

from typing import Any

from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import WindowedBolt

WINDOW = {
    "topology.bolts.window.length.count": 2,
    "topology.bolts.window.sliding.interval.count": 2,
}


class Numbers(Spout):
    outputs: Any = ("number",)

    def initialize(self, config: Any, context: Any) -> None:
        """Tuples are fed."""

    def next_tuple(self) -> None:
        """None of its own."""


class RunningTotal(WindowedBolt):
    """As storm-starter's StatefulWindowingTopology: adds the sum of each window to a total."""

    outputs: Any = ("total",)

    def init_state(self, stateful_state: Any) -> None:
        super().init_state(stateful_state)
        self.state = stateful_state

    def execute(self, window: Any) -> None:
        total = (self.state.get("total") or 0) + sum(tup.values[0] for tup in window.get())
        self.state.put("total", total)
        self.emit([total])


class Totals(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    totals = RunningTotal.spec(inputs={numbers: Grouping.ALL}, config=WINDOW)


def test_state_and_open_windows_are_of_one_checkpoint() -> None:
    with TopologyTester(Totals) as tester:
        for number in (1, 2, 3):
            tester.feed("numbers", [number])
        tester.run()
        assert tester.values("totals") == [[3]]
        assert tester.checkpoint()
        tester.feed("numbers", [4], 4, replays=1)
        tester.run()
        assert tester.values("totals")[-1] == [10]
        tester.crash("totals")
        tester.run()
        # restored: the total is 3, and 3 is in the open window; 4 comes again
        assert tester.values("totals")[-1] == [10]
        tester.feed("numbers", [5])
        tester.feed("numbers", [6])
        tester.run()
        assert tester.values("totals")[-1] == [21]
