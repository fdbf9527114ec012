"""Several values of a tuple as one element (storm-starter: TypedTupleExample)."""

from heronpy.api.spout.spout import Spout

from heronpy_compat.streams import Count, StreamBuilder, TumblingWindows, TupleValueMappers


class Visits(Spout):
    """Pages, users and times."""

    outputs = ["page", "user", "time_ms"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        if self.number == 20:
            self.finish()
            return
        self.emit(
            [f"/page/{self.number % 3}", self.number % 2, 1000 + self.number], tup_id=self.number
        )
        self.number += 1


builder = StreamBuilder()
builder.newStream(Visits, TupleValueMappers.of(0, 1, 2)).mapToPair(
    lambda visit: (visit[1], visit[0])
).window(TumblingWindows.of(Count.of(10))).groupByKey().print()

if __name__ == "__main__":
    builder.build_and_submit("TypedTupleExample")
