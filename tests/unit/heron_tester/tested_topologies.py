"""Topologies as a user writes them, for the tests of the testers."""

import time
from collections import Counter, deque
from time import time as wall_clock

from heron_api.custom_grouping import ICustomGrouping
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heronpy_compat import Bolt, CountMetric, Grouping, Spout, Stream, Topology

TRACKED = {"topology.reliability.mode": "ATLEAST_ONCE"}


class Lines(Spout):
    """Emits three lines, failed ones again, and then finishes."""

    outputs = ["line"]

    def initialize(self, config, context):
        self.waiting = deque(enumerate(["storm heron", "storm", "heron storm"]))
        self.lines = dict(self.waiting)
        self.acked, self.failed = [], []

    def next_tuple(self):
        if self.waiting:
            number, line = self.waiting.popleft()
            self.emit([line], tup_id=number)
        else:
            self.finish()

    def ack(self, tup_id):
        self.acked.append(tup_id)

    def fail(self, tup_id):
        self.failed.append(tup_id)
        self.waiting.append((tup_id, self.lines[tup_id]))


class Split(Bolt):
    outputs = ["word"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        for word in tup.values[0].split():
            self.emit([word])


class Count(Bolt):
    outputs = ["word", "count", Stream(fields=["total"], name="totals")]

    def initialize(self, config, context):
        self.counts: Counter[str] = Counter()
        self.processed = CountMetric()
        context.register_metric("processed", self.processed, 60)

    def process(self, tup):
        word = tup.values[0]
        self.counts[word] += 1
        self.processed.incr()
        self.emit([word, self.counts[word]], anchors=[tup])
        self.ack(tup)

    def on_finish(self):
        self.emit([self.counts.total()], stream="totals")


class Sum(Bolt):
    def initialize(self, config, context):
        self.total, self.finished_with = 0, None

    def process(self, tup):
        self.total += tup.values[0]
        self.ack(tup)

    def on_finish(self):
        self.finished_with = self.total


class WordCount(Topology):
    config = TRACKED

    lines = Lines.spec()
    split = Split.spec(par=2, inputs=[lines])
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
    sum = Sum.spec(inputs={count["totals"]: Grouping.GLOBAL})


class Numbers(Spout):
    """Emits 1, 2, 3, … for ever."""

    outputs = ["number", Stream(fields=["number"], name="even")]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        self.number += 1
        self.emit([self.number], tup_id=self.number)
        if self.number % 2 == 0:
            self.emit([self.number], stream="even")


class Keep(Bolt):
    """Acks and emits all input."""

    outputs = ["value"]

    def process(self, tup):
        self.emit([tup.values[0]], anchors=[tup])
        self.ack(tup)


class Hold(Bolt):
    """Keeps tuples without acking them."""

    def initialize(self, config, context):
        self.held = []

    def process(self, tup):
        self.held.append(tup)


class Chosen(ICustomGrouping):
    """Even numbers to the first task, odd ones to all further tasks."""

    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

    def choose_tasks(self, values):
        return self.tasks[1:] if values[0] % 2 else self.tasks[:1]


class Direct(Bolt):
    """Emits each number to the reader with its index."""

    outputs = [Stream(fields=["number"], name="direct", direct=True)]

    def initialize(self, config, context):
        self.readers = context.get_component_tasks("told")

    def process(self, tup):
        number = tup.values[0]
        reader = self.readers[number % len(self.readers)]
        self.emit([number], stream="direct", anchors=[tup], direct_task=reader)
        self.ack(tup)


class Groupings(Topology):
    config = TRACKED

    numbers = Numbers.spec()
    shuffled = Keep.spec(par=3, inputs={numbers: Grouping.SHUFFLE})
    keyed = Keep.spec(par=3, inputs={numbers: Grouping.fields("number")})
    everywhere = Keep.spec(par=3, inputs={numbers: Grouping.ALL})
    lowest = Keep.spec(par=3, inputs={numbers: Grouping.GLOBAL})
    anyhow = Keep.spec(par=3, inputs={numbers: Grouping.NONE})
    near = Keep.spec(par=3, inputs={numbers: Grouping.LOCAL_OR_SHUFFLE})
    balanced = Keep.spec(par=3, inputs={numbers: Grouping.partial_key("number")})
    chosen = Keep.spec(par=3, inputs={numbers: Grouping.custom(Chosen())})
    evens = Keep.spec(inputs=[numbers["even"]])
    direct = Direct.spec(inputs=[numbers])
    told = Hold.spec(par=3, inputs={direct["direct"]: Grouping.DIRECT})


class Slow(Topology):
    config = {**TRACKED, "topology.message.timeout.secs": 30}

    numbers = Numbers.spec()
    keep = Keep.spec(inputs=[numbers])
    hold = Hold.spec(inputs=[keep])


class Clock(Bolt):
    """Emits the time, by three ways of asking."""

    outputs = ["time", "monotonic", "wall"]
    clock = staticmethod(time.time)

    def process(self, tup):
        if tup.values[0] == "sleep":
            time.sleep(2.5)
        self.emit([self.clock(), time.monotonic(), wall_clock()])

    def process_tick(self, tup):
        self.emit([time.time(), time.monotonic(), wall_clock()])


class Ticking(Topology):
    numbers = Numbers.spec()
    clock = Clock.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 10})


class Echo(Bolt):
    """Feeds itself for ever."""

    outputs = ["number"]

    def process(self, tup):
        self.emit([tup.values[0] + 1])


def endless():
    """A topology whose bolt reads its own output."""
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    path = f"{Echo.__module__}."
    stream = (StreamSpec("default", ("number",)),)
    reads = (InputSpec("numbers", "default", shuffle), InputSpec("echo", "default", shuffle))
    numbers = ComponentSpec("numbers", True, f"{path}Endless", 1, stream)
    return TopologySpec(
        "endless", (numbers, ComponentSpec("echo", False, f"{path}Echo", 1, stream, reads))
    )


class Endless(Spout):
    outputs = ["number"]


class MostlyUnread(Spout):
    """Five times emits to a stream without readers, then a line."""

    outputs = ["line", Stream(fields=["note"], name="notes")]

    def initialize(self, config, context):
        self.calls = 0

    def next_tuple(self):
        self.calls += 1
        if self.calls <= 5:
            self.emit([self.calls], stream="notes")
        elif self.calls == 6:
            self.emit(["storm"])


class Unread(Topology):
    lines = MostlyUnread.spec()
    split = Split.spec(inputs={lines: Grouping.SHUFFLE})


class Sink(Bolt):
    def initialize(self, config, context):
        self.paths = [config["table.path"]]

    def process(self, tup):
        pass


class ConfiguredSink(Sink):
    config = {"table.path": "/real"}


class Redirected(Topology):
    lines = Lines.spec()
    count = Sink.spec(inputs=[lines], config={"table.path": "/real"})
