"""Trident: map, flat_map, filter and peek in front of counts by word.

heronpy run examples/trident_map.py

Storm's TridentMapExample; `show` prints each new count.
"""

from heronpy_compat.trident import Count, FixedBatchSpout, MemoryMapState, TridentTopology

SPOUT = FixedBatchSpout(
    "word",
    3,
    ["the cow jumped over the moon"],
    ["the man went to the store and bought some candy"],
    ["four score and seven years ago"],
    ["how many apples can you eat"],
    ["to be or not to be the person"],
)


def split(tup):
    return tup["word"].split()


def upper(tup):
    return tup["word"].upper()


def is_frequent(tup):
    return tup["word"] in ("THE", "TO", "BE", "AND")


def show(tup):
    print(f"{tup['word']}: {tup['count']}", flush=True)


if __name__ == "__main__":
    topology = TridentTopology()
    words = topology.new_stream("sentences", SPOUT).flat_map(split).map(upper).filter(is_frequent)
    counts = words.group_by("word").persistent_aggregate(
        MemoryMapState.Factory(), None, Count(), "count"
    )
    counts.parallelism_hint(2).new_values_stream().peek(show)
    topology.submit("TridentMap", {"topology.trident.batch.emit.interval.millis": 100})
