"""Components and a custom grouping for the topologies beside."""

from streamparse import BatchingBolt, Bolt, ReliableSpout, ShellBolt, Spout, Stream


class Words(Spout):
    outputs = ["word", "length"]


class Events(ReliableSpout):
    outputs = [Stream(fields=["user-id", "event"]), Stream(fields=["reason"], name="errors")]
    par = 2
    config = {"topology.max.spout.pending": 7}


class Orders(Spout):
    outputs = [Stream(fields=["order"], direct=True)]


class Count(Bolt):
    outputs = ["word", "count"]
    config = {"topology.tick.tuple.freq.secs": 1}

    class Inner(Bolt):
        outputs = []


class Store(BatchingBolt):
    par = 3


class Script(ShellBolt):
    outputs = ["word"]


class ByLength:
    def __init__(self, limit, label):
        self.limit, self.label = limit, label

    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

    def choose_tasks(self, values):
        return self.tasks[:1]
