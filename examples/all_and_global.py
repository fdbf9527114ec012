"""ALL sends a rule to every task that filters; GLOBAL brings their results to one that adds up.

heronpy run examples/all_and_global.py
"""

from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology

READINGS = [12, 71, 35, 68, 90, 44, 59, 83, 27, 66]
LIMIT = 60


class Readings(Spout):
    outputs = ["reading", Stream(["limit"], name="rules")]

    def initialize(self, config, context):
        self.readings = iter(READINGS)
        self.rules = [LIMIT]

    def next_tuple(self):
        if self.rules:
            # Tuples of one task to another stay in order, also on different streams, so the rule
            # is there before the readings.
            self.emit([self.rules.pop()], stream="rules")
            return
        reading = next(self.readings, None)
        if reading is None:
            self.finish()
        else:
            self.emit([reading])


class Filter(Bolt):
    outputs = ["reading"]

    def process(self, tup):
        if tup.stream == "rules":
            self.limit = tup.values[0]
        elif tup.values[0] > self.limit:
            self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Total(Bolt):
    def initialize(self, config, context):
        self.received = []

    def process(self, tup):
        self.received.append(tup.values[0])
        self.ack(tup)

    def on_finish(self):
        print(f"{len(self.received)} readings above {LIMIT}, {sum(self.received)} in total")


class AllAndGlobal(Topology):
    readings = Readings.spec()
    above = Filter.spec(par=2, inputs={readings: Grouping.SHUFFLE, readings["rules"]: Grouping.ALL})
    total = Total.spec(inputs={above: Grouping.GLOBAL})
