"""A bolt that holds one tuple until a file is there; another bolt before it works on."""

import os
import time

from heronpy_compat import Bolt, Spout, Topology

HELD = 20


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        time.sleep(0.02)
        self.emit([self.number], tup_id=self.number)
        self.number += 1


class Quick(Bolt):
    outputs = ["number"]

    def process(self, tup):
        self.emit(list(tup.values), anchors=[tup])
        self.ack(tup)


class Holding(Bolt):
    def initialize(self, config, context):
        self.file = config["test.file"]

    def process(self, tup):
        while tup.values[0] == HELD and not os.path.exists(self.file):
            time.sleep(0.05)
        self.ack(tup)


class HeldTuple(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    numbers = Numbers.spec()
    quick = Quick.spec(inputs=[numbers])
    holding = Holding.spec(inputs=[quick])
