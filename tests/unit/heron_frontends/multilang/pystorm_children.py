"""Components on the installed pystorm, run as NAME SERIALIZER."""

import logging
import sys
from collections import Counter

import pystorm
from pystorm import BatchingBolt, Bolt, ReliableSpout, Spout


class Echo(Bolt):
    """Emits every way there is."""

    def initialize(self, conf, ctx):
        self.logger.info("debug is %s in %s", conf["topology.debug"], ctx["componentid"])

    def process(self, tup):
        tasks = self.emit([tup.values[0]], need_task_ids=True)
        self.emit([tasks], stream="tasks", anchors=[])
        self.emit(["direct"], direct_task=9)
        self.report_metric("echoes", 1)
        self.log("echoed", level="warn")
        logging.getLogger("pystorm").warning("by logging")


class Poisoned(Bolt):
    """Dies of "poison", as pystorm's bolts do."""

    def process(self, tup):
        if tup.values[0] == "poison":
            raise ValueError("poisoned")


class Batches(BatchingBolt):
    """Counts by word, flushed by every second tick."""

    ticks_between_batches = 1

    def group_key(self, tup):
        return tup.values[0]

    def process_batch(self, key, tups):
        self.emit([key, len(tups)])


class Words(ReliableSpout):
    """Emits three words once, and replays what fails."""

    def initialize(self, conf, ctx):
        self.words = ["a", "b", "c"]

    def next_tuple(self):
        if self.words:
            word = self.words.pop(0)
            self.emit([word], tup_id=[word, 1])

    def ack(self, tup_id):
        self.log(f"acked {tup_id}")

    def emit(self, tup, tup_id=None, **more):
        # pystorm keeps ids in a dict, and lists come back from JSON.
        return super().emit(tup, tup_id=tuple(tup_id), **more)

    def fail(self, tup_id):
        super().fail(tuple(tup_id))


class Lifecycle(Spout):
    """Tells what it is asked, and wants task ids."""

    def initialize(self, conf, ctx):
        self.calls = Counter()

    def next_tuple(self):
        self.calls["next"] += 1
        self.emit([self.emit(["x"], need_task_ids=True)])

    def activate(self):
        self.log("activate")

    def deactivate(self):
        self.log(f"deactivate after {self.calls['next']}")


if __name__ == "__main__":
    assert "heronpy_compat" not in pystorm.__file__
    globals()[sys.argv[1]](serializer=sys.argv[2]).run()
