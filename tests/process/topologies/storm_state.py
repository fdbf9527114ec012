"""A streamparse bolt with keyed states, and with what Storm's initState has, asked from outside.

Each word comes TIMES times; then the spout waits until the file `enough` is in TEST_RESULTS.
"""

import os

from streamparse import Bolt, Grouping, Spout, Topology

from heronpy_compat.api.state.keyed_state import map_state, value_state

WORDS, TIMES = ("a", "b", "c"), 4


class Words(Spout):
    outputs = ["word"]

    def initialize(self, conf, context):
        self.left = [word for word in WORDS for _ in range(TIMES)]

    def next_tuple(self):
        if self.left:
            self.emit([self.left.pop()])
        elif os.path.exists(os.path.join(os.environ["TEST_RESULTS"], "enough")):
            self.finish()


class Count(Bolt):
    outputs = []
    count = value_state(default=0)
    lengths = map_state()

    def init_state(self, state):
        self.kept = state

    def process(self, tup):
        word = tup.values[0]
        self.count.put(self.count.get() + 1)
        self.lengths.put(len(word), word)
        self.kept.put("newest", (self.kept.get("newest") or 0) + 1)


class StormState(Topology):
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word")}, par=2)
