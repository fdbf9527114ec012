"""Trident's word count: batches of sentences, counted in a state in memory, for ever.

Config: `benchmark.batch` sentences in a batch; a report when batch `benchmark.first` is committed,
and one at `benchmark.last`.
"""

from typing import Any

from benchmarks.reports import report
from heronpy_compat.trident import Count, Function, IBatchSpout, MemoryMapState, TridentTopology

BATCH_KEY, FIRST_KEY, LAST_KEY = "benchmark.batch", "benchmark.first", "benchmark.last"
WORDS = 1000
"""Different ones; ten in a sentence."""


class Sentences(IBatchSpout):
    """A batch is a function of its id."""

    output_fields = ("sentence",)
    max_task_parallelism = 1

    def open(self, conf: dict[str, Any], context: Any) -> None:
        self._conf = conf
        self._reported = (int(conf[FIRST_KEY]), int(conf[LAST_KEY]))
        self._size = int(conf[BATCH_KEY])

    def emit_batch(self, batch_id: int, collector: Any) -> None:
        first = batch_id * self._size
        for number in range(first, first + self._size):
            words = range(10 * number, 10 * number + 10)
            collector.emit([" ".join(f"word{word % WORDS}" for word in words)])

    def ack(self, batch_id: int) -> None:
        if batch_id in self._reported:
            report(self._conf, "committed", batch=batch_id)


class Split(Function):
    """The words of a sentence."""

    def execute(self, tup: Any, collector: Any) -> None:
        for word in tup["sentence"].split(" "):
            collector.emit([word])


if __name__ == "__main__":
    topology = TridentTopology()
    words = topology.new_stream("sentences", Sentences()).shuffle()
    words = words.each("sentence", Split(), "word").project("word").parallelism_hint(2)
    words.group_by("word").persistent_aggregate(
        MemoryMapState.Factory(), None, Count(), "count"
    ).parallelism_hint(2)
    config = {
        "topology.trident.batch.emit.interval.millis": 1,
        "topology.max.spout.pending": 3,
    }
    topology.submit("Trident", config)
