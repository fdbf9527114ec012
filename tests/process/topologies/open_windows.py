"""Numbers of now that wait in windows of a day for their ack, and are counted beside that."""

import time

from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.windows import Count, KeyedWindowBolt, Tumbling

DAY_MS = 86_400_000
EACH_SECS = 0.005


class Numbers(Spout):
    outputs = ["time_ms", "number"]

    def initialize(self, config, context):
        self.number, self.next_at, self.again = 0, time.monotonic(), []

    def next_tuple(self):
        if self.again:
            self.send(self.again.pop())
        elif time.monotonic() >= self.next_at:
            self.next_at += EACH_SECS
            self.number += 1
            self.send(self.number)

    def send(self, number):
        self.emit([int(time.time() * 1000), number], tup_id=number)

    def fail(self, number):
        self.again.append(number)


class Days(KeyedWindowBolt):
    outputs = ["start_ms", "end_ms", "count"]
    window = Tumbling(DAY_MS)
    aggregate = Count()
    timestamp_field = "time_ms"


class Seen(Bolt):
    auto_ack = True

    def process(self, tup):
        pass


class OpenWindows(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.message.timeout.secs": 600,
        "topology.max.spout.pending": 1_000_000,
    }
    numbers = Numbers.spec()
    days = Days.spec(inputs=[numbers])
    seen = Seen.spec(inputs=[numbers])
