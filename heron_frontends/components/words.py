"""Components of a word count, and further counters."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext


class _Step(Bolt):
    """Anchors, acks and fails by itself, as Storm's BaseBasicBolt."""

    auto_ack = auto_anchor = auto_fail = True


class SplitWords(_Step):
    """The words of the first field, split at white space."""

    outputs = ["word"]

    def process(self, tup: Any) -> None:
        """One tuple for each word."""
        for word in tup.values[0].split():
            self.emit([word])


class CountWords(_Step):
    """Counts the values of the first field per instance; group by the field."""

    outputs = ["word", "count"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Start at nothing."""
        self._counts: Counter[Any] = Counter()

    def process(self, tup: Any) -> None:
        """The value and its count."""
        word = tup.values[0]
        self._counts[word] += 1
        self.emit([word, self._counts[word]])


class CountTuples(_Step):
    """Counts tuples, whatever their values (Storm: TestGlobalCount)."""

    outputs = ["global-count"]
    _count = 0

    def process(self, tup: Any) -> None:
        """Emit the number of the tuple."""
        self._count += 1
        self.emit([self._count])


class TotalOfCounts(_Step):
    """Sums the latest counts of all words; reads CountWords.

    Storm: TestAggregatesCounter.
    """

    outputs = ["agg-global"]

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Start at nothing."""
        self._latest: dict[Any, int] = {}
        self._total = 0

    def process(self, tup: Any) -> None:
        """Emit the new sum."""
        word, count = tup.values[:2]
        self._total += count - self._latest.get(word, 0)
        self._latest[word] = count
        self.emit([self._total])
