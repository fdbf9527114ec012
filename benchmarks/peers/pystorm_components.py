"""Word count as ordinary pystorm classes, as a streamparse project would hold them.

`python -m benchmarks.peers.pystorm_components Split json` speaks Storm's multi-lang protocol on its
standard streams, as streamparse_run does. The module is independent of the benchmark's host.
"""

import sys
from typing import Any

from pystorm import Bolt, Spout, Tuple

from benchmarks import workload


class Sentences(Spout):
    """Emits the pool of sentences cyclically, tracked by id."""

    outputs = ["sentence"]

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """Build the pool before the first call of next_tuple."""
        self.pool = workload.sentences()
        self.number = 0
        self.acked = 0

    def next_tuple(self) -> None:
        """Emit the next sentence."""
        self.emit([self.pool[self.number % len(self.pool)]], tup_id=self.number)
        self.number += 1

    def ack(self, tup_id: int) -> None:
        """One sentence, and each word of it, has been counted."""
        self.acked += 1


class Split(Bolt):
    """Splits sentences into words."""

    outputs = ["word"]

    def process(self, tup: Tuple) -> None:
        """Emit each word, anchored to the sentence."""
        for word in tup.values[0].split():
            self.emit([word])


class Count(Bolt):
    """Counts words; on a tick it emits all counts so far."""

    outputs = ["word", "count"]

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """Start with no counts."""
        self.counts: dict[str, int] = {}

    def process(self, tup: Tuple) -> None:
        """Count one word."""
        word = tup.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1

    def process_tick(self, tup: Tuple) -> None:
        """Emit what was counted."""
        for word, count in self.counts.items():
            self.emit([word, count])


COMPONENTS = {component.__name__: component for component in (Sentences, Split, Count)}

if __name__ == "__main__":
    COMPONENTS[sys.argv[1]](serializer=sys.argv[2]).run()
