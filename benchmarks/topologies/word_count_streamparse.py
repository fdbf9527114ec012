"""Word count in classes of streamparse; the difference from word_count.py is the API alone.

The bolts are the classes of peers/pystorm_components.py, unchanged. The spout repeats the work of
the spout of word_count.py: a subclass of the peers' spout would call two more Python functions for
each sentence, and the cost would look like a cost of the API.
"""

from itertools import cycle, islice
from typing import Any

from streamparse import Bolt, Grouping, Spout, Topology

from benchmarks import workload
from benchmarks.peers import pystorm_components as components
from benchmarks.reports import COUNT_KEY, report


class Sentences(Spout):
    """A number of sentences, and a report at the last ack."""

    outputs = ["sentence"]

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """Before the clock runs."""
        self.count = int(storm_conf[COUNT_KEY])
        self.sentences = islice(cycle(workload.sentences()), self.count)
        self.acked = 0

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.storm_conf, "first")

    def next_tuple(self) -> None:
        """One sentence."""
        sentence = next(self.sentences, None)
        if sentence is None:
            self.finish()
        else:
            self.emit([sentence], tup_id=sentence)

    def ack(self, tup_id: str) -> None:
        """All words of one more sentence are counted."""
        self.acked += 1
        if self.acked == self.count:
            report(self.storm_conf, "last")

    def fail(self, tup_id: str) -> None:
        """A repeated emit: words will have been counted twice."""
        self.emit([tup_id], tup_id=tup_id)


class Split(components.Split, Bolt):
    """Unmodified."""


class Count(components.Count, Bolt):
    """Unmodified but for its last words."""

    def on_finish(self) -> None:
        """All words are counted."""
        report(self.storm_conf, "finished", counts=self.counts)


class WordCount(Topology):
    """spout -> shuffle -> split x 2 -> by word -> count x 2, as topologies/word_count.py"""

    sentences = Sentences.spec()
    split = Split.spec(par=2, inputs=[sentences])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
