"""Counts words that never end: a hundred a second, until you stop it.

heronpy run examples/endless_words.py
"""

import time
from collections import Counter
from itertools import cycle

from heronpy_compat import Bolt, Grouping, Spout, Topology


class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.words = cycle(["storm", "heron", "stream", "spout", "bolt"])
        self.next_at = time.monotonic()

    def next_tuple(self):
        if time.monotonic() >= self.next_at:
            self.next_at += 0.01
            self.emit([next(self.words)])


class Count(Bolt):
    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        word = tup["word"]
        self.counts[word] += 1
        if self.counts[word] % 100 == 0:
            print(word, self.counts[word])


class EndlessWords(Topology):
    words = Words.spec()
    count = Count.spec(par=2, inputs={words: Grouping.fields("word")})
