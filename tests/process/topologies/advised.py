"""Shapes of load whose right numbers of instances are known: a pace, and what each tuple takes.

The spout offers 100 tuples a second, whether they are taken or not; what was not taken in time is
not made up for.
"""

import time

from heronpy_compat import Bolt, Grouping, Spout, Topology

EACH_SECS = 0.01
BATCH = 16


class Paced(Spout):
    outputs = ["key"]

    def initialize(self, config, context):
        self.number, self.next_at = 0, time.monotonic()

    def next_tuple(self):
        now = time.monotonic()
        if now >= self.next_at:
            self.next_at = max(self.next_at + EACH_SECS, now)
            self.number += 1
            self.emit([self.key()])

    def key(self):
        return self.number % 5000


class OneHotKey(Paced):
    def key(self):
        return "hot" if self.number % 10 < 6 else self.number % 5000


class ThreeKeys(Paced):
    def key(self):
        return self.number % 3


class Sleeps(Bolt):
    """25 ms for an answer of a server: two and a half instances would work all the time."""

    outputs = []
    secs = 0.025

    def process(self, tup):
        time.sleep(self.secs)


class SleepsLittle(Sleeps):
    secs = 0.004


class SleepsKeyed(Sleeps):
    secs = 0.018


class Batches(Sleeps):
    """Writes sixteen tuples at once."""

    def initialize(self, config, context):
        self.batch = []

    def process(self, tup):
        self.batch.append(tup)
        if len(self.batch) == BATCH:
            time.sleep(BATCH * 0.016)
            self.batch.clear()


class Calculates(Bolt):
    """25 ms of CPU."""

    outputs = []

    def process(self, tup):
        until = time.thread_time() + 0.025
        while time.thread_time() < until:
            pass


class Sleeping(Topology):
    paced = Paced.spec()
    work = Sleeps.spec(inputs=[paced])


class HalfBusy(Topology):
    paced = Paced.spec()
    work = SleepsLittle.spec(inputs=[paced])


class HotKey(Topology):
    paced = OneHotKey.spec()
    work = SleepsKeyed.spec(par=2, inputs={paced: Grouping.fields("key")})


class FewKeys(Topology):
    paced = ThreeKeys.spec()
    work = SleepsKeyed.spec(inputs={paced: Grouping.fields("key")})


class Batching(Topology):
    paced = Paced.spec()
    work = Batches.spec(inputs=[paced])


class Calculating(Topology):
    paced = Paced.spec()
    work = Calculates.spec(inputs=[paced])
