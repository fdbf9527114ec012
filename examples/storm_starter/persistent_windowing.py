"""Averages of the last ten seconds and of all windows, where the windows are state as well.

    heronpy run examples/storm_starter/persistent_windowing.py

storm-starter's PersistentWindowingTopology. Windows are always saved with the state of their bolt;
RocksDB (`topology.state.backend: rocksdb`) holds states that are larger than the memory.
"""

from integers import Printer
from stateful import StatefulIntegers

from heronpy_compat import Topology
from heronpy_compat.windows import WindowedBolt


class Averages(WindowedBolt):
    outputs = ["global", "window"]

    def init_state(self, state):
        super().init_state(state)
        self.state = state

    def execute(self, window):
        values = [tup["value"] for tup in window.get()]
        total, count = self.state.get("avg", (0, 0))
        total, count = total + sum(values), count + len(values)
        self.state.put("avg", (total, count))
        self.emit([f"global={total / count:.2f}", f"window={sum(values) / len(values):.2f}"])


class PersistentWindowing(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 5,
    }

    spout = StatefulIntegers.spec()
    avgbolt = Averages.spec(
        inputs=[spout],
        config={
            "topology.bolts.window.length.duration.ms": 10_000,
            "topology.bolts.window.sliding.interval.duration.ms": 2_000,
        },
    )
    printer = Printer.spec(inputs=[avgbolt])
