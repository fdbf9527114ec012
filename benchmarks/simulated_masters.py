"""Simulated topology masters: healthy, with growing numbers.

Reports of their instances are rolled up and encoded like real ones. A master answers in this
process, or, for readers of the state store, over a socket.
"""

import os
import threading
import time
from typing import Any

import msgpack
import zmq

from heron_core.algorithms.rollup import QueueNumbers, RollUp
from heron_core.instance_report import (
    DISTRIBUTIONS,
    NOTHING_REPORTED,
    Distribution,
    InstanceReport,
)
from heron_core.plans import packing_to_json
from heron_core.records import replace
from heron_core.state_tree import (
    execution_path,
    keys_path,
    master_path,
    packing_path,
    scheduler_path,
    topology_path,
)
from heron_core.stats import EVERY_COMPONENT, RegisteredStats, TopologyStats
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
    topology_to_json,
)
from heron_core.wire import message_codec, messages
from heron_engine.scheduler.packing import pack
from heron_io.security import Keys
from heron_io.state_store.protocol import StateStore
from heron_tracker.model.snapshot import Nodes, TopologySnapshot, snapshot_of

BEGAN_AT = 1_795_435_200.0
BUCKETS = range(50, 70)
"""What the histograms of a busy instance are filled with."""
POLL_MS = 100
"""Poll interval of a thread's end."""


def spec_of(name: str) -> TopologySpec:
    """A spout of 4 and two bolts of 8 instances."""
    outputs = (StreamSpec("default", ("word",)),)
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    fields = GroupingSpec(GroupingKind.FIELDS, ("word",))
    return TopologySpec(
        name,
        (
            ComponentSpec("lines", True, "x.Lines", 4, outputs),
            ComponentSpec(
                "split", False, "x.Split", 8, outputs, (InputSpec("lines", "default", shuffle),)
            ),
            ComponentSpec(
                "count", False, "x.Count", 8, (), (InputSpec("split", "default", fields),)
            ),
        ),
        {"topology.stmgrs": 2},
    )


class SimulatedMaster:
    """One running topology without problems."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._spec = spec_of(name)
        self._packing = pack(self._spec)
        self._rollup = RollUp(self._spec, self._packing)
        execution = {"state": "RUNNING", "host": "here", "user": "ada"}
        self._nodes = Nodes(
            topology=topology_to_json(self._spec),
            packing=packing_to_json(self._packing),
            execution=execution,
            scheduler={"kind": "local", "host": "here", "pid": os.getpid()},
            master={"address": "tcp://127.0.0.1:1"},
        )

    def register(self, store: StateStore, address: str, keys: Keys) -> None:
        """Write the nodes of a running topology whose master serves `address`."""
        nodes = self._nodes
        for path, value in (
            (packing_path(self.name), nodes.packing),
            (execution_path(self.name), nodes.execution),
            (scheduler_path(self.name), nodes.scheduler),
            (keys_path(self.name), keys.to_json()),
            (master_path(self.name), {"address": address}),
            (topology_path(self.name), nodes.topology),
        ):
            store.put(path, value)

    def numbers(self, secs: float) -> dict[str, Any]:
        """Answer of the master after a number of seconds."""
        for task in self._packing.instances:
            self._rollup.update(task, _report(task, secs), secs)
        return self._stats().to_json()

    def look(self, secs: float) -> TopologySnapshot:
        """What the service finds after so many seconds."""
        data = msgpack.packb(self.numbers(secs))
        stats = TopologyStats.from_json(msgpack.unpackb(data, strict_map_key=False))
        bare = snapshot_of(self.name, self._nodes, alive=True)
        return TopologySnapshot(
            **{name: getattr(bare, name) for name in bare.__dataclass_fields__}
            | {"stats": stats, "stats_at": BEGAN_AT + secs}
        )

    def _stats(self) -> TopologyStats:
        queues = {task: QueueNumbers(1000, 10, 0.01) for task in self._packing.instances}
        containers = tuple(each.id for each in self._packing.containers)
        return TopologyStats(
            topology=self.name, state="RUNNING", epoch=1, phase="running", drained=False, lost=0,
            containers=containers, containers_expected=containers,
            registered={
                each: RegisteredStats(host="here", pid=each, secs=60.0) for each in containers
            },
            components=self._rollup.components(queues), paused={}, stream_managers={}, master={},
            errors={}, instances=self._rollup.wanted_instances(EVERY_COMPONENT, queues),
        )  # fmt: skip


def _report(task: int, secs: float) -> InstanceReport:
    """Report of an instance with a thousand tuples a second."""
    done = int(secs * 1000) + task
    latency = Distribution(done / 1e4, done, dict.fromkeys(BUCKETS, done // 20 + 1))
    return replace(
        NOTHING_REPORTED, **dict.fromkeys(DISTRIBUTIONS, latency),
        executed=done, acked=done, emitted_by_stream={"default": done}, busy_secs=secs / 4,
        at=secs, incarnation=1, pid=1000 + task, user={"words": done}, user_totals={"words": done},
        cpu_share=0.25, memory_bytes=40_000_000 + done % 1000,
    )  # fmt: skip


class MasterSockets:
    """Simulated masters that answer over sockets, from one thread."""

    def __init__(self, masters: list[SimulatedMaster], store: StateStore) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._masters: dict[Any, SimulatedMaster] = {}
        self._poller = zmq.Poller()
        self._stopped = threading.Event()
        for each in masters:
            keys, socket = Keys.new(), self._context.socket(zmq.ROUTER)
            keys.use_as_server(socket)
            port = socket.bind_to_random_port("tcp://127.0.0.1")
            self._masters[socket] = each
            self._poller.register(socket, zmq.POLLIN)
            each.register(store, f"tcp://127.0.0.1:{port}", keys)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        began = time.monotonic()
        while not self._stopped.is_set():
            for socket, _ in self._poller.poll(POLL_MS):
                who, _question = socket.recv_multipart()
                numbers = self._masters[socket].numbers(time.monotonic() - began)
                socket.send_multipart([who, message_codec.encode(messages.Reply(True, numbers))])
        self._context.destroy(linger=0)

    def close(self) -> None:
        """End."""
        self._stopped.set()
        self._thread.join()
