"""Emits, acks and fails of a bolt in any order leave once, in order, and the trees add up."""

import logging
from array import array
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

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
from heron_core.wire.batch import decode_batch, encode_batch, split_fanout, targets_of
from heron_core.wire.frames import ROOT_COUNTER_BITS, FrameKind, Frames, header_of
from heron_core.wire.packets import decode_pairs, decode_roots
from heron_core.wire.values import packer, unpack
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import build
from heronpy_compat import Bolt

NOTHING = Resource(0.0, 0, 0)
EPOCH = 3
TESTED, READERS, SOURCE = 1, (2, 3, 4, 5), 6
STREAMS = {"one": GroupingKind.SHUFFLE, "every": GroupingKind.ALL, "default": GroupingKind.FIELDS}
"""Streams of the tested bolt, and the groupings of the readers: each grouping has separate buffers,
and ALL leads to every task."""

log = logging.getLogger("output_buffers")
log.addHandler(logging.NullHandler())
log.propagate = False


class Holding(Bolt):
    """Keeps its input."""

    def initialize(self, config: Any, context: Any) -> None:
        self.retained: list[Any] = []

    def process(self, tup: Any) -> None:
        self.retained.append(tup)


def topology() -> TopologySpec:
    """The tested bolt, its source, and the readers of all its streams."""
    path = f"{__name__}.Holding"
    outputs = tuple(StreamSpec(name, ("value",)) for name in STREAMS)
    inputs = tuple(
        InputSpec(
            "tested",
            name,
            GroupingSpec(kind, ("value",) if kind is GroupingKind.FIELDS else ()),
        )
        for name, kind in STREAMS.items()
    )
    source = InputSpec("source", "default", GroupingSpec(GroupingKind.SHUFFLE))
    return TopologySpec(
        "t",
        (
            ComponentSpec("tested", False, path, 1, outputs, (source,)),
            ComponentSpec("readers", False, path, len(READERS), (), inputs),
            ComponentSpec("source", True, path, 1, (StreamSpec("default", ("value",)),)),
        ),
        {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE},
    )


def packing() -> PackingPlan:
    """Half of the readers in another container."""
    here = (InstancePlan(TESTED, "tested", 0, NOTHING), InstancePlan(SOURCE, "source", 0, NOTHING))
    readers = [InstancePlan(task, "readers", at, NOTHING) for at, task in enumerate(READERS)]
    return PackingPlan(
        "t",
        (
            ContainerPlan(1, (*here, *readers[:2]), NOTHING),
            ContainerPlan(2, tuple(readers[2:]), NOTHING),
        ),
    )


class OutputMachine(RuleBasedStateMachine):
    """The model: the stream of each emitted number, and for each root the xor of all known, unacked
    edges."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Frames] = []
        self.now = 0.0
        environment = InstanceEnvironment(
            lambda: self.now, Random(1), self.sent.extend, lambda: None, log
        )
        instance = build(topology(), packing(), TESTED, environment)
        self.core: Any = instance.driver
        self.bolt: Any = instance.component
        self.core.plan_changed(EPOCH)
        self.emitted: dict[int, str] = {}
        """number -> its stream; numbers count up."""
        self.received: dict[int, list[int]] = {task: [] for task in READERS}
        self.left: dict[int, int] = {}
        self.failed: set[int] = set()
        self.roots = 0
        self.settled = 0

    @rule(rooted=st.lists(st.booleans(), min_size=1, max_size=4))
    def arrive(self, rooted: list[bool]) -> None:
        ids = []
        for has_root in rooted:
            self.roots += 1
            root = (SOURCE << ROOT_COUNTER_BITS) | self.roots if has_root else 0
            edge = self.roots * 7919 if has_root else 0
            ids += [root, edge]
            if root:
                self.left[root] = edge
        parts = [packer()([at]) for at in range(len(rooted))]
        self.core.deliver(encode_batch(EPOCH, SOURCE, TESTED, parts, ids=[ids]))

    @rule(
        stream=st.sampled_from(sorted(STREAMS)),
        anchors=st.sets(st.integers(0, 5), max_size=2),
        times=st.integers(1, 4),
    )
    def emit(self, stream: str, anchors: set[int], times: int) -> None:
        retained = self.bolt.retained
        chosen = [retained[at] for at in sorted(anchors) if at < len(retained)]
        for _ in range(times):
            number = len(self.emitted)
            self.emitted[number] = stream
            self.bolt.emit([number], stream=stream, anchors=chosen)

    @precondition(lambda self: self.bolt.retained)
    @rule(data=st.data(), fails=st.integers(0, 3))
    def settle(self, data: st.DataObject, fails: int) -> None:
        tup = self.bolt.retained.pop(data.draw(st.integers(0, len(self.bolt.retained) - 1)))
        self.settled += 1
        if fails:
            self.bolt.ack(tup)
        else:
            self.bolt.fail(tup)

    @rule()
    def flush(self) -> None:
        self.core.flush()
        assert self.core.outbox.empty
        self.check()

    def check(self) -> None:
        for frames in self.sent:
            head = header_of(frames)
            if head.kind == FrameKind.FANOUT:
                for _, single in split_fanout(head, frames, targets_of(frames)):
                    self._take_batch(single)
            elif head.kind == FrameKind.DATA:
                self._take_batch(frames)
            elif head.kind == FrameKind.ACK:
                self._take_pairs(decode_pairs(head, frames))
            else:
                assert head.kind == FrameKind.FAIL
                self.failed.update(decode_roots(head, frames))
        self.sent.clear()
        self._check_deliveries()

    def _take_batch(self, frames: Frames) -> None:
        head = header_of(frames)
        batch = decode_batch(head, frames)
        numbers = [value for (value,) in unpack(batch.body)]
        streams = list(batch.streams) if batch.streams is not None else [head.stream] * head.items
        names = list(STREAMS)
        assert [names[at] for at in streams] == [self.emitted[number] for number in numbers]
        self.received[head.destination] += numbers
        assert batch.ids is not None
        self._take_pairs(batch.ids)
        extras = iter(batch.extras or ())
        for position, root in zip(extras, extras, strict=True):
            self.left[root] ^= batch.ids[2 * position + 1]

    def _take_pairs(self, pairs: "array[int]") -> None:
        numbers = iter(pairs)
        for root, value in zip(numbers, numbers, strict=True):
            if root:
                self.left[root] ^= value
            else:
                assert value == 0

    def _check_deliveries(self) -> None:
        by_number: dict[int, list[int]] = {number: [] for number in self.emitted}
        for task, numbers in self.received.items():
            assert numbers == sorted(numbers), f"task {task} gets {numbers}"
            for number in numbers:
                by_number[number].append(task)
        for number, stream in self.emitted.items():
            expected = len(READERS) if STREAMS[stream] is GroupingKind.ALL else 1
            assert len(by_number[number]) == expected == len(set(by_number[number]))

    def teardown(self) -> None:
        while self.bolt.retained:
            self.bolt.ack(self.bolt.retained.pop())
        self.flush()
        # All is acked, and each edge was reported twice: by its emit, and by the ack.
        assert {root for root, value in self.left.items() if value} <= self.failed


TestOutputBuffers = OutputMachine.TestCase
TestOutputBuffers.settings = settings(max_examples=40, stateful_step_count=25, derandomize=True)
