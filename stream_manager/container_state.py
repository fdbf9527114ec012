"""State shared by the parts of a stream manager: the plan, queues and trees.

Queues and trees of local instances, and queues to other containers, follow from the packing
plan, and are updated in place on a rescale: unchanged instances keep queue, trees and
connection.
"""

from msgspec import Struct

from heron_core.config import DROP
from heron_core.native import Forwarder, MessageQueue
from heron_core.plans import MASTER_CONTAINER, InstancePlan, PackingPlan
from heron_core.topology import TopologySpec
from heron_core.transition_log import TransitionLog
from heron_core.wire import links
from heron_core.wire.frames import Frames
from heron_core.wire.links import LinkHeader, encode_link
from heron_core.wire.messages import RegisterStreamManager, Superseded, ToInstance
from heron_engine.stream_manager import events
from heron_engine.stream_manager.acks import Trees
from heron_engine.stream_manager.link import Incoming, Numbered
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.stream_manager.peer_queue import PeerQueue
from heron_engine.stream_manager.queues import InstanceQueue, PressureLimits

NO_EPOCH = 1 << 32
"""Above all epochs, which have 32 bits on the wire."""
COUNTERS = (
    "forwarded", "fenced", "dropped", "unroutable", "malformed", "lost", "superseded",
    "resent", "repeated", "gaps",
)  # fmt: skip
"""The last three are of links: messages sent again, received twice, received too early."""


class PackingChange(Struct, frozen=True):
    """Consequences of a new packing plan for the container."""

    removed: frozenset[int]
    """Tasks no longer served by the container."""
    lost: list[Frames]
    """Messages in transit to removed instances or containers."""
    new_peers: frozenset[int]
    gone_peers: frozenset[int]


class ContainerState:
    """The instances of one container, and the routes to all others."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        identity: RegisterStreamManager,
        options: StreamManagerOptions,
    ) -> None:
        self._submitted = topology
        self.container = container = identity.container
        self.incarnation = identity.incarnation
        self.options = options
        self.now = 0.0
        """Time of the current event, in seconds of any monotonic clock. Set by the core."""
        self.epoch = 0
        """Epoch of the physical plan, used in local messages. Set with each plan."""
        self.fence = NO_EPOCH if options.checkpoints else 0
        """Batches of earlier epochs are leftovers of removed processes. Under checkpoints input
        is blocked until the first plan: the predecessor's data is lost, and a later barrier
        would complete a checkpoint without the data."""
        self.packing = packing
        self.queues: dict[int, InstanceQueue] = {}
        """Of the instances here, by task."""
        self.trees: dict[int, Trees] = {}
        """Of the spouts here, by task."""
        self.previous: dict[int, InstanceQueue] = {}
        """Tasks removed by a rescale: they may send until they end."""
        self.peers: dict[int, PeerQueue] = {}
        """container -> queue to its stream manager."""
        self.incoming: dict[int, Incoming] = {}
        """container -> receiving direction of its link; its stream manager may send before its
        plan is known here, and after an aborted plan without the container."""
        self.touched_tasks: set[int] = set()
        """Local tasks with new input, or with a report of processed input, since `send`."""
        self.due_tasks: set[int] = set()
        """Local tasks with enough input for a delivery before `send`."""
        self.touched_peers: set[int] = set()
        """Containers with new input since the last turn."""
        self.forwarder = Forwarder(set())
        """Fast path of batches and acks that need only forwarding."""
        self.pressure_limits = PressureLimits(
            options.high_water_bytes, options.high_water_tuples, options.target_secs
        )
        """Of the queues towards the instances here."""
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.forwarded_tuples = 0
        """Tuples of forwarded batches."""
        self.transition_log = TransitionLog()
        self.peers.update((each, self._peer_queue(each)) for each in self._others(packing))
        for instance in packing.container(container).instances:
            self._add(instance)
        self._aim()

    @property
    def topology(self) -> TopologySpec:
        """The topology of the plan."""
        return self.topology_of(self.packing)

    def topology_of(self, packing: PackingPlan) -> TopologySpec:
        """The topology of another plan: its code may have changed."""
        return packing.topology_of(self._submitted)

    def container_of(self, task: int) -> int | None:
        """Container of a task; None for an unknown task."""
        return self.packing.container_of.get(task)

    def count_forwarded(self, batches: int, tuples: int) -> None:
        """Batches are passed on."""
        self.counters["forwarded"] += batches
        self.forwarded_tuples += tuples

    def note(self, event: str, **values: int | str) -> None:
        """A control event for the transition log."""
        words = [event, *(f"{name}={value}" for name, value in values.items())]
        self.transition_log.record(self.now, " ".join(words))

    def send_control(self, task: int, message: ToInstance, out: list[events.Instruction]) -> None:
        """A control message for the process of a local task, if connected."""
        incarnation = self.queues[task].incarnation
        if incarnation is not None:
            out.append(events.ToLocalControl(task, incarnation, message))

    def refuse(self, task: int, incarnation: int, out: list[events.Instruction]) -> None:
        """Request the end of a process: a later process serves its task."""
        self.counters["superseded"] += 1
        refusal = Superseded(f"task {task} is served by another process now")
        out.append(events.ToLocalControl(task, incarnation, refusal))

    def incoming_of(self, container: int) -> Incoming:
        """Receiving direction of the link from another stream manager."""
        return self.incoming.setdefault(container, Incoming())

    def to_peer(self, container: int, message: Numbered | None, probe: int = 0) -> events.ToPeer:
        """A message for another stream manager, or None for a link frame alone. The frame
        acknowledges the peer's messages."""
        number = 0 if message is None else message.number
        incoming = self.incoming_of(container)
        flags = links.GAP if incoming.is_gap else links.NONE
        acked, (sender, generation) = incoming.received, (incoming.sender, incoming.generation)
        if incoming.refused_sender is not None:
            flags, acked, (sender, generation) = links.REFUSED, 0, incoming.refused_sender
        head = LinkHeader(
            flags, self.container, probe, incoming.echo,
            self.peers[container].outgoing.generation, generation,
            self.incarnation, number, sender, acked,
        )  # fmt: skip
        incoming.acknowledged()
        waiting = [] if message is None else message.waiting
        return events.ToPeer(container, number, encode_link(head), waiting)

    def _aim(self) -> None:
        self.forwarder.ways = self._ways()
        self.forwarder.spouts = self.trees

    def _ways(self) -> dict[int, MessageQueue]:
        """Task -> queue for a batch to the task, unless back-pressure may drop the batch."""
        if self.options.backpressure == DROP:
            return {}
        ways = {task: queue.waiting for task, queue in self.queues.items()}
        for task, container in self.packing.container_of.items():
            if container in self.peers:
                ways[task] = self.peers[container].unnumbered
        return ways

    def _peer_queue(self, container: int) -> PeerQueue:
        queue = PeerQueue(self.options.link_bytes_max, self.epoch)
        queue.unnumbered.name, queue.unnumbered.touched = container, self.touched_peers
        return queue

    def _others(self, packing: PackingPlan) -> set[int]:
        return {each.id for each in packing.containers} - {self.container, MASTER_CONTAINER}

    def _add(self, instance: InstancePlan) -> None:
        task = instance.task
        self.previous.pop(task, None)
        options = self.options
        queue = self.queues[task] = InstanceQueue(
            options.window_bytes,
            options.pipelined_bytes,
            options.at_once_bytes,
            options.high_water_tuples,
            is_fed=not self._is_spout(instance),
        )
        queue.waiting.name, queue.waiting.touched = task, self.touched_tasks
        queue.waiting.due = self.due_tasks
        queue.set_limits(self.pressure_limits, self.now)
        if self._is_spout(instance):
            self.trees[task] = Trees(self.options.expiry_buckets)

    def _is_spout(self, instance: InstancePlan) -> bool:
        return self.topology.by_name[instance.component].is_spout

    def apply_packing(self, packing: PackingPlan) -> PackingChange:
        """Switch to `packing`, a plan with the container."""
        self.packing = packing
        local = {each.task: each for each in packing.container(self.container).instances}
        others = self._others(packing)
        gone_peers = frozenset(self.peers.keys() - others)
        new_peers = frozenset(others - self.peers.keys())
        # What was transmitted has arrived, and only its acknowledgement is under way.
        lost = [frames for each in gone_peers for _, frames in self.peers.pop(each).waiting()]
        self.peers.update((each, self._peer_queue(each)) for each in new_peers)
        removed = frozenset(self.queues.keys() - local.keys())
        for task in removed:
            queue = self.previous[task] = self.queues.pop(task)
            self.trees.pop(task, None)
            lost += [*queue.handed, *queue.waiting]
        for task, instance in local.items():
            if task not in self.queues:
                self._add(instance)
        self._aim()
        return PackingChange(removed, lost, new_peers, gone_peers)

    def validate(self) -> None:
        """AssertionError unless queues and trees follow from the plan, and each is valid in
        itself."""
        local = self.packing.container(self.container).instances
        assert self.queues.keys() == {each.task for each in local}
        assert self.trees.keys() == {each.task for each in local if self._is_spout(each)}
        assert self.peers.keys() == self._others(self.packing)
        assert not self.previous.keys() & self.queues.keys()
        assert 0 <= self.fence <= self.epoch or (self.fence, self.epoch) == (NO_EPOCH, 0)
        assert min(self.counters.values()) >= 0
        for queue in self.queues.values():
            queue.validate()
        for peer in self.peers.values():
            peer.validate()
        for incoming in self.incoming.values():
            incoming.validate()
        for trees in self.trees.values():
            trees.validate()
