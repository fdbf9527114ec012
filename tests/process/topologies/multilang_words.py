"""Counts words that a child process splits. One line is held by the child until that is killed; the
second half of the lines comes when its fail has arrived."""

import os
from collections import Counter

import results

from heron_frontends.adapters.multilang import ShellBolt
from heronpy_compat import Bolt, Grouping, Spout, Topology

LINES = 200
HELD = 50


class Lines(Spout):
    outputs = ["line"]

    def initialize(self, config, context):
        self.context = context
        self.waiting = list(range(LINES // 2))
        self.acked, self.failed = Counter(), Counter()

    def next_tuple(self):
        if self.waiting:
            number = self.waiting.pop(0)
            held = number == HELD and not self.failed
            self.emit(["hold it" if held else f"the line {number}"], tup_id=number)
        elif self.failed:
            self.finish()

    def ack(self, tup_id):
        self.acked[tup_id] += 1
        if len(self.acked) == LINES // 2 - 1:
            results.write(self.context, {"acked": len(self.acked)})

    def fail(self, tup_id):
        if not self.failed:
            self.waiting += range(LINES // 2, LINES)
        self.failed[tup_id] += 1
        self.waiting.append(tup_id)

    def close(self):
        results.write(
            self.context, {"acked": len(self.acked), "failed": dict(self.failed), "ended": True}
        )


class Count(Bolt):
    def initialize(self, config, context):
        self.context, self.counts = context, Counter()

    def process(self, tup):
        self.counts[tup.values[0]] += 1
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, self.counts)


class MultilangWords(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    lines = Lines.spec()
    split = ShellBolt.spec(
        inputs=[lines],
        optional_outputs=["word"],
        config={
            "heronpy.shell.command": os.environ["TEST_COMMAND"].split(),
            "topology.multilang.serializer": os.environ.get("TEST_SERIALIZER", "json"),
        },
    )
    count = Count.spec(inputs={split: Grouping.fields("word")})
