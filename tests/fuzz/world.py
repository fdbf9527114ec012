"""The fuzzed topology, and its valid messages, made by the real instances."""

import datetime
import decimal
import logging
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from random import Random
from typing import Any

from heron_core import config as keys
from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.instance_report import to_wire
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    TopologyState,
    packing_to_json,
    physical_to_json,
)
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire import message_codec, messages
from heron_core.wire.batch import encode_columns
from heron_core.wire.columns import of_rows, schema_of, serialized
from heron_core.wire.frames import EVERY_OWNER, Flag, FrameKind, Frames, header, parse_header
from heron_core.wire.merged import merge
from heron_core.wire.packets import encode_barrier, encode_pairs, encode_watermark
from heron_core.wire.values import array_of, packer
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import ReadyInstance, build
from heronpy_compat import Bolt, Spout

EPOCH = 3
SPOUT, SPLIT, EVERY = 1, 2, 3
"""Tasks of container 1, the fuzzed one. Task 4 is a second EVERY, for fan-outs."""
SIBLING = 4
"""Further tasks of the component are in container 2."""
NOTHING = Resource(0.0, 0, 0)
TYPED = StreamSpec("typed", ("value", "number"), types=("string", "bigint"))
"""Its batches may be columns."""

quiet = logging.getLogger("fuzz")
quiet.addHandler(logging.NullHandler())
quiet.propagate = False

VALUES: tuple[Any, ...] = (
    7, "word", b"\x00\xff", None, 2.5, -1, 1 << 63, ("a", (1, 2)), {1, 2}, frozenset("x"),
    {"key": [1, 2]}, [[]], decimal.Decimal("1.5"), datetime.date(2020, 1, 1), 1 << 70,
)  # fmt: skip


class Source(Spout):
    """Emits one of VALUES with each call."""

    def initialize(self, config: Any, context: Any) -> None:
        self.numbers = count()
        self.settled: list[Any] = []

    def next_tuple(self) -> None:
        number = next(self.numbers)
        values = [VALUES[number % len(VALUES)], number]
        stream = "extra" if number % 5 == 4 else "default"
        self.emit(values, tup_id=number, stream=stream)

    def ack(self, tup_id: Any) -> None:
        self.settled.append(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.settled.append(tup_id)


class Split(Bolt):
    """Anchors its output to the tuple and to the previous tuple."""

    def initialize(self, config: Any, context: Any) -> None:
        self.before: list[Any] = []
        self.processed = 0

    def process(self, tup: Any) -> None:
        self.processed += 1
        value, number = tup.values
        if number % 7 == 3:
            self.fail(tup)
            return
        self.emit([value, number], anchors=[tup, *self.before])
        for each in self.before:
            self.ack(each)
        self.before = [tup]


def topology(**config: Any) -> TopologySpec:
    """Two spouts, two bolts with a shuffle of both streams, two with all tuples of both."""
    here = __name__
    two = (StreamSpec("default", ("value", "number")), StreamSpec("extra", ("value", "number")))
    read = (*two, TYPED)
    shuffle, everything = GroupingSpec(GroupingKind.SHUFFLE), GroupingSpec(GroupingKind.ALL)
    inputs = tuple(InputSpec("source", each.name, shuffle) for each in read)
    return TopologySpec(
        "fuzzed",
        (
            ComponentSpec("source", True, f"{here}.Source", 2, read),
            ComponentSpec("split", False, f"{here}.Split", 2, two[:1], inputs),
            ComponentSpec(
                "every", False, f"{here}.Split", 4, two[:1],
                (InputSpec("split", "default", everything),),
            ),
        ),
        {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, keys.MESSAGE_TIMEOUT_SECS: 5, **config},
    )  # fmt: skip


def _container(number: int) -> ContainerPlan:
    first = SIBLING * (number - 1)
    names = (("source", 0), ("split", 0), ("every", 0), ("every", 2))
    return ContainerPlan(
        number,
        tuple(
            InstancePlan(first + at, name, number - 1 + further, NOTHING)
            for at, (name, further) in enumerate(names, 1)
        ),
        NOTHING,
    )


PACKING = PackingPlan("fuzzed", (_container(1), _container(2)))
ADDED = 99
"""Task of a bolt in a container more, for updates."""
SCALED = PackingPlan(
    "fuzzed",
    (*PACKING.containers, ContainerPlan(3, (InstancePlan(ADDED, "split", 9, NOTHING),), NOTHING)),
)


def plan(epoch: int = EPOCH, **changed: Any) -> dict[str, Any]:
    """The physical plan as JSON values."""
    addresses = {1: "tcp://127.0.0.1:1", 2: "tcp://127.0.0.1:2"}
    made = PhysicalPlan("fuzzed", epoch, TopologyState.RUNNING, PACKING, addresses)
    return {**physical_to_json(made), **changed}


class Process:
    """An instance of the topology with wire and clock."""

    def __init__(self, task: int, seed: int = 0) -> None:
        self.sent: list[Frames] = []
        self.now = 0.0
        environment = InstanceEnvironment(
            self._clock, Random(seed), self.sent.extend, lambda: None, quiet
        )
        self.instance: ReadyInstance = build(topology(), PACKING, task, environment)
        self.core: Any = self.instance.driver
        self.component: Any = self.instance.component
        self.core.plan_changed(EPOCH)

    def _clock(self) -> float:
        self.now += 0.0001
        return self.now


def _of_spout(task: int) -> Process:
    process = Process(task)
    process.core.set_active(True)
    for _ in range(30):
        process.core.turn(process.now + 0.001)
    return process


def by_kind(many: tuple[Frames, ...]) -> tuple[tuple[Frames, ...], ...]:
    """Grouped by kind and set of flags, so that each group is chosen often."""
    found: dict[tuple[int, int], list[Frames]] = {}
    for frames in many:
        head = parse_header(frames[0])
        found.setdefault((head.kind, head.flags), []).append(frames)
    return tuple(map(tuple, found.values()))


@cache
def kinds_to_managers() -> tuple[tuple[Frames, ...], ...]:
    """`frames_to_managers` by kind."""
    return by_kind(frames_to_managers())


@cache
def messages_of(union: Any) -> tuple[messages.Message, ...]:
    """The control messages of a union of heron_core.wire.messages."""
    return tuple(each for each in control_messages() if isinstance(each, union))


@cache
def frames_to_managers() -> tuple[Frames, ...]:
    """Messages as instances and peers send them to a stream manager: batches, fan-outs, acks."""
    found = [*_of_spout(SPOUT).sent, *_of_spout(SPOUT + SIBLING).sent]
    split = Process(SPLIT)
    for frames in found:
        if parse_header(frames[0]).kind == FrameKind.DATA:
            split.core.deliver(frames)
            split.core.flush()
    found += split.sent
    every = Process(EVERY)
    for frames in split.sent:
        if parse_header(frames[0]).kind == FrameKind.DATA:
            every.core.deliver(frames)
            every.core.flush()
    found += every.sent
    cause = message_codec.encode(messages.BackPressureCause(SPLIT + SIBLING, True))
    found.extend(map(_plain_batch, (Flag.NONE, Flag.TRACKED, Flag.TRACKED | Flag.BEGINS)))
    found += [_columns(), _columns([(SPOUT << 44) + 1, 1, 0, 0]), _columns(MANY_ROOTS, EXTRAS)]
    owners = (SPOUT, SPOUT + SIBLING, SPLIT, ADDED)
    acks = [number for owner in owners for number in ((owner << 44) + 1, 1)]
    found.append(encode_pairs(FrameKind.ACK, EPOCH, SPLIT, EVERY_OWNER, acks))
    found.append([header(FrameKind.CONSUMED, EPOCH, SPLIT, 0, 0)])
    found += [
        encode_barrier(EPOCH, task, 0, checkpoint)
        for task in (SPOUT, SPLIT, SPLIT + SIBLING)
        for checkpoint in (1, 2)
    ]
    found += [
        encode_watermark(EPOCH, task, 0, time_ms)
        for task in (SPOUT, SPLIT, SPLIT + SIBLING)
        for time_ms in (-5, 7, END_OF_TIME)
    ]
    found.append([header(FrameKind.CONTROL, EPOCH, 2, SPLIT + SIBLING, 1), cause])
    found += [merge(found[:2]), merge(found)]
    return tuple(found)


MANY_ROOTS = [(SPOUT << 44) + 1, 1, (SPOUT << 44) + 2, 2]
EXTRAS = [1, (SPOUT << 44) + 3]


def _columns(ids: list[int] | None = None, extras: Sequence[int] = ()) -> Frames:
    """A batch of columns, of two runs if it is tracked."""
    rows = of_rows([[word, at] for at, word in enumerate("abc")], TYPED.fields, schema_of(TYPED))
    return encode_columns(EPOCH, SPOUT, SPLIT, serialized(rows), 3, 2, ids, [2, 1], extras)


def _plain_batch(flags: Flag) -> Frames:
    head = header(FrameKind.DATA, EPOCH, SPOUT, SPLIT, 2, 0, flags)
    ids = array("Q", [root for at in (1, 2) for root in ((SPOUT << 44) + at, at)]).tobytes()
    return [head, array_of([packer()(["word", at]) for at in (1, 2)]), *([ids] if flags else [])]


@cache
def frames_to_bolts() -> tuple[Frames, ...]:
    """For a bolt: watermarks; batches that are plain, of several streams, of several roots."""
    found = [
        each for each in frames_to_managers() if each[0][2] in (FrameKind.DATA, FrameKind.FANOUT)
    ]
    single = [each for each in frames_to_managers() if each[0][2] == FrameKind.WATERMARK]
    for frames in found:
        head = parse_header(frames[0])
        if head.kind == FrameKind.FANOUT:
            blocks = len(frames[1]) // 4
            ids = frames[3][: len(frames[3]) // blocks]
            data = head._replace(kind=int(FrameKind.DATA), destination=EVERY)
            single.append([_packed(data), frames[2], ids, *frames[4:]])
        else:
            single.append(frames)
    return tuple(single)


def _packed(head: Any) -> bytes:
    return header(
        head.kind, head.epoch, head.source, head.destination, head.items, head.stream, head.flags
    )


@cache
def frames_to_spouts() -> tuple[Frames, ...]:
    """Results of the spout's roots."""
    roots = b"".join(each[2][:8] for each in frames_to_bolts() if each[0][3] & Flag.TRACKED)
    kinds = (FrameKind.ACKED, FrameKind.FAILED, FrameKind.EXPIRED)
    return tuple([header(kind, EPOCH, 0, SPOUT, len(roots) // 8), roots] for kind in kinds)


@cache
def snapshot(task: int) -> dict[str, Any]:
    process = Process(task)
    if task in (SPOUT, SPOUT + SIBLING):
        process = _of_spout(task)
    report = process.core.statistics()
    return to_wire(replace(report, at=process.now, incarnation=100 + task, pid=task))


def registrations() -> Iterator[messages.RegisterInstance | messages.RegisterStreamManager]:
    """Of each instance, of a repeated one, and of two stream managers."""
    for task in (SPOUT, SPLIT, EVERY):
        yield messages.RegisterInstance(task=task, incarnation=100 + task, pid=task)
    yield messages.RegisterInstance(task=SPLIT, incarnation=200, pid=7, predecessor="was killed")
    for container, incarnation, pid in ((1, 5, 7), (2, 6, 8)):
        yield messages.RegisterStreamManager(
            container=container,
            incarnation=incarnation,
            address=f"tcp://127.0.0.1:{container}",
            host="here",
            pid=pid,
            epoch=0,
        )


@cache
def _update_messages() -> list[messages.Message]:
    """Messages of an update without checkpoints."""
    tasks = tuple(PACKING.instances)
    return [
        messages.SaveForUpdate(1, EPOCH, tasks),
        messages.DeferFails(1, EPOCH, tasks),
        *(messages.SavedForUpdate(task, 1, 100) for task in tasks),
        messages.NotSavedForUpdate(SPLIT, 1, "no space is left"),
        messages.FailsDeferred(SPLIT, 1),
    ]


def query_messages() -> tuple[messages.Message, ...]:
    """One of each class of live queries and of samples."""
    return (
        messages.TuplesSampled(SPLIT, 1, {"tuples": [{"word": "x"}]}),
        messages.StateQuestion(1, EPOCH, SPLIT, "count", '"k"', "", 2000),
        messages.QueryState(1, (SPLIT,), "count", 1, 1000, '"k"'),
        messages.StateAnswered(SPLIT, 1, messages.QueryOutcome.ANSWERED, "", ((b"k", "{}"),)),
    )


def control_messages() -> tuple[messages.Message, ...]:
    """One or two of each class."""
    snapshots = {task: snapshot(task) for task in (SPOUT, SPLIT, EVERY)}
    return (
        *registrations(),
        *(messages.InstanceHeartbeat(task, snapshots[task]) for task in (SPOUT, SPLIT)),
        messages.QuiescenceReport(SPOUT, 1, 10, 0, True, 1),
        messages.QuiescenceReport(SPLIT, 1, 10, 10, True, 1),
        messages.SpoutFinished(SPOUT, True),
        messages.SpoutFinished(SPOUT + SIBLING, True),
        messages.BoltFinished(SPLIT),
        messages.InstanceFailed(SPLIT, "it failed"),
        messages.InstanceReplaced(SPLIT, "was killed", 10, 3),
        messages.TraceReport(SPLIT, {"calendar_secs": 1.0, "executions": [
            [SPOUT << 44 | 1, SPOUT, 1.0, 1.0, 2.0, 1.0, 1, "executed"]]}),
        messages.SampleTuples(1, (SPOUT, SPLIT), "default", 3, 10),
        *query_messages(),
        messages.RunShell(1, "true", 10, 1000),
        messages.ShellRan(1, 1, "host", 0, "said"),
        messages.Plan(plan()),
        messages.Plan(plan(EPOCH + 1, stream_managers={"1": "tcp://a:1", "2": "tcp://b:2"})),
        messages.Pause(True),
        messages.Resync(),
        messages.QuiescenceProbe(1),
        messages.FinishBolts((SPLIT, EVERY)),
        messages.Superseded("somebody else came"),
        messages.BackPressureCause(SPLIT + SIBLING, True),
        messages.RegistrationRejected("no"),
        messages.Ping(),
        messages.Pong(1),
        messages.Heartbeat(
            1, {"waiting_bytes": {SPLIT: 10}, "malformed": 0}, snapshots,
            {SPLIT: messages.PauseStatistics((SPLIT + SIBLING,), 1.5, 0.5, 0.25)},
        ),
        messages.Heartbeat(
            2, {"waiting_bytes": {}}, {SPOUT + SIBLING: snapshot(SPOUT + SIBLING)}, {}
        ),
        messages.HeartbeatAck(),
        *(messages.Command(name, {"component": "split"}) for name in
          ("stats", "activate", "deactivate", "drain", "checkpoint", "nonsense")),
        messages.Command("update", {"packing": packing_to_json(SCALED)}),
        messages.Command("cancel", {"reason": "enough"}),
        messages.Command("sample", {"component": "split", "stream": "default", "count": 3}),
        messages.Command("sampled", {"sample": 1}),
        messages.Plan(plan(EPOCH + 2, packing=packing_to_json(SCALED),
                           stream_managers={"1": "tcp://a:1", "2": "tcp://b:2", "3": "tcp://c"})),
        messages.Reply(True, {}),
        messages.TriggerCheckpoint(1, EPOCH),
        messages.CheckpointCompleted(1, EPOCH),
        *(messages.CheckpointStored(task, 1, 100) for task in PACKING.instances),
        messages.CheckpointFailed(SPLIT, 1, "no space is left"),
        *_update_messages(),
        *(messages.Restored(task, 100 + task, 1) for task in PACKING.instances),
        messages.Restored(SPLIT, 7, 0),
        messages.RestoreFailed(SPLIT, 1, "it is damaged"),
        *(
            messages.Plan(plan(EPOCH + at, restore={"checkpoint": at, "members": members}))
            for at, members in ((0, None), (0, {"1": 101}), (1, None))
        ),
    )  # fmt: skip
