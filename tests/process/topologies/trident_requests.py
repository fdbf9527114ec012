"""Trident counts words, and requests ask for the sum of the counts of theirs.

`drpc.servers` says where the server is. The spout of words never finishes.
"""

from heronpy_compat.trident import (
    Count,
    FilterNull,
    FixedBatchSpout,
    Function,
    IBatchSpout,
    MapGet,
    MemoryMapState,
    Sum,
    TridentTopology,
)

WORDS = FixedBatchSpout("word", 3, ["cat"], ["dog"], ["cat"])


class Endless(IBatchSpout):
    """The words, then empty batches, as Storm's FixedBatchSpout."""

    output_fields = ("word",)
    max_task_parallelism = 1

    def emit_batch(self, batch_id, collector):
        WORDS.emit_batch(batch_id, collector)


class Split(Function):
    def execute(self, tup, collector):
        for word in tup["args"].split():
            collector.emit([word])


if __name__ == "__main__":
    topology = TridentTopology()
    counts = (
        topology.new_stream("words", Endless())
        .group_by("word")
        .persistent_aggregate(MemoryMapState.Factory(), None, Count(), "count")
        .parallelism_hint(2)
    )
    (
        topology.new_drpc_stream("words")
        .each("args", Split(), "word")
        .group_by("word")
        .state_query(counts, "word", MapGet(), "count")
        .each("count", FilterNull())
        .aggregate("count", Sum(), "sum")
    )
    topology.submit("TridentRequests")
