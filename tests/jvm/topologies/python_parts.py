"""The Python components around Java's, and where they write down what they saw."""

import json
import os
import time
from collections import Counter

from heronpy_compat import Bolt, Spout
from heronpy_compat.api.state.stateful_component import StatefulComponent

VALUES = [None, True, 7, 1 << 40, 1 << 70, 1.5, "ä€😀", b"\x00\xff", [1, ["a"]], {"a": 1}]


def write(name, found):
    """Write `found` under a name, whole or not at all."""
    path = os.path.join(os.environ["TEST_RESULTS"], name)
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(found, file)
    os.rename(f"{path}.part", f"{path}.json")


class Most(Bolt):
    """The highest count of each key."""

    def initialize(self, config, context):
        self.most = Counter()

    def process(self, tup):
        key, count = tup.values
        self.most[key] = max(self.most[key], count)
        self.ack(tup)

    def close(self):
        write("most", self.most)


class Numbers(Spout, StatefulComponent):
    """Each number below `numbers` once, a thousand a second; the keys are their remainders."""

    outputs = ["key"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.end, self.keys = config["numbers"], config["keys"]
        self.begun, self.first = None, self.state.get("next") or 0

    def next_tuple(self):
        self.begun = self.begun or time.monotonic()
        number = self.state.get("next") or 0
        if number >= self.end:
            self.finish()
        elif number - self.first < (time.monotonic() - self.begun) * 1000:
            self.state.put("next", number + 1)
            self.emit([number % self.keys])


class Reliable(Spout):
    """Each number below `numbers`, a thousand a second, again until it is acked."""

    outputs = ["key"]

    def initialize(self, config, context):
        self.end, self.next = config["numbers"], 0
        self.failed, self.open = [], set()
        self.begun = None

    def next_tuple(self):
        self.begun = self.begun or time.monotonic()
        if self.failed:
            self.send(self.failed.pop())
        elif self.next < self.end and self.next < (time.monotonic() - self.begun) * 1000:
            self.send(self.next)
            self.next += 1
        elif self.next == self.end and not self.open:
            self.finish()

    def send(self, number):
        self.open.add(number)
        self.emit([number], tup_id=number)

    def ack(self, number):
        self.open.discard(number)

    def fail(self, number):
        self.failed.append(number)


class Few(Spout):
    """The values, once each, or 1 to `numbers`."""

    outputs = ["value"]

    def initialize(self, config, context):
        self.left = list(range(1, config.get("numbers", 0) + 1)) or list(VALUES)

    def next_tuple(self):
        if self.left:
            self.emit([self.left.pop(0)], tup_id=len(self.left))
        else:
            self.finish()

    def fail(self, tup_id):
        pass


class Rows(Bolt):
    """All rows, as text: JSON has no bytes."""

    def initialize(self, config, context):
        self.rows = []

    def process(self, tup):
        self.rows.append([tup.stream, *map(repr, tup.values)])
        self.ack(tup)

    def close(self):
        write("rows", self.rows)
