"""A bolt that forgets one tuple: nobody acks it, so it expires."""

import time

import results

from heronpy_compat import Bolt, Spout, Topology

FORGOTTEN = 3


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.context = context
        self.numbers = iter(range(10))
        self.emitted_at, self.failed_after, self.acked = {}, [], []

    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        else:
            self.emitted_at[number] = time.monotonic()
            self.emit([number], tup_id=number)

    def ack(self, tup_id):
        self.acked.append(tup_id)

    def fail(self, tup_id):
        self.failed_after.append([tup_id, time.monotonic() - self.emitted_at[tup_id]])

    def close(self):
        results.write(self.context, {"acked": self.acked, "failed_after": self.failed_after})


class Forgetful(Bolt):
    def process(self, tup):
        if tup.values[0] != FORGOTTEN:
            self.ack(tup)


class Timeouts(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    numbers = Numbers.spec()
    forgetful = Forgetful.spec(inputs=[numbers])
