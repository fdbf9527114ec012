"""The word count of peers/pystorm_components.py, the very same classes, in a streamparse topology.

The subclasses below add only what the benchmark needs: an end, and reports.
"""

from typing import Any

from streamparse import Bolt, Grouping, Spout, Topology

from benchmarks.peers import pystorm_components as components
from benchmarks.reports import COUNT_KEY, report


class Sentences(components.Sentences, Spout):
    """So many sentences, and a report when the last one is acked."""

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """Before the clock runs."""
        super().initialize(storm_conf, context)
        self.count = int(storm_conf[COUNT_KEY])

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.storm_conf, "first")

    def next_tuple(self) -> None:
        """One sentence."""
        if self.number < self.count:
            super().next_tuple()
        else:
            self.finish()

    def ack(self, tup_id: int) -> None:
        """All words of one more sentence are counted."""
        super().ack(tup_id)
        if self.acked == self.count:
            report(self.storm_conf, "last")


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
