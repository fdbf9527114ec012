"""The classes of word_count.yaml: plain objects, and the bolts that are made with them."""

import re
from collections import Counter

from heronpy_compat import Bolt

words_of = re.compile(r"\w+").findall


class LongerThan:
    def __init__(self, letters):
        self.letters = int(letters)

    def accepts(self, word):
        return len(word) > self.letters


class NoneOf:
    def __init__(self, words):
        self.words = set(words)

    def accepts(self, word):
        return word not in self.words


class All:
    def __init__(self, filters):
        self.filters = filters

    def accepts(self, word):
        return all(each.accepts(word) for each in self.filters)


class Split(Bolt):
    outputs = ["word"]
    auto_ack = auto_anchor = True

    def __init__(self, wanted, **engine):
        super().__init__(**engine)
        self.wanted = wanted

    def process(self, tup):
        for word in words_of(tup.values[0].lower()):
            if self.wanted.accepts(word):
                self.emit([word])


class Count(Bolt):
    outputs = ["word", "count"]
    auto_ack = True

    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        self.counts[tup.values[0]] += 1

    def on_finish(self):
        for word, count in self.counts.items():
            self.emit([word, count])


class Top(Bolt):
    auto_ack = True
    rows = 20

    def with_rows(self, rows):
        self.rows = rows

    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        word, count = tup.values
        self.counts[word] = count

    def on_finish(self):
        for word, count in sorted(self.counts.items(), key=lambda each: (-each[1], each[0]))[
            : self.rows
        ]:
            print(f"{word:20} {count:>10}")
