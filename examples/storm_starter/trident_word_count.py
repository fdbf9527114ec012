"""Words are counted in batches, each exactly once, and requests ask for the counts of their words.

    heronpy drpc
    heronpy run examples/storm_starter/trident_word_count.py
    curl -d "cat the dog jumped" http://127.0.0.1:3774/drpc/words

storm-starter's TridentWordCount; the answer is [["the", 5], ["jumped", 1]], in any order. Storm's
spout repeats its sentences for ever (`cycle=True`), so that the counts grow.
"""

from heronpy_compat.trident import (
    Count,
    FilterNull,
    FixedBatchSpout,
    Function,
    MapGet,
    MemoryMapState,
    TridentTopology,
)

SENTENCES = FixedBatchSpout(
    "sentence",
    3,
    ["the cow jumped over the moon"],
    ["the man went to the store and bought some candy"],
    ["four score and seven years ago"],
    ["how many apples can you eat"],
    ["to be or not to be the person"],
)


class Split(Function):
    def execute(self, tup, collector):
        for word in tup[0].split():
            collector.emit([word])


def construct(drpc=None):
    topology = TridentTopology()
    word_counts = (
        topology.newStream("spout1", SENTENCES)
        .each("sentence", Split(), "word")
        .groupBy("word")
        .persistentAggregate(MemoryMapState.Factory(), None, Count(), "count")
        .parallelismHint(2)
    )
    (
        topology.newDRPCStream("words", drpc)
        .each("args", Split(), "word")
        .groupBy("word")
        .stateQuery(word_counts, "word", MapGet(), "count")
        .each("count", FilterNull())
        .project(["word", "count"])
    )
    return topology


if __name__ == "__main__":
    construct().submit("TridentWordCount", {"topology.max.spout.pending": 20})
