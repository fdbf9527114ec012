"""A sum over windows that is state: it survives kills, and so do the open windows.

    heronpy run examples/storm_starter/stateful_windowing.py

storm-starter's StatefulWindowingTopology: windows of five integers with each third one. A window is
not shown twice, so Storm's `withMessageIdField` is not needed.
"""

from integers import Printer
from stateful import StatefulIntegers

from heronpy_compat import Topology
from heronpy_compat.windows import WindowedBolt


class WindowSum(WindowedBolt):
    outputs = ["sum"]

    def init_state(self, state):
        super().init_state(state)
        self.state = state

    def execute(self, window):
        total = self.state.get("sum", 0) + sum(tup["value"] for tup in window.get())
        self.state.put("sum", total)
        self.emit([total])


class StatefulWindowing(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    }

    spout = StatefulIntegers.spec()
    sumbolt = WindowSum.spec(
        inputs=[spout],
        config={
            "topology.bolts.window.length.count": 5,
            "topology.bolts.window.sliding.interval.count": 3,
        },
    )
    printer = Printer.spec(inputs=[sumbolt])
