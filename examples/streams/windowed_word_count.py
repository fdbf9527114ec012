"""Words of sentences, counted in windows of two seconds (storm-starter: WindowedWordCount)."""

from heronpy.api.spout.spout import Spout

from heronpy_compat.streams import Duration, StreamBuilder, TumblingWindows, ValueMapper

SENTENCES = ["the cow jumped over the moon", "an apple a day", "the man in the moon"]


class Sentences(Spout):
    """Each sentence once."""

    outputs = ["sentence"]

    def initialize(self, config, context):
        self.left = list(SENTENCES)

    def next_tuple(self):
        if self.left:
            self.emit([self.left[0]], tup_id=len(self.left))
            self.left.pop(0)
        else:
            self.finish()


builder = StreamBuilder()
builder.newStream(Sentences, ValueMapper(0)).flatMap(str.split).window(
    TumblingWindows.of(Duration.seconds(2))
).mapToPair(lambda word: (word, 1)).countByKey().filter(lambda pair: pair[1] > 1).print()

if __name__ == "__main__":
    builder.build_and_submit("WindowedWordCount")
