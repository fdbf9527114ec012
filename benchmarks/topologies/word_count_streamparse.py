"""The word count of word_count.py in classes of streamparse: what differs is the API.

The bolts are those of peers/pystorm_components.py, the very same classes. The spout does what that
of word_count.py does: with the one of the peers, called by a subclass that reports, two more
functions of Python for each sentence would count as the API's.
"""

from itertools import cycle, islice
from typing import Any

from streamparse import Bolt, Grouping, Spout, Topology

from benchmarks import workload
from benchmarks.peers import pystorm_components as components
from benchmarks.reports import COUNT_KEY, report


class Sentences(Spout):
    """So many sentences, and a report when the last one is acked."""

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
        """It has to be emitted again, so words will have been counted twice."""
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
