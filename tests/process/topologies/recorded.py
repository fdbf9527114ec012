"""A count whose process is killed by one bad number, once, behind a complete checkpoint.

The file `killed` says that it was.
"""

import os
import signal
from pathlib import Path

from numbered import Counting, Total

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.api.state.keyed_state import value_state

NUMBERS, BAD = 400, 300
KILLED = Path(os.environ["TEST_RESULTS"], "killed")


class Numbers(Counting):
    completed = 0

    def post_save(self, checkpoint_id):
        self.completed += 1

    def next_tuple(self):
        if self.at == NUMBERS:
            self.finish()
        elif self.at < BAD or self.completed or KILLED.exists():
            self.emit([self.at], tup_id=self.at)
            self.at += 1


class Count(Bolt):
    outputs = ["number", "count"]
    count = value_state(default=0)

    def process(self, tup):
        if tup.number == BAD and not KILLED.exists():
            KILLED.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self.count.put(self.count.get() + 1)
        self.emit([tup.number, self.count.get()])


class Recorded(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
        "topology.flight.recorder": "failure",
        "topology.flight.recorder.mib": 1,
    }
    numbers = Numbers.spec()
    count = Count.spec(inputs={numbers: Grouping.fields("number")})
    total = Total.spec(inputs=[count])
