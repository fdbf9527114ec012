"""A project of Python classes, and a Flux file that wires them."""

COMPONENTS = """
from heronpy_compat import Bolt, ICustomGrouping, Spout, Stream


class Lines(Spout):
    outputs = ["line"]

    def next_tuple(self):
        self.emit([self.path])


class Split(Bolt):
    outputs = ["word", Stream(fields=["line"], name="empty")]
    limit: int

    def __init__(self, separator=" ", *filters, **engine):
        super().__init__(**engine)
        self.separator, self.filters, self.calls = separator, filters, []

    def process(self, tup):
        pass

    def with_filter(self, kept):
        self.calls.append(("with_filter", kept))

    def setTopic(self, topic):
        self.topic = topic

    def set_max_size(self, size):
        self.size = size


class Count(Bolt):
    def process(self, tup):
        pass


class Filter:
    def __init__(self, words, parent=None):
        self.words, self.parent, self.loud = words, parent, False

    @classmethod
    def of_length(cls, length):
        return cls(["x" * length])


class ByLength(ICustomGrouping):
    def __init__(self, modulus=2):
        self.modulus = modulus

    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

    def choose_tasks(self, values):
        return [self.tasks[len(values[0]) % self.modulus]]
"""

WORDS = """
name: words
spouts:
  - id: lines
    className: parts.Lines
bolts:
  - id: split
    className: parts.Split
  - id: count
    className: parts.Count
    parallelism: 2
streams:
  - {from: lines, to: split, grouping: {type: SHUFFLE}}
  - {from: split, to: count, grouping: {type: FIELDS, args: [word]}}
"""
