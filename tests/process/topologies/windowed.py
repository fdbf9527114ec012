"""Tumbling windows over numbers that come for more than a second; each is in one of them, acked.

A number fails when its window has a 13 for the first time, so that window's numbers come again.
"""

import time

import results
from heronpy.api.api_constants import TOPOLOGY_RELIABILITY_MODE, TopologyReliabilityMode
from heronpy.api.bolt.bolt import Bolt
from heronpy.api.bolt.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heronpy.api.spout.spout import Spout
from heronpy.api.stream import Grouping
from heronpy.api.topology import Topology

NUMBERS = 120
EACH_SECS = 0.01


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.context, self.waiting = context, list(range(NUMBERS))
        self.acked, self.failed, self.next_at = [], [], time.monotonic()

    def next_tuple(self):
        if self.waiting and time.monotonic() >= self.next_at:
            self.next_at += EACH_SECS
            number = self.waiting.pop(0)
            self.emit([number], tup_id=number)
        elif not self.waiting:
            self.finish()

    def ack(self, tup_id):
        self.acked.append(tup_id)

    def fail(self, tup_id):
        self.failed.append(tup_id)
        self.waiting.append(tup_id)

    def close(self):
        results.write(self.context, {"acked": self.acked, "failed": self.failed})


class Sums(TumblingWindowBolt):
    outputs = ["start", "end", "numbers"]

    def initialize(self, config, context):
        super().initialize(config, context)
        self.unlucky = False

    def processWindow(self, window_info, tuples):  # noqa: N802
        numbers = [tup.values[0] for tup in tuples]
        if 13 in numbers and not self.unlucky:
            self.unlucky = True
            raise ValueError("a 13")
        self.emit([window_info.start, window_info.end, numbers], anchors=tuples)


class Recent(SlidingWindowBolt):
    outputs = ["numbers"]

    def processWindow(self, window_info, tuples):  # noqa: N802
        self.emit([[tup.values[0] for tup in tuples]], anchors=tuples)


class Keep(Bolt):
    def initialize(self, config, context):
        self.context, self.rows = context, []

    def process(self, tup):
        self.rows.append([tup.component, *tup.values])
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, self.rows)


class Windowed(Topology):
    config = {TOPOLOGY_RELIABILITY_MODE: TopologyReliabilityMode.ATLEAST_ONCE}

    numbers = Numbers.spec()
    sums = Sums.spec(inputs=[numbers], config={TumblingWindowBolt.WINDOW_DURATION_SECS: "1"})
    recent = Recent.spec(
        inputs=[numbers],
        config={
            SlidingWindowBolt.WINDOW_DURATION_SECS: 2,
            SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: 1,
        },
    )
    kept = Keep.spec(inputs={sums: Grouping.GLOBAL, recent: Grouping.GLOBAL})
