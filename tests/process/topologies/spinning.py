"""A bolt that calculates as much as it may."""

from heronpy.api.bolt.bolt import Bolt
from heronpy.api.spout.spout import Spout
from heronpy.api.stream import Grouping
from heronpy.api.topology import Topology


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self):
        self.emit([1])


class Spin(Bolt):
    outputs = []

    def process(self, tup):
        for _ in range(20_000):
            pass


class Spinning(Topology):
    numbers = Numbers.spec(par=1)
    spin = Spin.spec(par=1, inputs={numbers: Grouping.SHUFFLE})
