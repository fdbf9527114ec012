"""Windows by count: sums of the last 30 integers with each tenth one, and averages of three sums.

    heronpy run examples/storm_starter/sliding_window.py

storm-starter's SlidingWindowTopology.
"""

from integers import Printer, RandomIntegers
from sliding_sum import SlidingSum

from heronpy_compat import Topology
from heronpy_compat.windows import WindowedBolt


class TumblingAverage(WindowedBolt):
    outputs = ["avg"]

    def execute(self, window):
        sums = [tup["sum"] for tup in window.get()]
        self.emit([sum(sums) // len(sums)])


class SlidingWindow(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    integer = RandomIntegers.spec()
    slidingsum = SlidingSum.spec(
        inputs=[integer],
        config={
            "topology.bolts.window.length.count": 30,
            "topology.bolts.window.sliding.interval.count": 10,
        },
    )
    tumblingavg = TumblingAverage.spec(
        inputs=[slidingsum],
        config={
            "topology.bolts.window.length.count": 3,
            "topology.bolts.window.sliding.interval.count": 3,
        },
    )
    printer = Printer.spec(inputs=[tumblingavg])
