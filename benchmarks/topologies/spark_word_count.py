"""The word count for a query of Spark: what is to survive is in plain attributes.

Config: `benchmark.count` sentences. The counts are printed at the end, as JSON.
"""

import json
from typing import Any

from benchmarks import workload
from heronpy_compat import Bolt, Grouping, Spout, Topology


class Sentences(Spout):
    """Emits the pool of sentences round and round."""

    outputs = ["sentence"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """At the first sentence."""
        self.pool = workload.sentences()
        self.at, self.count = 0, int(config["benchmark.count"])

    def __getstate__(self) -> dict[str, Any]:
        """The position is enough."""
        return {"at": self.at}

    def next_tuple(self) -> None:
        """One sentence."""
        if self.at == self.count:
            self.finish()
        else:
            self.emit([self.pool[self.at % len(self.pool)]])
            self.at += 1


class Split(Bolt):
    """A sentence into words."""

    outputs = ["word"]

    def process(self, tup: Any) -> None:
        """One sentence."""
        for word in tup.values[0].split():
            self.emit([word])


class Count(Bolt):
    """Counts words."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is counted."""
        self.counts: dict[str, int] = {}

    def process(self, tup: Any) -> None:
        """One word."""
        word = tup.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1

    def on_finish(self) -> None:
        """All words are counted."""
        print(json.dumps(self.counts))


class WordCount(Topology):
    """spout -> shuffle -> split x 2 -> by word -> count x 2"""

    sentences = Sentences.spec()
    split = Split.spec(par=2, inputs=[sentences])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
