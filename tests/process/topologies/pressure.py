"""Spouts with and without a pace, and bolts kept slow by the test."""

import os
import time

import results

from heronpy_compat import Bolt, GlobalStreamId, Grouping, Spout, Topology

TUPLE_BYTES = 4000
TUPLES_PER_SEC = 500
TUPLES = 2500
"""Four stages hold 1.25 MiB each before the spout is paused: 1,350 tuples."""
BEHIND_SECS = 0.05
ROUNDS = 3
FLOOD_TUPLES = 2000

WATER_MARKS = {
    "topology.backpressure.high.bytes": 256 * 1024,
    "topology.backpressure.low.bytes": 64 * 1024,
    "topology.metrics.interval.ms": 50,
    "topology.message.timeout.secs": 600,
    "topology.max.spout.pending": 100_000,
}


def told(what):
    """Whether the test has said so."""
    return os.path.exists(os.path.join(os.environ["TEST_RESULTS"], f"{what}.json"))


class Paced(Spout):
    """TUPLES numbered tuples at a steady speed, then a pause; begins and ends on command.

    An immediate start would pile up tuples for bolts still starting.
    """

    outputs = ["number", "round", "filling"]

    def initialize(self, config, context):
        self.number, self.due, self.going = 0, 0.0, False
        self.left = int(config.get("test.tuples", TUPLES))
        self.filling = "x" * TUPLE_BYTES

    def next_tuple(self):
        self.going = self.going or told("go")
        if not self.going:
            return
        now = time.monotonic()
        if self.number == self.left:
            if told("finish"):
                self.finish()
        elif now >= self.due:
            self.due = max(self.due, now - BEHIND_SECS) + 1 / TUPLES_PER_SEC
            self.emit([self.number, 0, self.filling], tup_id=self.number)
            self.number += 1


class Endless(Paced):
    def initialize(self, config, context):
        super().initialize(config, context)
        self.left = -1


class Pass(Bolt):
    """Passes on its input, anchored."""

    outputs = ["number", "round", "filling"]

    def process(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Last(Bolt):
    """Remembers the numbers that arrive; `slow_secs` a tuple until the test says fast."""

    slow_secs = 0.0

    def initialize(self, config, context):
        self.context, self.numbers = context, []

    def process(self, tup):
        if self.slow_secs and not told("fast"):
            time.sleep(self.slow_secs)
        self.numbers.append(tup.values[0])
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, sorted(self.numbers))


class AlmostStuck(Last):
    """Holds its input back for the whole test."""

    slow_secs = 0.5


class HundredTimesSlower(Last):
    """5 a second where 500 come."""

    slow_secs = 0.2


class Branches(Topology):
    """Two branches without a connection."""

    config = WATER_MARKS

    left = Endless.spec()
    left_middle = Pass.spec(par=2, inputs=[left])
    left_slow = HundredTimesSlower.spec(inputs=[left_middle])
    right = Endless.spec()
    right_middle = Pass.spec(par=2, inputs=[right])
    right_last = Last.spec(inputs=[right_middle])


class Chain(Topology):
    config = WATER_MARKS

    spout = Paced.spec()
    a = Pass.spec(inputs=[spout])
    b = Pass.spec(inputs=[a])
    c = Pass.spec(inputs=[b])
    d = AlmostStuck.spec(inputs=[c])


class Burst(Spout):
    """FLOOD_TUPLES at once; failed tuples are counted, not replayed."""

    outputs = ["number", "filling"]

    def initialize(self, config, context):
        self.context, self.number, self.failed = context, 0, 0
        self.filling = "x" * TUPLE_BYTES

    def next_tuple(self):
        if self.number < FLOOD_TUPLES:
            self.emit([self.number, self.filling], tup_id=self.number)
            self.number += 1
        elif told("finish"):
            results.write(self.context, self.failed)
            self.finish()

    def fail(self, tup_id):
        self.failed += 1


class Dropping(Topology):
    config = {
        **WATER_MARKS,
        "topology.backpressure.mode": "drop",
        "topology.reliability.mode": "ATLEAST_ONCE",
    }

    burst = Burst.spec()
    last = AlmostStuck.spec(inputs=[burst])


class HundredBytes(Spout):
    """At full speed, untracked."""

    outputs = ["text"]

    def initialize(self, config, context):
        self.text = "x" * 100

    def next_tuple(self):
        self.emit([self.text])


class Sleeping(Bolt):
    def process(self, tup):
        time.sleep(0.05)


class Flood(Topology):
    """The default water marks."""

    hundred_bytes = HundredBytes.spec()
    sleeping = Sleeping.spec(inputs=[hundred_bytes])


class Enter(Bolt):
    """Into the cycle: each tuple goes round it ROUNDS times."""

    outputs = ["number", "round", "filling"]

    def process(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Again(AlmostStuck):
    """The far end of the cycle, slow at first: back with it, or out."""

    outputs = ["number", "round", "filling"]

    def process(self, tup):
        number, turn, filling = tup.values
        if turn < ROUNDS:
            self.emit([number, turn + 1, filling], anchors=[tup])
        super().process(tup)


class Cycle(Topology):
    config = {**WATER_MARKS, "topology.batch.linger.ms": 1}

    spout = Paced.spec()
    enter = Enter.spec(
        inputs={spout: Grouping.SHUFFLE, GlobalStreamId("again", "default"): Grouping.SHUFFLE}
    )
    again = Again.spec(inputs=[enter])
