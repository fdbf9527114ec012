"""Counts of words go into a bolt as tuples (storm-starter: WordCountToBolt)."""

from heronpy.api.bolt.bolt import Bolt

from heronpy_compat.streams import StreamBuilder

words = iter(["storm", "heron", "storm"])


class Store(Bolt):
    """Stands for a bolt that writes into another system."""

    def process(self, tup):
        self.logger.info("%s = %d", tup["key"], tup["value"])
        self.ack(tup)


builder = StreamBuilder()
builder.newStream(lambda: next(words)).mapToPair(lambda word: (word, 1)).countByKey().to(Store)

if __name__ == "__main__":
    builder.build_and_submit("WordCountToBolt")
