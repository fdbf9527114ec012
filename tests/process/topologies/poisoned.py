"""Numbers, of which some are poison until the file `mended` is there.

The environment says where files are: POISONED. The numbers end when `enough` is there; `counted`
has the numbers that went through.
"""

import os

from numbered import Counting, Total

from heronpy_compat import Bolt, Grouping, Topology

NUMBERS = 1000
POISON = range(7, NUMBERS, 200)


def there_is(name):
    return os.path.exists(os.path.join(os.environ["POISONED"], name))


class Numbers(Counting):
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


class Poisoned(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.3,
        "topology.bolt.retries": 1,
        "topology.bolt.retry.backoff.ms": 10,
    }
    numbers = Numbers.spec()
    check = Check.spec(par=2, inputs={numbers: Grouping.fields("number")})
    total = Total.spec(inputs=[check])
