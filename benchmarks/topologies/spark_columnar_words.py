"""The word count of columnar_words.py for a query of Spark: what is to survive is in attributes.

Config: `benchmark.count` sentences. The counts are printed at the end, as JSON.
"""

import json
from typing import Any

import pyarrow as pa

from benchmarks import workload
from benchmarks.topologies.columnar_words import Count, Split
from heronpy_compat import Grouping, Spout, Topology

BATCH_SENTENCES = 10_000
"""As many as the Arrow batches of the others' source."""


class Sentences(Spout):
    """Emits the pool of sentences round and round, in slices of an array that holds enough."""

    outputs = {"sentence": "string"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """At the first sentence."""
        pool = workload.sentences()
        self.rows = pa.record_batch({"sentence": pool * (1 + -(-BATCH_SENTENCES // len(pool)))})
        self.pool_size = len(pool)
        self.done, self.count = 0, int(config["benchmark.count"])

    def __getstate__(self) -> dict[str, Any]:
        """The position is enough."""
        return {"done": self.done}

    def next_tuple(self) -> None:
        """One batch."""
        size = min(self.count - self.done, BATCH_SENTENCES)
        if not size:
            self.finish()
            return
        self.emit_batch(self.rows.slice(self.done % self.pool_size, size))
        self.done += size


class PrintingCount(Count):
    """Prints what it has counted."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is counted."""
        self.counts: dict[str, int] = {}

    def on_finish(self) -> None:
        """All words are counted."""
        print(json.dumps(self.counts))


class ColumnarWords(Topology):
    """spout -> shuffle -> split x 2 -> by word -> count x 2"""

    sentences = Sentences.spec()
    split = Split.spec(par=2, inputs=[sentences])
    count = PrintingCount.spec(par=2, inputs={split: Grouping.fields("word")})
