"""Sentences from one spout, split by two bolts (shuffle), counted by two (by the word).

Config: `benchmark.count` sentences; with ATLEAST_ONCE each sentence and each word is acked.
"""

from itertools import cycle, islice
from typing import Any

from benchmarks import workload
from benchmarks.reports import COUNT_KEY, report, tracked
from heronpy_compat import Bolt, Grouping, Spout, Topology


class Sentences(Spout):
    """Emits the pool of sentences round and round."""

    outputs = ["sentence"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the clock runs."""
        self.config, self.count = config, int(config[COUNT_KEY])
        self.sentences = islice(cycle(workload.sentences()), self.count)
        self.acked, self.tracked = 0, tracked(config)

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.config, "first")

    def next_tuple(self) -> None:
        """Emit a sentence."""
        sentence = next(self.sentences, None)
        if sentence is None:
            self.finish()
        elif self.tracked:
            self.emit([sentence], tup_id=sentence)
        else:
            self.emit([sentence])

    def ack(self, tup_id: str) -> None:
        """Note a sentence with all words counted."""
        self.acked += 1
        if self.acked == self.count:
            report(self.config, "last")

    def fail(self, tup_id: str) -> None:
        """Replay the sentence, so words will have been counted twice."""
        self.emit([tup_id], tup_id=tup_id)


class Split(Bolt):
    """A sentence into words."""

    outputs = ["word"]

    def process(self, tup: Any) -> None:
        """Split a sentence."""
        for word in tup.values[0].split():
            self.emit([word], anchors=[tup])
        self.ack(tup)


class Count(Bolt):
    """Counts words."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is counted."""
        self.config = config
        self.counts: dict[str, int] = {}

    def process(self, tup: Any) -> None:
        """Count a word."""
        word = tup.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1
        self.ack(tup)

    def on_finish(self) -> None:
        """All words are counted."""
        report(self.config, "finished", counts=self.counts)


class WordCount(Topology):
    """spout -> shuffle -> split x 2 -> by word -> count x 2"""

    sentences = Sentences.spec()
    split = Split.spec(par=2, inputs=[sentences])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
