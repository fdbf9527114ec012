"""Windows by the tuples' own timestamps: sums of the last five seconds, every three seconds.

    heronpy run examples/storm_starter/sliding_tuple_ts.py

storm-starter's SlidingTupleTsTopology.
"""

from integers import Printer, RandomIntegers
from sliding_sum import SlidingSum

from heronpy_compat import Topology


class SlidingTupleTs(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    integer = RandomIntegers.spec()
    slidingsum = SlidingSum.spec(
        inputs=[integer],
        config={
            "topology.bolts.window.length.duration.ms": 5_000,
            "topology.bolts.window.sliding.interval.duration.ms": 3_000,
            "topology.bolts.tuple.timestamp.field.name": "ts",
            "topology.bolts.tuple.timestamp.max.lag.ms": 5_000,
        },
    )
    printer = Printer.spec(inputs=[slidingsum])
