"""An inner join of two streams by their ids, in a tumbling window of ten seconds.

    heronpy run examples/storm_starter/join_bolt.py

storm-starter's JoinBoltExample.
"""

from collections import defaultdict

from integers import Printer

from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.windows import WindowedBolt


class Rows(Spout):
    """The rows of a subclass."""

    def initialize(self, config, context):
        self.left = list(self.rows)

    def next_tuple(self):
        if self.left:
            row = self.left.pop(0)
            self.emit(row, tup_id=row[0])
        else:
            self.finish()


class Genders(Rows):
    outputs = ["id", "gender"]
    rows = [[number, ("male", "female")[number % 2]] for number in range(10)]


class Ages(Rows):
    outputs = ["id", "age"]
    rows = [[number, number + 20] for number in reversed(range(10))]


class Joiner(WindowedBolt):
    outputs = ["genders:id", "ages:id", "gender", "age"]

    def execute(self, window):
        ages = defaultdict(list)
        for tup in window.get():
            if tup.component == "ages":
                ages[tup["id"]].append(tup)
        for tup in window.get():
            if tup.component == "genders":
                for match in ages[tup["id"]]:
                    joined = [tup["id"], match["id"], tup["gender"], match["age"]]
                    self.emit(joined, anchors=[tup, match])


class JoinExample(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    genders = Genders.spec()
    ages = Ages.spec()
    joiner = Joiner.spec(
        inputs={genders: Grouping.fields("id"), ages: Grouping.fields("id")},
        config={
            "topology.bolts.window.length.duration.ms": 10_000,
            "topology.bolts.window.sliding.interval.duration.ms": 10_000,
        },
    )
    printer = Printer.spec(inputs=[joiner])
