"""A bolt that is stuck in a call for a minute."""

import time

import results

from heronpy_compat import Bolt, Spout, Topology


class Once(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.numbers = iter([1])

    def next_tuple(self):
        for number in self.numbers:
            self.emit([number])


class Stuck(Bolt):
    def initialize(self, config, context):
        self.context = context

    def process(self, tup):
        results.write(self.context, {"stuck": True})
        time.sleep(60)


class StuckForAMinute(Topology):
    once = Once.spec()
    stuck = Stuck.spec(inputs=[once])
