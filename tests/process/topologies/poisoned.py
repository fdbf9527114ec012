"""Numbers, of which some are poison until the file `mended` is there.

The environment says where files are: POISONED. The numbers end when `enough` is there; `counted`
has the numbers that went through.
"""

import os

from results import write_as

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

NUMBERS = 2000
POISON = range(7, NUMBERS, 200)


def there_is(name):
    return os.path.exists(os.path.join(os.environ["POISONED"], name))


class Numbers(Spout, StatefulComponent):
    outputs = ["number"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)

    def next_tuple(self):
        if self.at < NUMBERS:
            self.emit([self.at])
            self.at += 1
        elif there_is("enough"):
            self.finish()


class Check(Bolt):
    outputs = ["number"]

    def process(self, tup):
        self.emit([tup.number])
        if tup.number in POISON and not there_is("mended"):
            raise ValueError(f"poison: {tup.number}")


class Total(Bolt, StatefulComponent):
    outputs = []

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.seen = list(self.state.get("seen") or [])

    def pre_save(self, checkpoint_id):
        self.state.put("seen", self.seen)

    def process(self, tup):
        self.seen.append(tup.number)

    def on_finish(self):
        write_as("counted", sorted(self.seen))


class Poisoned(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
        "topology.bolt.retries": 1,
        "topology.bolt.retry.backoff.ms": 10,
    }
    numbers = Numbers.spec()
    check = Check.spec(par=2, inputs={numbers: Grouping.fields("number")})
    total = Total.spec(inputs=[check])
