"""One stream of words to many bolts, each by another grouping."""

from collections import Counter

import results
from counts import Count, Lines

from heronpy_compat import Bolt, Grouping, ICustomGrouping, Stream, Topology


class ByLength(ICustomGrouping):
    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

    def choose_tasks(self, values):
        return [self.tasks[len(values[0]) % len(self.tasks)]]


class Split(Bolt):
    outputs = ["word", Stream(["word"], name="named", direct=True), Stream(["word"], name="empty")]

    def initialize(self, config, context):
        self.readers = context.get_component_tasks("direct")

    def process(self, tup):
        for word in tup.values[0].split():
            self.emit([word], anchors=[tup])
            reader = self.readers[len(word) % len(self.readers)]
            self.emit([word], stream="named", anchors=[tup], direct_task=reader)
        self.ack(tup)


class CountPlaces(Count):
    """Counts, and remembers which tasks sent here."""

    def initialize(self, config, context):
        super().initialize(config, context)
        self.senders = Counter()

    def process(self, tup):
        self.senders[tup.task] += 1
        super().process(tup)

    def on_finish(self):
        found = {"counts": self.counts, "senders": dict(self.senders)}
        results.write(self.context, found)


class Groupings(Topology):
    lines = Lines.spec()
    split = Split.spec(par=2, inputs=[lines])
    shuffle = CountPlaces.spec(par=2, inputs={split: Grouping.SHUFFLE})
    none = CountPlaces.spec(par=2, inputs={split: Grouping.NONE})
    local = CountPlaces.spec(par=2, inputs={split: Grouping.LOCAL_OR_SHUFFLE})
    fields = CountPlaces.spec(par=2, inputs={split: Grouping.fields("word")})
    partial = CountPlaces.spec(par=3, inputs={split: Grouping.partial_key("word")})
    every = CountPlaces.spec(par=2, inputs={split: Grouping.ALL})
    lowest = CountPlaces.spec(par=2, inputs={split: Grouping.GLOBAL})
    custom = CountPlaces.spec(par=2, inputs={split: Grouping.custom(ByLength())})
    direct = CountPlaces.spec(par=2, inputs={split["named"]: Grouping.DIRECT})
