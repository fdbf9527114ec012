"""Counts words, one of them 60 % of all, in two stages, so that no instance is the limit.

heronpy run examples/frequent_keys.py

Grouped by fields, one instance would get all of `the`. By partial key two instances share each
word; each sums its share, and the second stage sums the few partial sums.
"""

import random
from collections import Counter

from heronpy_compat import Bolt, Grouping, Spout, Topology

WORDS = 20_000
SENT_EVERY = 100
"""Words counted by an instance of the first stage before sending its sums."""


class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.chance = random.Random(1)
        self.left = WORDS

    def next_tuple(self):
        if not self.left:
            self.finish()
            return
        self.left -= 1
        other = f"word{self.chance.randrange(1000)}"
        self.emit(["the" if self.chance.random() < 0.6 else other])


class PartialCount(Bolt):
    """Sums of the instance's words."""

    outputs = ["word", "count"]

    def initialize(self, config, context):
        self.counts = Counter()
        self.index = context.get_component_tasks("partial").index(context.get_task_id())
        self.processed = 0

    def process(self, tup):
        self.counts[tup["word"]] += 1
        self.processed += 1
        if self.processed % SENT_EVERY == 0:
            self.send()

    def send(self):
        for word, count in self.counts.items():
            self.emit([word, count])
        self.counts.clear()

    def on_finish(self):
        self.send()
        print(f"instance {self.index} of the first stage counted {self.processed} words")


class Total(Bolt):
    """The sums of the sums."""

    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        self.counts[tup["word"]] += tup["count"]

    def on_finish(self):
        if self.counts:
            print("all:", sum(self.counts.values()), "most:", self.counts.most_common(1))


class FrequentKeys(Topology):
    words = Words.spec()
    partial = PartialCount.spec(par=2, inputs={words: Grouping.partial_key("word")})
    total = Total.spec(inputs={partial: Grouping.fields("word")})
