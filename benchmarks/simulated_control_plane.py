"""A topology's whole control plane in one process: the product's own cores, no data, no sockets.

One topology master, a stream manager for each container, an instance for each task, and a simulated
clock. The product's own code encodes, decodes, decides and writes to the state store as in real
processes, and its CPU time is counted by role. The cost of sockets and idle waiting is excluded:
benchmarks.control_plane measures it with real processes.
"""

import gc
import itertools
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from heron_core.plans import physical_from_json
from heron_core.state_tree import execution_path, physical_path
from heron_core.topology import TopologySpec
from heron_core.wire import message_codec, messages
from heron_engine.scheduler.packing import pack
from heron_engine.stream_manager import events as manager_events
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.topology_master import events as master_events
from heron_engine.topology_master.core import TopologyMaster
from heron_engine.topology_master.options import MasterOptions
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import Connected, ControlReceived, InstanceTimer, SendControl
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heron_io.state_store.file_store import FileStore

STEP_SECS = 0.1
"""Of the clock: how often a stream manager's timer comes."""
MASTER_TIMERS = 5
"""Of the master in a step: every 20 ms."""
MASTER, MANAGERS, INSTANCES = "master", "stream managers", "instances"
LATENCY_BUCKETS = (50, 70)
"""What the histograms of a busy instance are filled with: 20 buckets."""

log = logging.getLogger("simulated control plane")


class Meter:
    """CPU seconds, messages and bytes by role or way."""

    def __init__(self) -> None:
        self.cpu_seconds: Counter[str] = Counter()
        self.messages: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    @contextmanager
    def of(self, role: str) -> Iterator[None]:
        """Count the CPU time of the block for a role; not to be nested."""
        began = time.process_time()
        try:
            yield
        finally:
            self.cpu_seconds[role] += time.process_time() - began

    def sent(self, way: str, data: bytes) -> bytes:
        """Count a message."""
        self.messages[way] += 1
        self.bytes[way] += len(data)
        return data


class SimulatedControlPlane:
    """All processes of one running topology; `step` advances the clock."""

    def __init__(self, topology: TopologySpec, folder: Path) -> None:
        self.topology, self.packing = topology, pack(topology)
        self.now = 1000.0
        self.meter = Meter()
        self._encoders: dict[int, message_codec.Encoder] = defaultdict(message_codec.Encoder)
        """Of the master (0), and of each container's stream manager."""
        self._store = FileStore(str(folder))
        self._numbers = itertools.count(1)
        self._rng = Random(1)
        self.master = TopologyMaster(topology, self.packing, MasterOptions.of(topology.config))
        self.managers: dict[int, StreamManager] = {}
        self.instances: dict[int, InstanceCore] = {}
        self._senders: dict[bytes, int] = {}
        """connection -> container"""
        self._connections: dict[int, bytes] = {}
        for each in self.packing.containers:
            if each.id:
                self.start_container(each.id)
        gc.collect()
        gc.freeze()  # as an executor does before it forks

    # --- processes ------------------------------------------------------------------------------

    def start_container(self, container: int) -> None:
        """Start a stream manager and its instances, replacing previous ones."""
        number = next(self._numbers)
        register = messages.RegisterStreamManager(
            container=container,
            incarnation=number,
            address=f"tcp://10.0.{container}.1:{number}",
            host=f"host-{container}",
            pid=1,
            epoch=0,
        )
        options = StreamManagerOptions.of(self.topology.config)
        self.managers[container] = StreamManager(self.topology, self.packing, register, options)
        self._connect(container)
        for each in self.packing.container(container).instances:
            self._start_instance(each.task)

    def _connect(self, container: int) -> None:
        connection = b"%d" % next(self._numbers)
        self._senders[connection], self._connections[container] = container, connection
        self._to_manager(container, manager_events.MasterConnected())

    def _start_instance(self, task: int) -> None:
        shared = SharedState()
        environment = InstanceEnvironment(
            lambda: self.now, Random(task), lambda frames: None, lambda: None, log, shared.call
        )
        who = Identity(task, next(self._numbers), 1)
        self.instances[task] = InstanceCore(self.topology, self.packing, who, environment, shared)
        self._to_instance(task, Connected())

    def replace_master(self) -> None:
        """Replace the master: the successor reads the stored plan and is found by all processes."""
        with self.meter.of(MASTER):
            stored = self._store.get(physical_path(self.topology.name))
            previous = physical_from_json(stored)
            options = MasterOptions.of(self.topology.config)
            self.master = TopologyMaster(
                self.topology, self.packing, options, previous,
                self._store.get(execution_path(self.topology.name)) or {},
            )  # fmt: skip
        for container in self.managers:
            self._connect(container)

    def work(self, seconds: float) -> None:
        """Every instance processes tuples for so long, and so has something new to report."""
        for core in self.instances.values():
            core.control.pace.wake()
            metrics = core.driver.metrics
            metrics.executed += int(1000 * seconds)
            metrics.busy_secs += seconds / 2
            for kind in (metrics.execute, metrics.process, metrics.complete):
                kind.total_secs += seconds / 2
                kind.number += int(1000 * seconds)
                bucket = self._rng.randint(*LATENCY_BUCKETS)
                kind.histogram[bucket] = kind.histogram.get(bucket, 0) + 60

    # --- time -----------------------------------------------------------------------------------

    def run(self, seconds: float, *, busy: bool = False, meter: Meter | None = None) -> Meter:
        """Advance the time; returns the costs, or adds the costs to `meter`."""
        self.meter = meter or Meter()
        for _ in range(round(seconds / STEP_SECS)):
            self.step()
            if busy:
                self.work(STEP_SECS)
        return self.meter

    def step(self) -> None:
        """STEP_SECS pass."""
        self.now += STEP_SECS
        for task, core in self.instances.items():
            if self.now >= core.next_heartbeat:
                self._to_instance(task, InstanceTimer())
        for container in self.managers:
            self._to_manager(container, manager_events.StreamManagerTimer())
        for _ in range(MASTER_TIMERS):
            self._to_master(master_events.MasterTimer())

    def command(self, name: str) -> None:
        """Let a client query the master."""
        self._to_master(master_events.MasterReceived(b"command", messages.Command(name, {})))

    # --- messages -------------------------------------------------------------------------------

    def _to_instance(self, task: int, event: Any) -> None:
        with self.meter.of(INSTANCES):
            said = [
                message_codec.encode(each.message)
                for each in self.instances[task].handle(event, self.now)
                if isinstance(each, SendControl)
            ]
        core = self.instances[task]
        container = self.packing.container_of[task]
        for data in said:
            self.meter.sent("from instances", data)
            with self.meter.of(MANAGERS):
                message = message_codec.decode(data)
            incarnation = core.identity.incarnation
            event = manager_events.FromInstanceControl(task, incarnation, message)
            self._to_manager(container, event)

    def _to_manager(self, container: int, event: Any) -> None:
        to_master, to_instances = [], []
        with self.meter.of(MANAGERS):
            for each in self.managers[container].handle(event, self.now):
                if isinstance(each, manager_events.ToMaster):
                    to_master.append(message_codec.encode(each.message))
                elif isinstance(each, manager_events.ToLocalControl):
                    data = self._encoders[container].encode(each.message)
                    to_instances.append((each, data))
        for data in to_master:
            self.meter.sent("to the master", data)
            with self.meter.of(MASTER):
                message = message_codec.decode(data)
            self._to_master(master_events.MasterReceived(self._connections[container], message))
        for each, data in to_instances:
            self.meter.sent("to instances", data)
            # A large message, decoded by 30 hosts concurrently, is left out here.
            if each.incarnation == self.instances[each.task].identity.incarnation:
                self._to_instance(each.task, ControlReceived(each.message))

    def _to_master(self, event: master_events.Event) -> None:
        sent = []
        with self.meter.of(MASTER):
            for each in self.master.handle(event, self.now):
                match each:
                    case master_events.Send(receiver, message):
                        sent.append((receiver, self._encoders[0].encode(message)))
                    case master_events.StorePlan(plan):
                        self._store.put(physical_path(self.topology.name), plan)
                    case master_events.StoreState(state):
                        stored = {"state": state, "draining": each.draining}
                        self._store.put(execution_path(self.topology.name), stored)
        for receiver, data in sent:
            container = self._senders.get(receiver)
            if container is None or self._connections[container] != receiver:
                continue  # a command, or a process that is gone
            self.meter.sent("from the master", data)
            with self.meter.of(MANAGERS):
                message = message_codec.decode(data)
            self._to_manager(container, manager_events.FromMaster(message))
