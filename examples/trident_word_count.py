"""Trident: words are counted in batches, each exactly once, and another stream asks for the counts.

heronpy run examples/trident_word_count.py

Storm's TridentWordCount, with a local stream of questions in the place of its DRPC.
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
QUESTIONS = FixedBatchSpout("question", 1, *[["cat the man jumped"]] * 6)


class Split(Function):
    """The words of a text."""

    def execute(self, tup, collector):
        for word in tup[0].split():
            collector.emit([word])


def show(tup):
    print(f"{tup['word']}: {tup['count']}", flush=True)


if __name__ == "__main__":
    topology = TridentTopology()
    word_counts = (
        topology.new_stream("sentences", SENTENCES)
        .each("sentence", Split(), "word")
        .group_by("word")
        .persistent_aggregate(MemoryMapState.Factory(), None, Count(), "count")
        .parallelism_hint(2)
    )
    (
        topology.new_stream("questions", QUESTIONS)
        .each("question", Split(), "word")
        .group_by("word")
        .state_query(word_counts, "word", MapGet(), "count")
        .each("count", FilterNull())
        .to_stream()
        .project(["word", "count"])
        .peek(show)
    )
    topology.submit("TridentWordCount", {"topology.max.spout.pending": 2})
