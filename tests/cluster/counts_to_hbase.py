"""Words and their counts into a table of HBase, exactly once."""

import time

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.connectors.hbase import HBaseSink

WORDS = 20
TIMES = 300


class Words(Spout, StatefulComponent):
    outputs = ["word"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.number = self.state.get("number") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("number", self.number)

    def next_tuple(self):
        if self.number == WORDS * TIMES:
            self.finish()
            return
        time.sleep(0.001)
        self.emit([f"word{self.number % WORDS}"])
        self.number += 1


class Counts(Bolt, StatefulComponent):
    outputs = ["word", "count", "half"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.counts = self.state.get("counts") or {}

    def pre_save(self, checkpoint_id):
        self.state.put("counts", self.counts)

    def process(self, tup):
        count = self.counts[tup.word] = self.counts.get(tup.word, 0) + 1
        self.emit([tup.word, count, count / 2], anchors=[tup])
        self.ack(tup)


class CountsToHBase(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.5,
    }
    words = Words.spec()
    counts = Counts.spec(inputs=[words])
    table = HBaseSink.spec(
        inputs={counts: Grouping.fields("word")},
        par=2,
        config={"hbase.table": "counts", "hbase.family": "c"},
    )
