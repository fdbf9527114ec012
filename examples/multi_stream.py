"""One bolt sorts its input onto two streams, and each stream has a bolt of its own.

heronpy run examples/multi_stream.py
"""

from heronpy_compat import Bolt, Spout, Stream, Topology

ENTRIES = ["17", "storm", "4", "heron", "bolt", "2026", "spout"] * 10


class Entries(Spout):
    outputs = ["entry"]

    def initialize(self, config, context):
        self.entries = iter(ENTRIES)

    def next_tuple(self):
        entry = next(self.entries, None)
        if entry is None:
            self.finish()
        else:
            self.emit([entry])


class Sort(Bolt):
    outputs = [Stream(["number"], name="numbers"), Stream(["word"], name="words")]

    def process(self, tup):
        entry = tup.values[0]
        if entry.isdigit():
            self.emit([int(entry)], stream="numbers", anchors=[tup])
        else:
            self.emit([entry], stream="words", anchors=[tup])
        self.ack(tup)


class Collect(Bolt):
    def initialize(self, config, context):
        self.name, self.received = context.get_component_id(), []

    def process(self, tup):
        self.received.append(tup.values[0])
        self.ack(tup)

    def on_finish(self):
        print(f"{self.name}: {len(self.received)}, the largest is {max(self.received)}")


class MultiStream(Topology):
    entries = Entries.spec()
    sort = Sort.spec(inputs=[entries])
    numbers = Collect.spec(inputs=[sort["numbers"]])
    words = Collect.spec(inputs=[sort["words"]])
