"""The word count of word_count.py by columns: batches of sentences, split and counted by Arrow.

Config: `benchmark.count` sentences, `benchmark.batch` of them in a batch; with ATLEAST_ONCE each
batch, and what comes of it, is acked.
"""

from typing import Any

import pyarrow as pa
import pyarrow.acero  # group_by imports it, and pandas with it, once in each process that has not
import pyarrow.compute as pc

from benchmarks import workload
from benchmarks.reports import COUNT_KEY, report, tracked
from heronpy_compat import BatchBolt, Grouping, Spout, Topology

BATCH_KEY = "benchmark.batch"
SCHEMA = pa.schema({"word": pa.string(), "count": pa.int64()})
MERGED_PARTS = 50
"""Counts of batches that are added up at once."""


class Sentences(Spout):
    """Emits the pool of sentences round and round, in slices of an array that holds enough."""

    outputs = {"sentence": "string"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the clock runs."""
        self.config, self.left, self.size = config, int(config[COUNT_KEY]), int(config[BATCH_KEY])
        pool = workload.sentences()
        rounds = 1 + -(-self.size // len(pool))
        self.rows = pa.record_batch({"sentence": pool * rounds})
        self.pool_size, self.at = len(pool), 0
        self.under_way: dict[int, pa.RecordBatch] = {}
        self.tracked = tracked(config)

    def activate(self) -> None:
        """The first call of next_tuple comes next."""
        report(self.config, "first")

    def next_tuple(self) -> None:
        """One batch."""
        size = min(self.left, self.size)
        if not size:
            self.finish()
            return
        rows = self.rows.slice(self.at, size)
        self.at, self.left = (self.at + size) % self.pool_size, self.left - size
        if self.tracked:
            self.under_way[self.left] = rows
            self.emit_batch(rows, tup_id=self.left)
        else:
            self.emit_batch(rows)

    def ack(self, tup_id: int) -> None:
        """All words of one more batch are counted."""
        del self.under_way[tup_id]
        if not self.under_way and not self.left:
            report(self.config, "last")

    def fail(self, tup_id: int) -> None:
        """It has to be emitted again, so words will have been counted twice."""
        self.emit_batch(self.under_way[tup_id], tup_id=tup_id)


class Split(BatchBolt):
    """Sentences into words."""

    outputs = {"word": "string"}

    def process_batch(self, batch: pa.RecordBatch) -> None:
        """Some sentences."""
        words = pc.list_flatten(pc.split_pattern(batch["sentence"], " "))
        self.emit_batch({"word": words})


class Count(BatchBolt):
    """Counts words, as benchmarks/peers/word_count_polars.py does."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is counted."""
        self.config = config
        self.parts: list[pa.RecordBatch] = []

    def process_batch(self, batch: pa.RecordBatch) -> None:
        """Some words, each once for a batch."""
        word, count = batch["word"].value_counts().flatten()
        self.parts.append(pa.record_batch({"word": word, "count": count}))
        if len(self.parts) == MERGED_PARTS:
            self.parts = self.merged().to_batches()

    def merged(self) -> pa.Table:
        """The count of each word so far."""
        parts = pa.Table.from_batches(self.parts, SCHEMA).group_by("word", use_threads=False)
        return parts.aggregate([("count", "sum")]).rename_columns(SCHEMA.names)

    def on_finish(self) -> None:
        """All words are counted."""
        word, count = self.merged().to_pydict().values()
        report(self.config, "finished", counts=dict(zip(word, count, strict=True)))


class ColumnarWords(Topology):
    """spout -> shuffle -> split x 2 -> by word -> count x 2"""

    sentences = Sentences.spec()
    split = Split.spec(par=2, inputs=[sentences])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
