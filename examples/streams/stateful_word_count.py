"""Counts of words in a state, which survives its process (storm-starter: StatefulWordCount)."""

from heronpy_compat.streams import Count, StreamBuilder, TumblingWindows

words = iter(["the", "cow", "jumped", "over", "the", "moon", "and", "the", "cow", "slept"])

builder = StreamBuilder()
builder.newStream(lambda: next(words)).window(TumblingWindows.of(Count.of(5))).mapToPair(
    lambda word: (word, 1)
).countByKey().updateStateByKey(0, lambda total, count: total + count).toPairStream().print()

if __name__ == "__main__":
    builder.build_and_submit("StatefulWordCount", {"topology.reliability.mode": "EFFECTIVELY_ONCE"})
