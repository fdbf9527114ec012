"""Counts of words, asked by another stream (storm-starter: StateQueryExample)."""

from heronpy_compat.streams import StreamBuilder

words = iter(["storm", "heron", "storm", "spark"] * 5)
questions = iter(["storm", "heron", "flink"])

builder = StreamBuilder()
counts = (
    builder.newStream(lambda: next(words))
    .mapToPair(lambda word: (word, 1))
    .updateStateByKey(0, lambda count, one: count + one)
)
builder.newStream(lambda: next(questions)).stateQuery(counts).print()

if __name__ == "__main__":
    builder.build_and_submit("StateQueryExample")
