"""The spout and the bolts that the windowing examples of storm-starter share."""

import random

from heronpy_compat import Bolt, Spout

INTEGERS = 100
STEP_MS = 100
START_MS = 1_700_000_000_000


def integers(count):
    """The values of the spout: the same ones in each run."""
    draw = random.Random(7)
    return [draw.randrange(1000) for _ in range(count)]


class RandomIntegers(Spout):
    """Integers below 1,000, a tenth of a second apart by their timestamps (storm-starter:
    RandomIntegerSpout, which never ends). Config: `integers`, how many there are."""

    outputs = ["value", "ts", "msgid"]

    def initialize(self, config, context):
        self.left = list(enumerate(integers(int(config.get("integers", INTEGERS)))))

    def next_tuple(self):
        if not self.left:
            self.finish()
            return
        number, value = self.left.pop(0)
        self.emit([value, START_MS + number * STEP_MS, number], tup_id=number)


class Printer(Bolt):
    """Prints what comes (storm-starter: PrinterBolt)."""

    auto_ack = True

    def process(self, tup):
        print(*tup.values, flush=True)
