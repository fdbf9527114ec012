"""The processes of a simulated cluster: real cores, and around each what its server.py does.

What stands here beside the cores is a copy of those files, call by call: a stream manager's
sockets, the master's router. An instance's stands in instances.py.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_core.plans import packing_from_json, physical_from_json
from heron_core.records import replace
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, parse_header
from heron_core.wire.merged import split
from heron_core.wire.numbered_link import Packet
from heron_engine.stream_manager import core as stream_manager
from heron_engine.stream_manager import events as manager_events
from heron_engine.stream_manager import options as manager_options
from heron_engine.stream_manager.master_session import MasterSession
from heron_engine.topology_master import core as topology_master
from heron_engine.topology_master import events as master_events
from heron_engine.topology_master import options as master_options
from heron_engine.topology_master.manager_links import ManagerLinks
from tests.sim.checkers import owners_of, require
from tests.sim.instances import Said
from tests.sim.network import Channel

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster

CLIENT = b"client"
BATCHES = (FrameKind.DATA, FrameKind.FANOUT)
SEEN_SHARE = 0.1
"""Of the turns of a stream manager with a broken connection with a view of the next master."""
NOTICED_SHARE = 0.2
"""Share of the turns after a break with a notice of the new connection."""


MasterPacket = Packet[messages.Message]


@dataclass(slots=True)
class Line:
    """A stream manager's connection to a master; a new line at each search, and after a break."""

    master: "Master"
    connection: bytes
    up: Channel[MasterPacket]
    down: Channel[MasterPacket]
    closed: bool = False
    """By the stream manager, or by a break: further messages of the master are lost."""
    is_noticed: bool = True
    """Whether the stream manager knows about the new connection."""


def _message(event: manager_events.Event) -> Frames:
    """An event's message of the data plane; None for all further events."""
    if isinstance(event, manager_events.FromPeer):
        return event.frames[1:]  # behind the link frame
    return event.frames if isinstance(event, manager_events.FromInstance) else []


def _carried(each: manager_events.ToLocal | manager_events.ToPeer) -> Sequence[Frames]:
    """Messages merged into one."""
    if isinstance(each, manager_events.ToPeer):
        return [frames for _, frames in each.waiting]
    return split(each.frames)


class Manager:
    """One stream manager's process: stream_manager.server around the real core."""

    def __init__(self, cluster: "Cluster", container: int) -> None:
        self.cluster = cluster
        self.container = container
        self.speed = 1.0
        self.incarnation = cluster.number()
        self.address = f"sim://{container}/{self.incarnation}"
        register = messages.RegisterStreamManager(
            container=container,
            incarnation=self.incarnation,
            address=self.address,
            host="here",
            pid=1,
            epoch=0,
        )
        options = replace(
            manager_options.StreamManagerOptions.of(cluster.topology.config),
            window_bytes=cluster.manners.window_bytes,
            pipelined_bytes=cluster.manners.pipelined_bytes,
            at_once_bytes=cluster.manners.at_once_bytes,
            master_silent_secs=cluster.manners.master_silent_secs,
        )
        self.core = stream_manager.StreamManager(
            cluster.topology, cluster.deployment.places[container], register, options
        )
        self.links: dict[int, tuple[str, Channel[Frames]]] = {}
        self.inbound: list[Channel[Frames]] = []
        self.line: Line | None = None
        self._lines = 0
        self.session: MasterSession[messages.Message] = MasterSession(self.incarnation)
        self._connected: list[int] = []
        self.refused = False
        """By the master: the process ends, and its supervisor starts a new one."""
        self._next_timer = 0.0

    def turn(self) -> bool:
        """Take some messages of one connection; whether the turn had work."""
        now = self.cluster.clock.now
        if now >= self._next_timer:
            self._next_timer = now + self.cluster.rng.uniform(0.02, 0.1)
            self.handle(manager_events.StreamManagerTimer())
        self._look_at_line()
        if self._sees_another_master():
            self.handle(manager_events.MasterReplaced())
        if self.line is None and self.cluster.node and not self.cluster.store_away:
            self._connect_master(self.cluster.node)
        for container in self.core.blocked_peers():
            link = self.links.get(container)
            if link is not None and len(link[1]) < self.cluster.manners.peer_messages_max:
                self.handle(manager_events.PeerWritable(container))
        found = list(self._arrived())
        if not found:
            self.handle(manager_events.InputTaken())
            return False
        for take in self.cluster.rng.sample(found, self.cluster.rng.randint(1, len(found))):
            take()
        self.handle(manager_events.InputTaken())
        return True

    def _arrived(self) -> Iterator[Callable[[], None]]:
        for instance in self.cluster.processes(self.container):
            if instance.data.ready:
                yield partial(self._take_data, instance.task, instance.data)
            if instance.words.ready:
                yield partial(self._take_words, instance.task, instance.words)
        for channel in self.inbound:
            if channel.ready:
                yield partial(self._take_peer, channel)
        if self.line is not None and self.line.down.ready:
            yield partial(self._take_order, self.line)

    def _take_order(self, line: Line) -> None:
        # Of a burst, the rest is lost if the first message closes the connection.
        if line is not self.line:
            return
        taken = self.session.take(line.down.take(), self.cluster.clock.now)
        self.session.validate()
        for each in taken.answers:
            line.up.send(each)
        if taken.message is not None:
            self.handle(manager_events.FromMaster(taken.message))

    def _sees_another_master(self) -> bool:
        """Whether our connection broke, another master is in the state store, and we looked."""
        master = self.cluster.node
        if self.line is None or master is None or self.cluster.store_away:
            return False
        return self.line.master is not master and self.cluster.rng.random() < SEEN_SHARE

    def _connect_master(self, master: "Master") -> None:
        """MasterLink._connect."""
        self.session.found(master.address)
        up, down = self.cluster.control_channel(), self.cluster.control_channel()
        self.line = Line(master, self._connection(), up, down)
        master.lines.append(self.line)
        up.send(self.session.reconnected())
        self.handle(manager_events.MasterConnected(self.session.begin_registration()))

    def _connection(self) -> bytes:
        self._lines += 1
        return f"{self.address}/{self._lines}".encode()

    def reset_line(self) -> None:
        """The connection to the master breaks, and comes again: of what was under way some had
        arrived, some is lost, and some had not left the sender yet."""
        broken = self.line
        if broken is None:
            return
        up, down = self.cluster.control_channel(), self.cluster.control_channel()
        broken.up.lose_middle(up)
        broken.down.lose_last()
        broken.down.move_to(down)
        broken.closed = True
        self.line = Line(broken.master, self._connection(), up, down, is_noticed=False)
        broken.master.lines.append(self.line)
        self.cluster.note(f"the connection of stream manager {self.container} breaks: {len(up)}")

    def _look_at_line(self) -> None:
        """MasterLink.poll and ._connection_changed."""
        if self.session.is_over:
            self.session.renew()
            if self.line is not None:
                self.handle(manager_events.MasterConnected(self.session.begin_registration()))
        line = self.line
        if line is None or line.is_noticed or self.cluster.rng.random() >= NOTICED_SHARE:
            return
        line.is_noticed = True
        line.up.send(self.session.reconnected())

    def _find_master(self) -> None:
        if self.line is not None:
            self.line.up.lose_last()
            self.line.down.clear()
            self.line.closed = True
            self.line = None

    def _take_data(self, task: int, data: Channel[Said]) -> None:
        for _ in range(min(len(data), self.cluster.rng.randint(1, 8))):
            self.handle(manager_events.FromInstance(task, *data.take()))

    def _take_words(self, task: int, words: Channel[Said]) -> None:
        self.handle(manager_events.FromInstanceControl(task, *words.take()))

    def _take_peer(self, channel: Channel[Frames]) -> None:
        for _ in range(min(len(channel), self.cluster.rng.randint(1, 8))):
            self.handle(manager_events.FromPeer(channel.take()))

    def handle(self, event: manager_events.Event) -> None:
        """Server._handle."""
        refused: dict[int, int] = {}
        before = dict(self.core.state.counters)
        instructions = self.core.handle(event, self.cluster.clock.now)
        self.core.validate()
        self._check_routed(event, before)
        self.cluster.rules.after(self, instructions)
        if arrived := _message(event):
            self._check_fence(arrived, instructions)
        for each in instructions:
            if isinstance(each, manager_events.ToPeer):
                self._to_peer(each, refused)
            else:
                self._perform(each)
        for container, number in refused.items():
            self.handle(manager_events.PeerBlocked(container, number))
        while self._connected:
            self.handle(manager_events.PeerWritable(self._connected.pop(0)))

    def _perform(self, instruction: manager_events.Instruction) -> None:
        match instruction:
            case manager_events.ToLocal(task, incarnation, frames):
                self._to_local(task, incarnation, frames)
            case manager_events.ToLocalControl(task, incarnation, message):
                instance = self.cluster.process(self.container, task, incarnation)
                if instance is not None:
                    instance.orders.send(message)
            case manager_events.ToMaster(message):
                packet = self.session.send(message)
                if self.line is not None:
                    self.line.up.send(packet)
            case manager_events.ConnectPeers(addresses):
                self._connect(addresses)
            case manager_events.ApplyPacking(packing):
                self.cluster.rules.process_changed()
                self.cluster.deployment.repacked(self.container, packing)
            case manager_events.FindMaster():
                self.cluster.note(f"stream manager {self.container} looks for the master")
                self._find_master()
            case manager_events.StreamManagerExit(reason):
                # Right only as a late echo of a dead predecessor of the same container.
                require(self.cluster.journal.lossy, reason)
                self.refused = True
            case manager_events.StreamManagerLog(text):
                self.cluster.note(f"stream manager {self.container}: {text}")

    def _check_fence(self, arrived: Frames, instructions: list[manager_events.Instruction]) -> None:
        """Messages of an older epoch are not delivered."""
        for message in split(arrived):
            head = parse_header(message[0])
            if head.kind in BATCHES and head.epoch < self.core.state.fence:
                self._require_unsent(message, instructions)

    def _require_unsent(
        self, message: Frames, instructions: list[manager_events.Instruction]
    ) -> None:
        sent = [
            frame
            for each in instructions
            if isinstance(each, manager_events.ToLocal | manager_events.ToPeer)
            for passed_on in _carried(each)
            for frame in passed_on
        ]
        sent += [
            frame
            for queue in self.core.state.queues.values()
            for each in queue.waiting
            for frame in each
        ]
        found = any(frame is part for frame in sent for part in message[1:])
        require(not found, f"a batch of an older epoch is passed on at {self.core.epoch}")

    def _check_routed(self, event: manager_events.Event, before: dict[str, int]) -> None:
        """Everything finds its task, but for what an update leaves behind by design: anything if
        it went on undrained (seed 50433), else only news of roots whose spout has left.

        A tuple that a bolt holds back may be acked when its root has failed elsewhere (seed 20345)
        or has timed out during the drain (seed 50909); by then the drained spout may be gone. So
        may a task whose process starts amid the update and tells its event time (seed 901207).
        """
        cluster, counters = self.cluster, self.core.state.counters
        if counters["unroutable"] == before["unroutable"] or cluster.journal.undrained:
            return
        is_late = any(counters[each] > before[each] for each in ("fenced", "lost"))
        is_gone = False
        if arrived := _message(event):
            wanted = cluster.deployment.packings.wanted.instances
            for message in split(arrived):
                head = parse_header(message[0])
                is_late |= not owners_of(head, message) <= wanted.keys()
                is_gone |= head.kind == FrameKind.WATERMARK and head.source not in wanted
        allowed = cluster.updates and (is_gone or (is_late and cluster.habits.tracked))
        require(bool(allowed), f"unroutable in container {self.container}: {event}")

    def _to_local(self, task: int, incarnation: int, frames: Frames) -> None:
        instance = self.cluster.process(self.container, task, incarnation)
        if instance is not None:
            instance.inbox.send(frames)

    def _to_peer(self, each: manager_events.ToPeer, refused: dict[int, int]) -> None:
        cluster, link = self.cluster, self.links.get(each.container)
        if each.container not in refused and link is not None:
            full = len(link[1]) >= cluster.manners.peer_messages_max
            if not full and cluster.rng.random() >= cluster.refusing_share:
                link[1].send(each.frames)
                return
        refused[each.container] = refused.get(each.container) or each.number

    def _connect(self, addresses: Any) -> None:
        for container in self.links.keys() - addresses.keys():
            self.links.pop(container)[1].clear()
        for container, address in addresses.items():
            known = self.links.get(container)
            if known is not None and known[0] == address:
                continue
            if known is not None:
                known[1].clear()
            channel: Channel[Frames] = Channel(
                self.cluster.clock, self.cluster.rng, 0.0, self.cluster.manners.repeated_share
            )
            channel.breaking_share = self.cluster.breaking_share
            channel.cut = (self.container, container) in self.cluster.cuts
            channel.loses = (self.container, container) in self.cluster.drops
            self.links[container] = address, channel
            peer = self.cluster.managers.get(container)
            if peer is not None and peer.address == address:
                peer.inbound.append(channel)
            self._connected.append(container)

    def died(self) -> None:
        """Messages under way from and to this process are lost, the nearer part."""
        for instance in self.cluster.processes(self.container):
            instance.data.lose_first()
            instance.words.lose_first()
            instance.inbox.lose_last()
            instance.orders.lose_last()
        for _, channel in self.links.values():
            channel.lose_last()
        self._find_master()


class Master:
    """The topology master's process: topology_master.server around the real core."""

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster
        self.speed = 1.0
        self.address = f"sim://master/{cluster.number()}"
        self.links: ManagerLinks[messages.Message] = ManagerLinks()
        options = replace(
            master_options.MasterOptions.of(cluster.topology.config),
            probe_interval_secs=0.1,
            probe_patience_secs=0.3,
            lost_after_secs=0.5,
            takeover_secs=0.5,
            deactivate_wait_secs=cluster.manners.drain_secs,
            blocked_secs=cluster.manners.blocked_secs,
        )
        known = cluster.stored_plan
        previous = None if known is None else physical_from_json(json.loads(known))
        self.core = topology_master.TopologyMaster(
            cluster.topology,
            packing_from_json(json.loads(cluster.stored_packing)),
            options,
            previous,
            cluster.stored_execution,
            checkpoints=cluster.stored_checkpoints,
        )
        self._next_timer = 0.0
        self._answers: list[messages.Reply] = []
        self.arrived: list[master_events.Event] = []
        """Results of a thread's reads of the checkpoint store, and questions of clients."""
        self.replies: list[tuple[bytes, messages.Reply]] = []  # to other clients
        self.lines: list[Line] = []
        self._pending: dict[str, Any] = {}
        """Pending writes to the state store."""
        self._reload = previous is not None
        self.cut_off = False
        """Its session with the state store is lost: writes are refused."""

    def turn(self) -> bool:
        now = self.cluster.clock.now
        if now >= self._next_timer:
            self._next_timer = now + 0.02
            self._write_pending()
            self._handle(master_events.MasterTimer(stored=not self._pending))
        arrived, self.arrived = self.arrived, []
        for each in arrived:
            self._handle(each)
        found = bool(arrived)
        for line in self.lines:
            while line.up.ready:
                found = True
                self._receive(line.connection, line.up.take())
        return found

    def _receive(self, connection: bytes, packet: MasterPacket) -> None:
        """Server._receive."""
        arrived = self.links.take(connection, packet, self.cluster.clock.now)
        self.links.validate()
        for each in arrived.packets:
            self._transmit(*each)
        if arrived.message is not None:
            message: Any = arrived.message
            self._handle(master_events.MasterReceived(arrived.sender, message))

    def _transmit(self, connection: bytes, packet: MasterPacket) -> None:
        for line in self.lines:
            if line.connection == connection and not line.closed:
                line.down.send(packet)

    def _handle(self, event: master_events.Event) -> None:
        instructions = self.core.handle(event, self.cluster.clock.now)
        self.core.validate()
        for each in instructions:
            match each:
                case master_events.Send(receiver, message):
                    self._send(receiver, message)
                case master_events.StorePlan(plan):
                    self._reload = True
                    self._put("stored_plan", json.dumps(plan))
                case master_events.StorePacking(packing):
                    self._reload = True
                    self._put("stored_packing", json.dumps(packing))
                case master_events.StoreState(state, reason, draining, update):
                    self.cluster.note(f"state {state} {reason} {update}")
                    told = {"state": state, "draining": draining, "update": update}
                    self._put("stored_execution", told)
                case master_events.StoreCheckpoints(checkpoints):
                    self._put("stored_checkpoints", json.loads(json.dumps(checkpoints)))
                case master_events.SeekStates(number, tasks):
                    self.arrived.append(self.cluster.states.sought(number, tasks))
                case master_events.DiscardCheckpoint(number):
                    self.cluster.states.discard("sim", number)
                case master_events.WriteEvent(written):
                    self.cluster.note(f"event: {written.what}: {written.why}")
                case master_events.MasterLog(text):
                    self.cluster.note(f"master: {text}")
                    if "proceeding" in text:
                        self.cluster.journal.undrained = True

    def _put(self, name: str, value: Any) -> None:
        self._pending[name] = value
        self._write_pending()

    def _write_pending(self) -> None:
        if self.cut_off or self.cluster.store_away:
            return
        for name, value in self._pending.items():
            setattr(self.cluster, name, value)
        self._pending.clear()
        if self._reload:
            self._reload = False
            self.cluster.deployment.reload()

    def ask(self, command: str, arguments: Any) -> messages.Reply:
        """A command, as from the command line."""
        event = master_events.MasterReceived(CLIENT, messages.Command(command, arguments))
        self._handle(event)
        return self._answers.pop()

    def _send(self, receiver: bytes, message: Any) -> None:
        if receiver == CLIENT:
            self._answers.append(message)
        elif isinstance(message, messages.Reply):
            self.replies.append((receiver, message))
        is_kept = not isinstance(message, messages.HeartbeatAck)
        packet = self.links.send(receiver, message, is_kept=is_kept)
        if packet is not None:
            self._transmit(*packet)

    def died(self) -> None:
        """Unsent messages are lost; later ones stay unread."""
        for line in self.lines:
            line.down.lose_last()
        self.cluster.note(f"the master dies: {self.core.phase.value}")
