"""An instance's core with everything around it in hand: clock, chance, wire."""

import logging
import pickle
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgpack

from heron_api.custom_grouping import ICustomGrouping
from heron_core import config as keys
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.frames import Flag, FrameKind, Frames, Header, header, parse_header, u64_array
from heron_core.wire.values import array_of, unpack
from heron_frontends.adapters.construct import construct
from heron_instance.runtime.environment import CallSoon, Construct, InstanceEnvironment
from heron_instance.runtime.factory import ReadyInstance, build
from heronpy_compat import Bolt, Spout

NOTHING = Resource(0.0, 0, 0)
SOURCE, FIRST_READER = 1, 2
READERS = 4
OTHER = FIRST_READER + READERS
EPOCH = 3


class Source(Spout):
    """A spout whose next_tuple acts as told by the test."""

    def initialize(self, config: Any, context: Any) -> None:
        self.script: Callable[[], object] = list
        self.acked: list[Any] = []
        self.failed: list[Any] = []

    def next_tuple(self) -> None:
        self.script()

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.failed.append(tup_id)


class Middle(Bolt):
    """A bolt that keeps its input and acts as told by the test."""

    def initialize(self, config: Any, context: Any) -> None:
        self.received: list[Any] = []
        self.script: Callable[[Any], None] = self.received.append

    def process(self, tup: Any) -> None:
        self.script(tup)

    def process_tick(self, tup: Any) -> None:
        self.received.append("tick")

    def on_finish(self) -> None:
        self.received.append("finish")


class Comfortable(Middle):
    auto_ack = True
    auto_anchor = True


class Chosen(ICustomGrouping):
    """Sends a tuple to the tasks in its first value."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        chosen: list[int] = values[0]
        return chosen


def grouped(kind: GroupingKind, *fields: str) -> GroupingSpec:
    """A grouping of that kind."""
    if kind is GroupingKind.CUSTOM:
        return GroupingSpec(kind, custom=pickle.dumps(Chosen()))
    return GroupingSpec(kind, fields)


SHUFFLE = grouped(GroupingKind.SHUFFLE)


@dataclass
class Made:
    """An instance, its messages, and methods to feed input."""

    instance: ReadyInstance
    sent: list[Frames] = field(default_factory=list)
    now: float = 100.0
    look_secs: float = 0.0
    may_send: bool = True
    errors: list[str] = field(default_factory=list)

    @property
    def core(self) -> Any:
        return self.instance.driver

    @property
    def component(self) -> Any:
        return self.instance.component

    def batches(self) -> list["Batch"]:
        """The DATA and FANOUT messages sent."""
        return [
            Batch(each) for each in self.sent if each[0][2] in (FrameKind.DATA, FrameKind.FANOUT)
        ]

    def emitted(self) -> list[tuple[int, list[Any]]]:
        """(destination task, values) of each delivery, in order of sending."""
        self.core.flush()
        return [(task, values) for each in self.batches() for task, values in each.deliveries()]

    def words_of(self, kind: FrameKind) -> list[int]:
        """The words of all messages of a kind."""
        return [
            each for frames in self.sent if frames[0][2] == kind for each in u64_array(frames[1])
        ]


@dataclass
class Batch:
    """A sent batch, decoded."""

    frames: Frames

    @property
    def head(self) -> Header:
        return parse_header(self.frames[0])

    @property
    def targets(self) -> list[int]:
        if self.head.kind == FrameKind.FANOUT:
            return list(array("I", self.frames[1]))
        return [self.head.destination]

    @property
    def parts(self) -> Frames:
        """Body and extras."""
        return self.frames[2:] if self.head.kind == FrameKind.FANOUT else self.frames[1:]

    @property
    def values(self) -> list[list[Any]]:
        found: list[list[Any]] = unpack(self.parts[0])
        return found

    @property
    def ids(self) -> list[int]:
        return list(u64_array(self.parts[1]))

    @property
    def streams(self) -> list[int]:
        if self.head.flags & Flag.MIXED:
            tracked = bool(self.head.flags & Flag.TRACKED)
            return list(array("H", self.parts[2 if tracked else 1]))
        return [self.head.stream] * self.head.items

    def deliveries(self) -> list[tuple[int, list[Any]]]:
        return [(task, values) for task in self.targets for values in self.values]


def topology_of(
    kind: type,
    outputs: Sequence[StreamSpec],
    inputs: Sequence[InputSpec],
    config: dict[str, Any],
    types: tuple[str, ...] = (),
    fed_by: GroupingSpec = SHUFFLE,
) -> TopologySpec:
    """`kind` is the component under test, task 1; "readers" are tasks 2 to 5, "other" is task 6,
    whose streams declare `types`, and which feeds a bolt by a grouping."""
    spout = issubclass(kind, Spout)
    path = f"{kind.__module__}.{kind.__qualname__}"
    feeds = () if spout else (InputSpec("other", "default", fed_by),)
    tested = ComponentSpec("tested", spout, path, 1, tuple(outputs), feeds)
    stream = StreamSpec("default", ("value",), types=types)
    more = StreamSpec("more", ("value",), types=types)
    others = (
        ComponentSpec("readers", False, path, READERS, (), tuple(inputs)),
        ComponentSpec("other", not spout, path, 1, (stream, more), ()),
    )
    return TopologySpec("t", (tested, *others), config)


def packing() -> PackingPlan:
    """Tasks 1, 2 and 3 in container 1; 4, 5 and 6 in container 2."""

    def instance(task: int) -> InstancePlan:
        if task == SOURCE:
            return InstancePlan(task, "tested", 0, NOTHING)
        if task == OTHER:
            return InstancePlan(task, "other", 0, NOTHING)
        return InstancePlan(task, "readers", task - FIRST_READER, NOTHING)

    return PackingPlan(
        "t",
        (
            ContainerPlan(1, tuple(map(instance, (1, 2, 3))), NOTHING),
            ContainerPlan(2, tuple(map(instance, (4, 5, 6))), NOTHING),
        ),
    )


def _call_now(function: Callable[[], None]) -> None:
    function()


def make(
    kind: type,
    *inputs: InputSpec,
    outputs: Sequence[StreamSpec] = (StreamSpec("default", ("a", "b")),),
    tracked: bool = True,
    seed: int = 1,
    config: dict[str, Any] | None = None,
    constructed: Construct = construct,
    types: tuple[str, ...] = (),
    call_soon: CallSoon = _call_now,
) -> Made:
    """The instance of task 1."""
    mode = keys.ATLEAST_ONCE if tracked else keys.ATMOST_ONCE
    whole = {keys.RELIABILITY_MODE: mode, **(config or {})}
    topology = topology_of(kind, outputs, inputs, whole, types)
    made: Made

    def clock() -> float:
        made.now += made.look_secs
        return made.now

    def admit() -> None:
        assert made.may_send, "sent while it must not"

    made = Made(None)  # type: ignore[arg-type]  # built below: it needs the clock of this one
    log = logging.Logger("tested")
    log.addHandler(Collecting(made.errors))
    environment = InstanceEnvironment(
        clock,
        Random(seed),
        made.sent.extend,
        admit,
        log,
        call_soon,
        construct=constructed,
        may_send=lambda: made.may_send,
    )
    made.instance = build(topology, packing(), SOURCE, environment)
    made.core.plan_changed(EPOCH)
    return made


class Collecting(logging.Handler):
    """Keeps the lines of a log."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


def reads(grouping: GroupingSpec, stream: str = "default") -> InputSpec:
    """The readers' subscription."""
    return InputSpec("tested", stream, grouping)


def body_of(rows: Iterable[Any]) -> bytes:
    """The body of a DATA message with rows of values, as emit makes it: the cursor of the compiled
    hot path takes only such bodies."""
    return array_of([msgpack.packb(row) for row in rows])


def batch(
    *values: list[Any],
    roots: Sequence[tuple[int, int] | None] = (),
    epoch: int = EPOCH,
    body: bytes | None = None,
    source: int = OTHER,
) -> Frames:
    """A DATA message to task 1, tracked if there are roots (root, edge)."""
    data = body_of(values) if body is None else body
    ids = array("Q", [number for each in roots for number in (each or (0, 0))])
    flags = Flag.TRACKED if roots else Flag.NONE
    head = header(FrameKind.DATA, epoch, source, SOURCE, len(values), 0, flags)
    return [head, data, *([ids.tobytes()] if roots else [])]
