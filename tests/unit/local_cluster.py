"""A whole topology in this process: real instances, the wire between them a queue, acks as trees.

Time stands still unless moved by a test, and events have a fixed order.
"""

import json
import logging
from array import array
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from heron_api.submissions import capture_submissions
from heron_core.algorithms.termination import finish_order
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_core.wire.batch import beginnings, split_fanout, targets_of
from heron_core.wire.frames import FrameKind, Frames, header_of, root_owner
from heron_core.wire.packets import decode_pairs, decode_roots, encode_roots
from heron_core.wire.values import unpack
from heron_engine.scheduler.packing import pack
from heron_engine.stream_manager.acks import Trees
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import build

EPOCH = 3
POLL_SECS = 0.001
TURNS_MAX = 1000
"""Limit of rounds: a longer source is endless."""
BUCKETS = 3


def submitted(program: Callable[[], object]) -> TopologySpec:
    """The topology submitted by `program`."""
    with capture_submissions() as found:
        program()
    (topology,) = found
    return topology


class LocalCluster:
    """Every instance of a topology, with all emits."""

    def __init__(self, topology: TopologySpec, **extra: Any) -> None:
        """`extra`: config by its keys, with _ for . as in topology_reliability_mode."""
        config = {key.replace("_", "."): value for key, value in extra.items()}
        travelled = json.loads(json.dumps(topology_to_json(topology)))
        self.topology = topology_from_json(travelled).with_config(config)
        self.packing = pack(self.topology)
        self.now = 1000.0
        self.queue: deque[Frames] = deque()
        self.emitted: dict[str, list[Any]] = {}
        """component -> values of each sent tuple, in order"""
        self.emitted_by: dict[int, list[Any]] = {}
        """task -> values of each sent tuple"""
        self.errors: list[str] = []
        self._logger = logging.Logger("tested")
        self._logger.addHandler(_Lines(self.errors))
        self.instances = {task: self._build(task) for task in self.packing.instances}
        self.trees = {task: Trees(BUCKETS) for task in self.spouts}
        for task in self.instances:
            self._begin(task)

    @property
    def spouts(self) -> list[int]:
        """Tasks of the spouts."""
        spouts = [each.name for each in self.topology.components if each.is_spout]
        return [task for name in spouts for task in self.packing.tasks_of[name]]

    def _build(self, task: int) -> Any:
        def send(messages: list[Frames]) -> None:
            for frames in messages:
                self._send(frames)

        environment = InstanceEnvironment(
            self._clock, Random(task), send, lambda: None, self._logger
        )
        instance = build(self.topology, self.packing, task, environment)
        if hasattr(instance.component, "window_clock"):
            instance.component.window_clock = lambda: float(int(self.now))
        return instance

    def _begin(self, task: int) -> None:
        core = self.instances[task].driver
        core.plan_changed(EPOCH)
        if task in self.trees:
            core.set_active(True)
        else:
            core.begin(True, self.now)

    def _clock(self) -> float:
        """A spout's turn ends by the clock, so time must move."""
        self.now += POLL_SECS
        return self.now

    def _send(self, frames: Frames) -> None:
        self.queue.append(frames)
        head = header_of(frames)
        if head.kind in (FrameKind.DATA, FrameKind.FANOUT):
            name = self.packing.instances[head.source].component
            body = frames[2 if head.kind == FrameKind.FANOUT else 1]
            rows = unpack(body)
            self.emitted.setdefault(name, []).extend(rows)
            self.emitted_by.setdefault(head.source, []).extend(rows)

    def component(self, name: str, index: int = 0) -> Any:
        """The user's object in one instance."""
        return self.instances[self.packing.tasks_of[name][index]].component

    def components(self, name: str) -> list[Any]:
        """The user's objects in all instances of a component."""
        return [self.instances[task].component for task in self.packing.tasks_of[name]]

    def elements(self, name: str) -> list[Any]:
        """Emits of a stage with one field."""
        return [values[0] for values in self.emitted.get(name, [])]

    def partitions(self, name: str) -> list[list[Any]]:
        """Emits of each instance of a stage with one field."""
        found = [self.emitted_by.get(task, []) for task in self.packing.tasks_of[name]]
        return [[values[0] for values in rows] for rows in found]

    def settle(self) -> None:
        """Deliver all tuples on their way, and all results."""
        while self.queue:
            frames = self.queue.popleft()
            _HANDLERS[FrameKind(header_of(frames).kind)](self, frames)

    def run(self) -> "LocalCluster":
        """Until every source has ended and queues are empty."""
        for _ in range(TURNS_MAX):
            cores = [self.instances[task].driver for task in self.spouts]
            if all(core.finished for core in cores):
                return self
            for core in cores:
                core.turn(self.now + 1.0)
            self.settle()
        raise AssertionError("the sources do not end")

    def turn(self) -> None:
        """A short while of every spout, with all results."""
        for task in self.spouts:
            self.instances[task].driver.turn(self.now + 3 * POLL_SECS)
        self.settle()

    def tick(self, secs: float) -> None:
        """Let time pass; instances with a due tick get the tick."""
        self.now += secs
        for task in self.instances:
            if task not in self.trees:
                core = self.instances[task].driver
                core.tick(self.now)
                core.flush()
        self.settle()

    def finish(self) -> "LocalCluster":
        """The last words of every bolt, level by level."""
        for level in finish_order(self.topology, self.packing.tasks_of):
            for task in sorted(level):
                self.instances[task].driver.finish()
            self.settle()
        return self

    def deliver_data(self, frames: Frames) -> None:
        """To a bolt."""
        head = header_of(frames)
        begun = beginnings(head, frames)
        if begun is not None:
            self.trees[head.source].begin(begun)
        core = self.instances[head.destination].driver
        core.deliver(frames)
        core.flush()

    def fan_out(self, frames: Frames) -> None:
        """To several bolts."""
        head = header_of(frames)
        for _, each in split_fanout(head, frames, targets_of(frames)):
            self.deliver_data(each)

    def init(self, frames: Frames) -> None:
        """Trees begin."""
        head = header_of(frames)
        self.trees[head.source].begin(decode_pairs(head, frames))

    def ack(self, frames: Frames) -> None:
        """Acks of bolts; trees that are done are told to their spouts."""
        pairs = iter(decode_pairs(header_of(frames), frames))
        owners = set[int]()
        for root, value in zip(pairs, pairs, strict=True):
            owners.add(root_owner(root))
            self.trees[root_owner(root)].apply(array("Q", (root, value)))
        for owner in owners:
            self._tell(FrameKind.ACKED, owner, self.trees[owner].take_done())

    def fail(self, frames: Frames) -> None:
        """Fails of bolts."""
        head = header_of(frames)
        failed = self.trees[head.destination].fail(decode_roots(head, frames))
        self._tell(FrameKind.FAILED, head.destination, failed)

    def watermark(self, frames: Frames) -> None:
        """To all readers."""
        instances = self.packing.instances
        source = instances[header_of(frames).source].component
        for task, each in instances.items():
            inputs = self.topology.by_name[each.component].inputs
            if any(found.component == source for found in inputs):
                driver = self.instances[task].driver
                driver.deliver(frames)
                driver.flush()

    def _tell(self, kind: FrameKind, spout: int, roots: "array[int]") -> None:
        self.instances[spout].driver.deliver(encode_roots(kind, EPOCH, 0, spout, roots))


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


_HANDLERS = {
    FrameKind.DATA: LocalCluster.deliver_data,
    FrameKind.FANOUT: LocalCluster.fan_out,
    FrameKind.INIT: LocalCluster.init,
    FrameKind.ACK: LocalCluster.ack,
    FrameKind.FAIL: LocalCluster.fail,
    FrameKind.WATERMARK: LocalCluster.watermark,
}
