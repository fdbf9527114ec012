"""A spout in a child process, and a bolt that fails every seventh number once."""

import os
from collections import Counter

import results

from heron_frontends.adapters.multilang import ShellSpout
from heronpy_compat import Bolt, Topology


class Seventh(Bolt):
    def initialize(self, config, context):
        self.context, self.seen = context, Counter()

    def process(self, tup):
        (number,) = tup.values
        self.seen[number] += 1
        if number % 7 == 0 and self.seen[number] == 1:
            self.fail(tup)
        else:
            self.ack(tup)

    def on_finish(self):
        results.write(self.context, self.seen)


class MultilangNumbers(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    numbers = ShellSpout.spec(
        optional_outputs=["number"],
        config={"heronpy.shell.command": os.environ["TEST_COMMAND"].split()},
    )
    seventh = Seventh.spec(inputs=[numbers])
