"""Numbers of which each counts once, though the bolt that counts them raises now and then.

The environment says what it does: RAISING is "seldom" (each hundredth call), "exits" (the first
EXITS processes with the number 500 end with code 7), "once" (the first process with the number 500
raises), "fails" (like "once", and number 7 is failed each time), or a number always refused. The
file `counted.json` has the processed numbers, `acked.json` the numbers acked since the last
restore.
"""

import os
from itertools import count

from numbered import Counting, Total
from results import write_as

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.api.state.keyed_state import value_state

NUMBERS = 1000
EXITS = 6
RAISING = os.environ.get("RAISING", "seldom")
calls = count(1)


def is_early(most):
    """Whether no more than so many processes have asked before."""
    left = [each for each in os.listdir(os.environ["TEST_RESULTS"]) if each.startswith("exit-")]
    if len(left) < most:
        open(os.path.join(os.environ["TEST_RESULTS"], f"exit-{len(left)}"), "x").close()
    return len(left) < most


def leave():
    """Like a library whose process ends with its dependency."""
    if is_early(EXITS):
        os._exit(7)


class Numbers(Counting):
    def initialize(self, config, context):
        super().initialize(config, context)
        self.acked = []

    def ack(self, tup_id):
        self.acked.append(tup_id)

    def close(self):
        write_as("acked", sorted(self.acked))

    def next_tuple(self):
        if self.at == NUMBERS:
            self.finish()
            return
        self.emit([self.at], tup_id=self.at)
        self.at += 1


class Count(Bolt):
    outputs = ["number"]
    count = value_state(default=0)

    def process(self, tup):
        call = next(calls)
        self.count.put(self.count.get() + 1)
        self.emit([tup.number])
        if RAISING == "exits":
            if tup.number == NUMBERS // 2:
                leave()
        elif RAISING in ("once", "fails"):
            if RAISING == "fails" and tup.number == 7:
                self.fail(tup)
            if tup.number == NUMBERS // 2 and is_early(1):
                raise ConnectionRefusedError("the dependency is away")
        elif call % 100 == 0 if RAISING == "seldom" else tup.number == int(RAISING):
            raise ConnectionRefusedError("the dependency is away")


class Raising(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
        "topology.bolt.retry.backoff.ms": 10,
    }
    numbers = Numbers.spec()
    count = Count.spec(par=2, inputs={numbers: Grouping.fields("number")})
    total = Total.spec(inputs=[count])
