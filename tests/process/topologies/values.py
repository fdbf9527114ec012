"""Values of many types go through two processes and must arrive as they were."""

import datetime
import decimal
import enum
import uuid
from collections import Counter, OrderedDict, deque, namedtuple
from dataclasses import dataclass

import results

from heronpy_compat import Bolt, Spout, Topology


@dataclass(frozen=True)
class Point:
    x: int
    label: str


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


Pair = namedtuple("Pair", "left right")


VALUES = [
    None,
    True,
    1.5,
    float("inf"),
    "naïve 🐦",
    "",
    b"\x00\xff",
    (1, ("nested", (2,))),
    [1, [2, (3,)]],
    {"key": (1, 2), 3: {"deep": {4}}},
    {(1, 2): "tuple as key"},
    {1, 2, 3},
    frozenset({"a"}),
    2**63,
    -(2**63) - 1,
    2**200,
    3 + 4j,
    datetime.datetime(2026, 2, 28, 23, 59, 59, 999999),
    datetime.datetime(2026, 2, 28, tzinfo=datetime.timezone(datetime.timedelta(hours=5.5))),
    datetime.date(2026, 2, 28),
    datetime.timedelta(days=-1, microseconds=3),
    decimal.Decimal("0.10"),
    uuid.UUID(int=7),
    Point(1, "here"),
    Colour.RED,
    Level.LOW,
    Pair(1, "b"),
    Counter("abb"),
    OrderedDict(b=1, a=2),
    deque([1, (2,)]),
    "\ud800",
    range(3),
]


class Values(Spout):
    outputs = ["number", "value"]

    def initialize(self, config, context):
        self.values = enumerate(VALUES)

    def next_tuple(self):
        number, value = next(self.values, (None, None))
        if number is None:
            self.finish()
        else:
            self.emit([number, value])


class Pass(Bolt):
    outputs = ["number", "value"]

    def process(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Compare(Bolt):
    def initialize(self, config, context):
        self.context, self.same, self.changed = context, 0, []

    def process(self, tup):
        number, value = tup.values
        if value == VALUES[number] and shape(value) == shape(VALUES[number]):
            self.same += 1
        else:
            self.changed.append(f"{VALUES[number]!r} became {value!r}")
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, {"same": self.same, "changed": self.changed})


def shape(value):
    """Types all the way down, as 1 == True and (1,) is no [1]."""
    if isinstance(value, dict):
        return [(shape(key), shape(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value), *map(shape, value)]
    return type(value)


class ValueTypes(Topology):
    values = Values.spec()
    through = Pass.spec(inputs=[values])
    compare = Compare.spec(inputs=[through])
