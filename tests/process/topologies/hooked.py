"""Task hooks from the config and from `initialize`, on a spout whose tuple fails once."""

import os
from collections import Counter

import results

from heronpy_compat import Bolt, ITaskHook, Spout, Topology


class Recorder(ITaskHook):
    """Counts what it is told; the second one of a task is the one that was added."""

    def prepare(self, conf, context):
        self.name = f"hook-{context.get_component_id()}-{type(self).__name__}"
        self.seen = Counter(prepare=1)
        self.latencies_ms = []

    def clean_up(self):
        self.seen["clean_up"] += 1
        results.write_as(self.name, {**self.seen, "pid": os.getpid(), "ms": self.latencies_ms})

    def emit(self, emit_info):
        self.seen[f"emit {emit_info.stream_id}"] += 1

    def spout_ack(self, spout_ack_info):
        self.seen["spout_ack"] += 1
        self.latencies_ms.append(spout_ack_info.complete_latency_ms)

    def spout_fail(self, spout_fail_info):
        self.seen["spout_fail"] += 1

    def bolt_execute(self, bolt_execute_info):
        self.seen["bolt_execute"] += 1
        self.latencies_ms.append(bolt_execute_info.execute_latency_ms)

    def bolt_ack(self, bolt_ack_info):
        self.seen["bolt_ack"] += 1

    def bolt_fail(self, bolt_fail_info):
        self.seen["bolt_fail"] += 1


class Added(Recorder):
    pass


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.waiting = list(range(10))

    def next_tuple(self):
        if self.waiting:
            number = self.waiting.pop()
            self.emit([number], tup_id=number)
        else:
            self.finish()

    def fail(self, tup_id):
        self.waiting.append(tup_id)


class Moody(Bolt):
    outputs = ["number"]

    def initialize(self, config, context):
        self.failed = False
        context.add_task_hook(Added())

    def process(self, tup):
        if tup.values[0] == 4 and not self.failed:
            self.failed = True
            self.fail(tup)
            return
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Last(Bolt):
    def process(self, tup):
        self.ack(tup)


class Hooked(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.auto.task.hooks": ["hooked.Recorder"],
    }

    numbers = Numbers.spec()
    moody = Moody.spec(inputs=[numbers])
    last = Last.spec(inputs=[moody])
