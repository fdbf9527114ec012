"""Late tuples of windows count once each, also if the topology is restored and they come again."""

from typing import Any

import pytest

from heron_api.state.stateful_component import StatefulComponent
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.algorithms.event_windows.aggregates import Count
from heron_core.algorithms.event_windows.assigners import Tumbling
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester

LATE = "numLateRecordsDropped"
TIMES = [1000, 5000, 0, 1, 6000, 2, 3, 9000, 4]
"""Five of them are late, one of them behind the last checkpoint."""
EXACT = {
    "topology.reliability.mode": "EFFECTIVELY_ONCE",
    "topology.bolts.watermark.event.interval.ms": 0,
}


class Times(Spout, StatefulComponent):
    """Emits them, one in each call."""

    outputs = ["time_ms"]

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("at", self.at)

    def next_tuple(self) -> None:
        if self.at == len(TIMES):
            self.finish()
            return
        self.at += 1
        self.emit([TIMES[self.at - 1]])


class Windows(KeyedWindowBolt):
    outputs = ["window", "count"]
    window = Tumbling(100)
    aggregate = Count()
    timestamp_field = "time_ms"

    def values(self, result: Any) -> Any:
        return [result.window.end_ms, result.value]


class Storms(WindowedBolt):
    outputs = ["window", "count"]

    def execute(self, window: Any) -> None:
        self.emit([window.get_end_timestamp(), len(window.get())])


class Ends(Bolt):
    def process(self, tup: Any) -> None:
        pass


STORMS = {
    "topology.bolts.window.length.duration.ms": 100,
    "topology.bolts.tuple.timestamp.field.name": "time_ms",
    "topology.bolts.window.sliding.interval.duration.ms": 100,
}


def topology_of(windows: type[Bolt], config: dict[str, Any]) -> type[Topology]:
    class Late(Topology):
        times = Times.spec()
        windows_of = windows.spec(name="windows", inputs={times: Grouping.GLOBAL}, config=config)
        ends = Ends.spec(inputs=[windows_of])

    return Late


@pytest.mark.parametrize(("windows", "config"), [(Windows, {}), (Storms, STORMS)])
def test_a_restore_counts_no_late_tuple_again_and_forgets_none(
    windows: type[Bolt], config: dict[str, Any]
) -> None:
    with TopologyTester(topology_of(windows, config), config=EXACT) as tester:
        tester.run_spouts(4)
        assert tester.checkpoint()
        tester.run_spouts(2)
        tester.crash("ends")
        tester.run_spouts(3)
        tester.crash("ends")
        tester.run_spouts()
        tester.finish()
        assert tester.metrics("windows")["user"][LATE] == 5
