"""Counts words exactly, with as many instances as the environment says."""

import os
from collections import Counter
from pathlib import Path

import results

from heronpy_compat import Bolt, Grouping, Spout, Topology

SPOUTS = int(os.environ.get("COUNTS_SPOUTS", "1"))
BOLTS = int(os.environ.get("COUNTS_BOLTS", "2"))


class Lines(Spout):
    outputs = ["line"]

    def initialize(self, config, context):
        self.context = context
        text = Path(config["test.text"]).read_text("utf-8").splitlines()
        tasks = context.get_component_tasks(context.get_component_id())
        share = text[tasks.index(context.get_task_id()) :: len(tasks)]
        self.lines = enumerate(share)
        self.acked, self.failed = Counter(), []

    def next_tuple(self):
        number, line = next(self.lines, (None, None))
        if number is None:
            self.finish()
        else:
            self.emit([line], tup_id=number)

    def ack(self, tup_id):
        self.acked[tup_id] += 1

    def fail(self, tup_id):
        self.failed.append(tup_id)

    def close(self):
        found = {
            "acked": len(self.acked),
            "twice": sum(count > 1 for count in self.acked.values()),
            "failed": len(self.failed),
        }
        results.write(self.context, found)


class Split(Bolt):
    outputs = ["word"]

    def process(self, tup):
        for word in tup.values[0].split():
            self.emit([word], anchors=[tup])
        self.ack(tup)


class Count(Bolt):
    def initialize(self, config, context):
        self.context, self.counts, self.ways = context, Counter(), Counter()

    def process(self, tup):
        self.counts[tup.values[0]] += 1
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, self.counts)


class Counts(Topology):
    lines = Lines.spec(par=SPOUTS)
    split = Split.spec(par=BOLTS, inputs=[lines])
    count = Count.spec(par=BOLTS, inputs={split: Grouping.fields("word")})
