"""Nothing is lost: a bolt fails every seventh line once, and the spout emits it again.

heronpy run examples/at_least_once.py
"""

from collections import deque

from heronpy_compat import Bolt, Spout, Topology

LINES = [f"line {number}" for number in range(100)]


class Lines(Spout):
    outputs = ["number", "line"]

    def initialize(self, config, context):
        self.waiting = deque(range(len(LINES)))
        self.acked, self.replayed = set(), 0

    def next_tuple(self):
        if self.waiting:
            number = self.waiting.popleft()
            self.emit([number, LINES[number]], tup_id=number)
        else:
            self.finish()

    def ack(self, tup_id):
        self.acked.add(tup_id)
        if len(self.acked) == len(LINES):
            print(f"{len(self.acked)} of {len(LINES)} lines acked, {self.replayed} replayed")

    def fail(self, tup_id):
        self.replayed += 1
        self.waiting.append(tup_id)


class Unreliable(Bolt):
    def initialize(self, config, context):
        self.failed = set()

    def process(self, tup):
        number = tup.values[0]
        if number % 7 == 0 and number not in self.failed:
            self.failed.add(number)
            self.fail(tup)
        else:
            self.ack(tup)


class AtLeastOnce(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    lines = Lines.spec()
    unreliable = Unreliable.spec(inputs=[lines])
