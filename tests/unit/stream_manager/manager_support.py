"""Small topologies and a stream manager to talk to."""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from heron_core import config as keys
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    TopologyState,
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
from heron_core.wire import links, message_codec, messages
from heron_core.wire.frames import (
    ROOT_COUNTER_BITS,
    Flag,
    FrameKind,
    Frames,
    header,
    parse_header,
    u64_array,
)
from heron_core.wire.links import LinkHeader, encode_link
from heron_core.wire.packets import encode_consumed
from heron_engine.stream_manager import events
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.options import StreamManagerOptions

HIGH_BYTES = 400
LOW_BYTES = 100
WINDOW_BYTES = 300
NOTHING = Resource(0.0, 0, 0)


def topology_of(edges: Mapping[str, Sequence[str]], **config: Any) -> TopologySpec:
    """name -> its sources; components without sources are spouts."""
    stream = StreamSpec("default", ("value",))
    components = tuple(
        ComponentSpec(
            name,
            not sources,
            "module.Class",
            1,
            (stream,),
            tuple(InputSpec(each, "default", GroupingSpec(GroupingKind.ALL)) for each in sources),
        )
        for name, sources in edges.items()
    )
    return TopologySpec("t", components, config)


def packing_of(*containers: dict[int, str]) -> PackingPlan:
    """For each container its tasks and their components."""
    return PackingPlan(
        "t",
        tuple(
            ContainerPlan(
                number,
                tuple(InstancePlan(task, name, 0, NOTHING) for task, name in tasks.items()),
                NOTHING,
            )
            for number, tasks in enumerate(containers, 1)
        ),
    )


def physical(packing: PackingPlan, epoch: int, **changed: str) -> messages.Plan:
    """A plan; `c2="tcp://new"` gives container 2 another address."""
    addresses = {each.id: f"tcp://{each.id}" for each in packing.containers}
    addresses |= {int(name[1:]): address for name, address in changed.items()}
    plan = PhysicalPlan("t", epoch, TopologyState.RUNNING, packing, addresses)
    return messages.Plan(physical_to_json(plan))


class Manager:
    """A stream manager of container 1 with the clock in hand."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        planned: bool = True,
        mode: str = keys.STAGE,
        pipelined_bytes: int = 0,
        window_bytes: int = WINDOW_BYTES,
        high_tuples: int | None = None,
        predecessor: str = "",
    ) -> None:
        """Messages for an instance that is busy are merged only if there are `pipelined_bytes`."""
        config: dict[str, Any] = {
            keys.BACKPRESSURE_HIGH_BYTES: HIGH_BYTES,
            keys.BACKPRESSURE_LOW_BYTES: LOW_BYTES,
            keys.BACKPRESSURE_HIGH_TUPLES: high_tuples,
            keys.BACKPRESSURE_MODE: mode,
            keys.MESSAGE_TIMEOUT_SECS: 5,
        }
        options = replace(
            StreamManagerOptions.of(config),
            window_bytes=window_bytes,
            pipelined_bytes=pipelined_bytes,
            at_once_bytes=0,
        )
        self.identity = messages.RegisterStreamManager(
            container=1,
            incarnation=77,
            address="tcp://1",
            host="here",
            pid=1,
            epoch=0,
            predecessor=predecessor,
        )
        self.core = StreamManager(topology, packing, self.identity, options)
        self.packing = packing
        self.now = 0.0
        self._peers_number = 0
        if planned:
            self.plan(1)

    def handle(self, *arrived: events.Event) -> list[events.Instruction]:
        """Simultaneous events; returns the output."""
        instructions = []
        for event in (*arrived, events.InputTaken()):
            instructions += self.core.handle(event, self.now)
            self.core.validate()
        return instructions

    def plan(self, epoch: int, **changed: str) -> list[events.Instruction]:
        """A plan of the master arrives."""
        return self.handle(events.FromMaster(physical(self.packing, epoch, **changed)))

    def hello(self, task: int, incarnation: int = 1) -> list[events.Instruction]:
        """A process says Hello."""
        return self.control(
            task, messages.RegisterInstance(task=task, incarnation=incarnation, pid=1), incarnation
        )

    def control(self, task: int, message: object, incarnation: int = 1) -> list[events.Instruction]:
        """A process says something on its control connection."""
        return self.handle(events.FromInstanceControl(task, incarnation, message))

    def data(self, frames: Frames, task: int = 1, incarnation: int = 1) -> list[events.Instruction]:
        """A local instance sends."""
        return self.handle(events.FromInstance(task, incarnation, frames))

    def from_peer(self, frames: Frames) -> events.FromPeer:
        """The next message of container 2's stream manager, without acknowledgements."""
        self._peers_number += 1
        return events.FromPeer([link_frame(self._peers_number), *frames])

    def peer(self, frames: Frames) -> list[events.Instruction]:
        """Another stream manager sends."""
        return self.handle(self.from_peer(frames))

    def refused(self, *many: Frames) -> list[events.Instruction]:
        """A local instance sends rows to tasks of container 2, whose socket is full."""
        out = []
        for frames in many:
            out += self.data(frames)
        numbers = [each.number for each in of_type(events.ToPeer, out)]
        return out + self.handle(events.PeerBlocked(2, min(numbers, default=0)))

    def consumed(
        self, task: int, messages_processed: int, busy_secs: float = 0.0
    ) -> list[events.Instruction]:
        """An instance reports what it has processed."""
        return self.data(encode_consumed(1, task, messages_processed, busy_secs), task)

    def cause(self, announcer: int, task: int, on: bool) -> list[events.Instruction]:
        """A peer names or lifts a cause."""
        head = header(FrameKind.CONTROL, self.core.epoch, announcer, task, 1)
        return self.peer([head, message_codec.encode(messages.BackPressureCause(task, on))])


PEER_INCARNATION = 88


def link_frame(
    number: int,
    acked: int = 0,
    flags: int = links.NONE,
    generation: int = 1,
    sender: int = PEER_INCARNATION,
    probe: int = 0,
    echo: int = 0,
) -> bytes:
    """Header of a message of container 2's stream manager."""
    acked_sender = 77 if acked or flags else 0
    return encode_link(
        LinkHeader(flags, 2, probe, echo, generation, 1, sender, number, acked_sender, acked)
    )


def batch(
    destination: int, size: int = 0, roots: Sequence[int] = (), epoch: int = 1, source: int = 1
) -> Frames:
    """A DATA message; tracked with edge 100 + position for each root."""
    ids = array("Q", [number for at, root in enumerate(roots) for number in (root, 100 + at)])
    flags = Flag.TRACKED if roots else Flag.NONE
    count = max(1, len(roots))
    head = header(FrameKind.DATA, epoch, source, destination, count, 0, flags)
    return [head, b"x" * size, *([ids.tobytes()] if roots else [])]


def fanout(
    container: int, targets: Sequence[int], size: int = 0, roots: Sequence[int] = ()
) -> Frames:
    """A FANOUT message; the edge of a root is its position + 10 * the task."""
    ids = array(
        "Q",
        [
            number
            for task in targets
            for at, root in enumerate(roots)
            for number in (root, 10 * task + at)
        ],
    )
    flags = Flag.TRACKED if roots else Flag.NONE
    head = header(FrameKind.FANOUT, 1, 1, container, max(1, len(roots)), 0, flags)
    frames = [head, array("I", targets).tobytes(), b"x" * size]
    return [*frames, ids.tobytes()] if roots else frames


def init(task: int, *pairs: int, epoch: int = 1) -> Frames:
    """An INIT message of root, value, root, value, …"""
    head = header(FrameKind.INIT, epoch, task, task, len(pairs) // 2)
    return [head, array("Q", pairs).tobytes()]


def ack(owner: int, *pairs: int) -> Frames:
    """An ACK message of root, value, root, value, …"""
    return [header(FrameKind.ACK, 1, 9, owner, len(pairs) // 2), array("Q", pairs).tobytes()]


def of_type(kind: type, instructions: Sequence[events.Instruction]) -> list[Any]:
    """The instructions of one type."""
    return [each for each in instructions if type(each) is kind]


def to_peer(instructions: Sequence[events.Instruction]) -> list[list[tuple[int, Frames]]]:
    """For each message to another stream manager: (destination, message) of its content."""
    return [each.waiting for each in of_type(events.ToPeer, instructions) if each.waiting]


def pauses(instructions: Sequence[events.Instruction]) -> list[tuple[int, bool]]:
    """(task, on) of each Pause sent."""
    return [
        (each.task, each.message.on)
        for each in of_type(events.ToLocalControl, instructions)
        if isinstance(each.message, messages.Pause)
    ]


def causes_told(instructions: Sequence[events.Instruction]) -> list[tuple[int, int, bool]]:
    """(container, task, on) of each Cause sent to a peer."""
    found = []
    for each in of_type(events.ToPeer, instructions):
        for _, frames in each.waiting:
            if frames[0][2] == FrameKind.CONTROL:
                cause = message_codec.decode(frames[1])
                found.append((each.container, cause.task, cause.on))
    return found


SPOUT, NEAR, FAR, FAR_TOO = 1, 2, 3, 4
ROOT = (SPOUT << ROOT_COUNTER_BITS) | 5
TOPOLOGY = topology_of({"spout": [], "near": ["spout"], "far": ["spout", "near"]})
PACKED = packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", FAR_TOO: "far"})


def manager(planned: bool = True, introduced: bool = True) -> Manager:
    """The stream manager of container 1 of TOPOLOGY, its instances there."""
    made = Manager(TOPOLOGY, PACKED, planned)
    if introduced:
        made.hello(SPOUT)
        made.hello(NEAR)
    return made


def results(instructions: Sequence[events.Instruction]) -> list[tuple[FrameKind, list[int]]]:
    """Messages to spouts: (kind, roots)."""
    return [
        (FrameKind(parse_header(each.frames[0]).kind), list(u64_array(each.frames[1])))
        for each in of_type(events.ToLocal, instructions)
        if each.task == SPOUT
    ]


def fill(made: Manager, task: int) -> list[events.Instruction]:
    """Send until the task's queue is over its mark."""
    out = []
    for _ in range((HIGH_BYTES + WINDOW_BYTES) // 100 + 2):
        out += made.data(batch(task, 100), SPOUT)
    return out
