"""The average of numbers in windows, by an aggregator (storm-starter: AggregateExample)."""

from heronpy_compat.streams import CombinerAggregator, Duration, StreamBuilder, TumblingWindows

numbers = iter([3, 500, 4, 5, 7000])


class Average(CombinerAggregator):
    """Of numbers: the sum and how many they are."""

    def init(self):
        return 0, 0

    def apply(self, aggregate, value):
        return aggregate[0] + value, aggregate[1] + 1

    def result(self, aggregate):
        return aggregate[0] / aggregate[1]


builder = StreamBuilder()
builder.newStream(lambda: next(numbers)).window(TumblingWindows.of(Duration.seconds(5))).filter(
    lambda number: 0 < number < 500
).aggregate(Average()).print()

if __name__ == "__main__":
    builder.build_and_submit("AggregateExample")
