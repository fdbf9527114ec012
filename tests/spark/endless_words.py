"""Words without end, counted, until the file named by config `test.release` is there.

`shouting` is a package that the tests' Python does not have.
"""

import json
import os
import time
from collections import Counter

from shouting import shout

from heronpy_compat import Bolt, Grouping, Spout, Topology

PAUSE_SECS = 0.01
"""Behind each line: a batch after the other without a pause would only slow down other tests."""


class Lines(Spout):
    outputs = ["line"]

    def initialize(self, config, context):
        self.release = config["test.release"]
        self.number = 0

    def next_tuple(self):
        if os.path.exists(self.release):
            print(json.dumps({"lines": self.number}))
            self.finish()
        else:
            self.emit([f"word{self.number % 7} word{self.number % 11}"])
            self.number += 1
            time.sleep(PAUSE_SECS)


class Split(Bolt):
    outputs = ["word"]

    def process(self, tup):
        for word in tup.values[0].split():
            self.emit([word])


class Count(Bolt):
    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        self.counts[shout(tup.values[0])] += 1

    def on_finish(self):
        print(json.dumps(self.counts))


class EndlessWords(Topology):
    lines = Lines.spec()
    split = Split.spec(par=2, inputs=[lines])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
