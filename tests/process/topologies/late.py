"""A bolt that takes its time to start, and one that dies at its last words once."""

import os
import time

import results

from heronpy_compat import Bolt, Spout, Topology


class One(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.numbers = iter([1])

    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        else:
            self.emit([number])


class StartsLate(Bolt):
    def initialize(self, config, context):
        self.context, self.received = context, []
        time.sleep(1)

    def process(self, tup):
        self.received.append(tup.values[0])
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, self.received)


class DiesOnFinish(Bolt):
    def process(self, tup):
        self.ack(tup)

    def on_finish(self):
        name = f"try-{os.getpid()}"
        first = not any(each.startswith("try-") for each in os.listdir(os.environ["TEST_RESULTS"]))
        results.write_as(name, True)
        if first:
            os._exit(1)


class Late(Topology):
    one = One.spec()
    late = StartsLate.spec(inputs=[one])


class LastWords(Topology):
    one = One.spec()
    dies = DiesOnFinish.spec(inputs=[one])
