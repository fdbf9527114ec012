"""A bolt that prints much, in long lines, and logs a little."""

import sys

from heronpy_compat import Bolt, Spout, Topology

LINES = 1500
WIDTH_MAX = 90_000


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.numbers = iter(range(LINES))

    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        else:
            self.emit([number])


class Printer(Bolt):
    def process(self, tup):
        print(tup.number, "x" * (tup.number * 997 % WIDTH_MAX))

    def on_finish(self):
        self.log("said quietly")
        self.log("said aloud", "warn")
        print("to stderr", file=sys.stderr)
        print("without an end", end="")


class Chatty(Topology):
    numbers = Numbers.spec()
    printer = Printer.spec(inputs=[numbers])
