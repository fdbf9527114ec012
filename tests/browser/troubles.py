"""Topologies that run well until their switch, a file named by `test.switch`, exists: then each has
one trouble. One more is healthy and takes checkpoints."""

import os
import time

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

PER_SEC = 100
WORDS = ["storm", "heron", "spout", "bolt", "tuple", "stream", "worker", "topology"]


def switch_of(config):
    """Whether the trouble is switched on, asked again for each tuple."""
    return lambda: os.path.exists(config.get("test.switch", ""))


class Paced(Spout):
    """PER_SEC words a second, most of them equal while `test.hot` exists."""

    outputs = ["word", "number"]

    def initialize(self, config, context):
        self.number, self.due = 0, time.monotonic()
        self.is_hot = switch_of(config) if config.get("test.hot") else bool

    def next_tuple(self):
        now = time.monotonic()
        self.due = max(self.due, now - 0.5)
        while self.due <= now:
            self.due += 1 / PER_SEC
            self.number += 1
            is_hot = self.is_hot() and self.number % 10
            word = "hot" if is_hot else WORDS[self.number % len(WORDS)]
            self.emit([word, self.number], tup_id=self.number)


class Pass(Bolt):
    outputs = ["word", "number"]

    def process(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Last(Bolt):
    def process(self, tup):
        self.ack(tup)


class Slow(Bolt):
    """80 a second in each instance."""

    def process(self, tup):
        time.sleep(0.0125)
        self.ack(tup)


class Switched(Bolt):
    """A bolt with a trouble."""

    def initialize(self, config, context):
        self.is_on = switch_of(config)

    def process(self, tup):
        if self.is_on():
            self.trouble(tup)
        self.ack(tup)


class Slower(Switched):
    """A server with late answers: 50 a second in each instance."""

    def trouble(self, tup):
        time.sleep(0.02)


class Picky(Switched):
    """A bug in every tenth tuple."""

    def trouble(self, tup):
        if tup.values[1] % 10 == 0:
            raise ValueError(f"no price for {tup.values[0]!r}")


class Waits(Switched):
    """A call without a timeout to a dead server."""

    def trouble(self, tup):
        time.sleep(3600)


class Counts(StatefulComponent, Bolt):
    outputs = ["word", "count"]

    def init_state(self, state):
        self.counts = state

    def pre_save(self, checkpoint_id):
        pass

    def process(self, tup):
        word = tup.values[0]
        count = self.counts.get(word, 0) + 1
        self.counts.put(word, count)
        self.emit([word, count], anchors=[tup])
        self.ack(tup)


class SlowBolt(Topology):
    words = Paced.spec()
    clean = Pass.spec(inputs=[words])
    store = Slower.spec(inputs=[clean])


class SkewedKey(Topology):
    config = {"test.hot": True}

    words = Paced.spec()
    count = Slow.spec(par=3, inputs={words: Grouping.fields("word")})


class FailingBolt(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    words = Paced.spec()
    price = Picky.spec(inputs=[words])


class PausedByHand(FailingBolt):
    """For presses of buttons, without effect on further topologies."""


class FiveInARow(Topology):
    """Long enough for an overlap of labels with numbers on a phone."""

    words = Paced.spec()
    second = Pass.spec(inputs=[words])
    third = Pass.spec(inputs=[second])
    fourth = Pass.spec(inputs=[third])
    fifth = Last.spec(inputs=[fourth])


class StuckCall(Topology):
    config = {"topology.stuck.report.secs": 1}

    words = Paced.spec()
    fetch = Waits.spec(inputs=[words])


class KilledContainer(Topology):
    config = {"topology.stmgrs": 2}

    words = Paced.spec()
    last = Last.spec(par=2, inputs=[words])


class Healthy(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 5,
        "topology.stmgrs": 2,
    }

    words = Paced.spec(par=2)
    clean = Pass.spec(par=2, inputs=[words])
    count = Counts.spec(par=2, inputs={clean: Grouping.fields("word")})
    archive = Last.spec(inputs=[clean])
    alarm = Last.spec(inputs=[count])
