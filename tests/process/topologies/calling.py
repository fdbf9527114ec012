"""Numbers that are sent through calls to the outside, each of which takes a while; exactly once.

Config: `calling.folder`. A spout that finds the file `enough` there ends, and writes how many
numbers it has emitted into `emitted`; `called` has those that came through all calls.
"""

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

CALL_SECS = 0.03
PACE_SECS = 0.002


def write(config, name, value):
    """A file that is there as a whole."""
    path = os.path.join(config["calling.folder"], name)
    with open(f"{path}.part", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.part", path)


class Stateful(StatefulComponent):
    def init_state(self, stateful_state):
        self.state = stateful_state

    def pre_save(self, checkpoint_id):
        self.state.put("kept", self.kept)


class Numbers(Spout, Stateful):
    outputs = ["number"]

    def initialize(self, config, context):
        self.config, self.kept = config, self.state.get("kept") or 0

    def next_tuple(self):
        time.sleep(PACE_SECS)
        if os.path.exists(os.path.join(self.config["calling.folder"], "enough")):
            write(self.config, "emitted", self.kept)
            self.finish()
            return
        self.emit([self.kept])
        self.kept += 1


SHARED_POOL = ThreadPoolExecutor(16)
SHARED_POOL.submit(int).result()  # a thread of it runs before there is any component


class InPool(Bolt):
    """Of heronpy's API: it says that it acks later. Every other call is for a pool of its own."""

    outputs = ["number"]
    acks_later = True

    def initialize(self, config, context):
        self.pool = ThreadPoolExecutor(16)

    def process(self, tup):
        pool = self.pool if tup.number % 2 else SHARED_POOL
        pool.submit(self.call, tup)

    def call(self, tup):
        time.sleep(CALL_SECS)
        self.emit([tup.number], anchors=[tup])
        self.ack(tup)


class Asynchronous(Bolt):
    """Coroutines of one event loop."""

    outputs = ["number"]

    async def process(self, tup):
        await asyncio.sleep(CALL_SECS)
        yield [tup.number]


class Total(Bolt, Stateful):
    outputs = []

    def initialize(self, config, context):
        self.config, self.kept = config, list(self.state.get("kept") or [])

    def process(self, tup):
        self.kept.append(tup.number)

    def on_finish(self):
        write(self.config, "called", sorted(self.kept))


class Calling(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    numbers = Numbers.spec()
    pooled = InPool.spec(par=2, inputs=[numbers])
    called = Asynchronous.spec(par=2, inputs=[pooled])
    total = Total.spec(inputs=[called])
