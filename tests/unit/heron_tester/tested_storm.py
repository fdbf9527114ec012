"""A streamparse project's topology, as its users write it, for the tests of the testers."""

from collections import Counter
from itertools import count

from heronpy_compat.streamparse import (
    BatchingBolt,
    Bolt,
    Grouping,
    ReliableSpout,
    Stream,
    TicklessBatchingBolt,
    Topology,
)


class WordSpout(ReliableSpout):
    outputs = ["word"]

    def initialize(self, conf, context):
        self.numbers = count(1)

    def next_tuple(self):
        self.emit(["storm"], tup_id=next(self.numbers))


class CountBolt(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf, context):
        self.counts: Counter[str] = Counter()

    def process(self, tup):
        self.counts[tup.values.word] += 1
        self.logger.info("counted %s", tup.values.word)
        self.emit([tup.values.word, self.counts[tup.values.word]])


class BatchBolt(BatchingBolt):
    outputs = ["word", "number"]
    ticks_between_batches = 1

    def group_key(self, tup):
        return tup.values[0]

    def process_batch(self, key, tups):
        self.emit([key, len(tups)])


class TimedBolt(TicklessBatchingBolt):
    outputs = [Stream(fields=["number"], name="sizes")]
    secs_between_batches = 5

    def process_batch(self, key, tups):
        self.emit([len(tups)], stream="sizes")


class WordCount(Topology):
    words = WordSpout.spec()
    count = CountBolt.spec(inputs={words: Grouping.fields("word")}, par=2)
    batch = BatchBolt.spec(inputs=[words], config={"topology.tick.tuple.freq.secs": 10})
    timed = TimedBolt.spec(inputs=[words])
