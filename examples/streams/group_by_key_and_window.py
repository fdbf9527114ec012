"""Prices by symbol in sliding windows of six quotes (storm-starter: GroupByKeyAndWindowExample)."""

from heronpy.api.spout.spout import Spout

from heronpy_compat.streams import Count, PairValueMapper, SlidingWindows, StreamBuilder

QUOTES = [("AAPL", 42), ("GOOG", 91), ("AAPL", 44), ("AAPL", 39), ("GOOG", 95), ("FB", 7)] * 2
WINDOWS = SlidingWindows.of(Count.of(6), Count.of(3))


class Quotes(Spout):
    """Each quote once."""

    outputs = ["symbol", "price"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        if self.number == len(QUOTES):
            self.finish()
            return
        self.emit(list(QUOTES[self.number]), tup_id=self.number)
        self.number += 1


builder = StreamBuilder()
quotes = builder.newStream(Quotes, PairValueMapper(0, 1))
quotes.groupByKeyAndWindow(WINDOWS).print()
quotes.reduceByKeyAndWindow(max, WINDOWS).print()

if __name__ == "__main__":
    builder.build_and_submit("GroupByKeyAndWindowExample")
