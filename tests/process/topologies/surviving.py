"""Counts the words of numbered lines; each line is acked in the end, through any kills.

Config: `surviving.folder` takes the records; `surviving.lines` lines are due `surviving.rate` a
second from `surviving.begin` (CLOCK_MONOTONIC seconds, shared by all processes), always
`surviving.burst` at once, and all remaining lines when the file `hurry` is in the folder;
`surviving.sleep.secs` is the last bolt's time for each word. Once the file `enough` is in the
folder no new line is begun. The environment variable SURVIVING_SHAPE has the number of instances of
each component; with SURVIVING_STATE the counts are keyed state.

A record is a short write to an append-only file: the record survives the kill -9 of its writer,
perhaps a zombie beside its successor.
"""

import glob
import json
import os
import time
from collections import Counter, deque

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state

WORDS_PER_LINE = 5
VOCABULARY_WORDS = 997
SHAPE = tuple(map(int, os.environ.get("SURVIVING_SHAPE", "2,2,2,1").split(",")))


def words_of(line):
    return [f"word{(line * 31 + at * 7) % VOCABULARY_WORDS}" for at in range(WORDS_PER_LINE)]


class Records:
    """One task's file of short lines."""

    def __init__(self, config, kind, context):
        self._kind_path = os.path.join(config["surviving.folder"], kind)
        name = f"{self._kind_path}-{context.get_task_id()}"
        self._file = os.open(name, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def add(self, text):
        os.write(self._file, f"{text}\n".encode())

    def read_all(self):
        """Records of all tasks: new code of a component runs in new tasks."""
        for name in glob.glob(f"{self._kind_path}-*"):
            with open(name, encoding="ascii") as file:
                yield from file.read().split()


class Lines(Spout):
    outputs = ["line", "text"]

    def initialize(self, config, context):
        self.rate = float(config["surviving.rate"])
        self.begin = float(config["surviving.begin"])
        self.burst = int(config.get("surviving.burst", 1))
        self.acked = Records(config, "acked", context)
        self.failed = Records(config, "failed", context)
        self.stopped = Records(config, "stopped", context)
        self.hurry = os.path.join(config["surviving.folder"], "hurry")
        self.enough = os.path.join(config["surviving.folder"], "enough")
        done = set(map(int, self.acked.read_all()))
        tasks = context.get_component_tasks(context.get_component_id())
        first, lines = tasks.index(context.get_task_id()), int(config["surviving.lines"])
        mine = range(first, lines, len(tasks))
        self.waiting = deque(line for line in mine if line not in done)
        self.again = deque()
        self.emitted_at = {}

    def next_tuple(self):
        if self.again:
            self.emit_line(self.again.popleft())
        elif not self.waiting:
            self.finish()
        elif os.path.exists(self.enough):
            self.stopped.add(self.waiting[0])
            self.waiting.clear()
        elif self.is_due(self.waiting[0]):
            self.emit_line(self.waiting.popleft())

    def is_due(self, line):
        if time.monotonic() < self.due(line) and os.path.exists(self.hurry):
            self.rate = float("inf")
        return time.monotonic() >= self.due(line)

    def due(self, line):
        return self.begin + line // self.burst * self.burst / self.rate

    def emit_line(self, line):
        self.emitted_at[line] = time.monotonic()
        self.emit([line, " ".join(words_of(line))], tup_id=line)

    def ack(self, tup_id):
        self.acked.add(tup_id)
        self.emitted_at.pop(tup_id, None)

    def fail(self, tup_id):
        now = time.monotonic()
        self.failed.add(f"{now:.3f}:{now - self.emitted_at[tup_id]:.3f}")
        self.again.append(tup_id)


class Split(Bolt):
    outputs = ["line", "at", "word"]

    def process(self, tup):
        line, text = tup.values
        for at, word in enumerate(text.split()):
            self.emit([line, at, word], anchors=[tup])
        self.ack(tup)


class Count(Bolt):
    outputs = ["line", "at"]

    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        line, at, word = tup.values
        self.counts[word] += 1
        self.emit([line, at], anchors=[tup])
        self.ack(tup)


class KeptCount(Bolt):
    """The counts as keyed state; at its end each task writes its counts into counted-TASK. By then
    counts of removed instances have moved."""

    outputs = ["line", "at"]
    counted = value_state(default=0)

    def initialize(self, config, context):
        self.path = os.path.join(config["surviving.folder"], f"counted-{context.get_task_id()}")

    def process(self, tup):
        line, at, _ = tup.values
        self.counted.put(self.counted.get() + 1)
        self.emit([line, at], anchors=[tup])
        self.ack(tup)

    def close(self):
        with open(self.path, "w", encoding="ascii") as file:
            json.dump(dict(self.counted.all_items()), file)


class Seen(Bolt):
    def initialize(self, config, context):
        self.sleep_secs = float(config.get("surviving.sleep.secs", 0))
        self.seen = Records(config, "seen", context)

    def process(self, tup):
        line, at = tup.values
        if self.sleep_secs:
            time.sleep(self.sleep_secs)
        self.seen.add(f"{line}.{at}")
        self.ack(tup)


class Surviving(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        # A process may be killed many times, and that must not end the run.
        "topology.restart.limit": 1000,
    }

    lines = Lines.spec(par=SHAPE[0])
    split = Split.spec(par=SHAPE[1], inputs=[lines])
    count = (KeptCount if os.environ.get("SURVIVING_STATE") else Count).spec(
        par=SHAPE[2], inputs={split: Grouping.fields("word")}
    )
    seen = Seen.spec(par=SHAPE[3], inputs=[count])
