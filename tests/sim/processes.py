"""The processes of a simulated cluster: real cores, and around each what its server.py does.

What stands here beside the cores is a copy of those files, call by call: an instance's main loop
and side thread, a stream manager's sockets, the master's router.
"""

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from heron_core import messages
from heron_core.frames import Frames, Kind, header, parse_header, size_of, with_consumed
from heron_core.plans import TopologyState, physical_from_json
from heron_instance.bolt import BoltCore
from heron_instance.build import World, build
from heron_instance.spout import SpoutCore
from sim.checkers import require
from sim.network import Channel
from stream_manager import core as stream_manager
from stream_manager import events as manager_events
from stream_manager import options as manager_options
from topology_master import core as topology_master
from topology_master import events as master_events
from topology_master import options as master_options

if TYPE_CHECKING:
    from sim.cluster import Cluster

LOCAL_MESSAGES_MAX = 16
"""heron_io.transport.LOCAL_HWM: an instance waits when so many messages are not taken."""
BEAT_SECS = 0.5

log = logging.getLogger("sim")
log.addHandler(logging.NullHandler())
log.propagate = False

Said = tuple[int, Any]
"""What an instance says travels with the number of the process that said it."""


class Instance:
    """One instance's process: heron_instance.server and .control around the real core."""

    def __init__(
        self, cluster: "Cluster", task: int, words: Channel[Said], data: Channel[Said]
    ) -> None:
        self.cluster = cluster
        self.task = task
        self.incarnation = cluster.number()
        self.speed = 1.0
        self.words = words
        """To the stream manager: what predecessors said is in front."""
        self.data = data
        self.orders: Channel[Any] = cluster.control_channel()
        self.inbox: Channel[Frames] = Channel(cluster.clock, cluster.rng)
        self.epoch = 0
        self.addresses: Any = None
        self.active = False
        self.paused = False
        self.todo: deque[Callable[[], None]] = deque()
        self.told = False
        self._unreported = self._unreported_bytes = 0
        self._at_rest = False
        """A bolt that has reported all and got nothing since: there is nothing it could do."""
        world = World(cluster.clock, Random(cluster.rng.random()), self._send, self._admit, log)
        self.built = build(cluster.topology, cluster.packing, task, world)
        self.core = self.built.core
        self._next_beat = 0.0
        self._say(self._hello())

    def _hello(self) -> messages.Hello:
        return messages.Hello(self.task, self.incarnation, 1)

    @property
    def may_send(self) -> bool:
        """Control.may_send."""
        return bool(self.epoch) and not self.paused

    def _send(self, frames: Frames) -> None:
        if frames[0][2] in (Kind.DATA, Kind.FANOUT):
            self.cluster.rules.emitted(self, frames)
        if self._unreported:
            frames[0] = with_consumed(frames[0], self._unreported)
            self._unreported = self._unreported_bytes = 0
        self.data.send((self.incarnation, frames))

    def _say(self, message: messages.FromInstance) -> None:
        self.words.send((self.incarnation, message))

    def _admit(self) -> None:
        require(self.may_send, f"task {self.task} emits while it is paused or has no plan")

    # --- side thread --------------------------------------------------------------------------

    def side(self) -> bool:
        """What the side thread does: beats, and answers at once."""
        found = False
        while self.orders.ready:
            found = True
            self._order(self.orders.take())
        if self.cluster.clock.now >= self._next_beat:
            self._next_beat = self.cluster.clock.now + BEAT_SECS
            self._say(self._beat())
        return found

    def _order(self, message: Any) -> None:
        match message:
            case messages.Plan(plan):
                if self.addresses not in (None, plan["stream_managers"]):
                    self.todo.append(self._trees_lost)
                self.addresses = plan["stream_managers"]
                self.epoch = plan["epoch"]
                self.active = plan["state"] == TopologyState.RUNNING
                self.core.plan_changed(self.epoch)
                self.todo.append(self._take_plan)
            case messages.Pause(on):
                self.paused = on
            case messages.Resync():
                self._say(self._hello())
                self.todo.append(self._trees_lost)
            case messages.Probe(wave):
                counts = messages.Counts(self.task, wave, *self.core.counts())
                self._say(self._beat())
                self._say(counts)
            case messages.FinishBolts():
                self.todo.append(self._finish_bolt)
            case _:
                raise AssertionError(message)

    def _beat(self) -> messages.Beat:
        now = self.cluster.clock.now
        more = {"at": now, "incarnation": self.incarnation, "pid": 1, "user": {}}
        return messages.Beat(self.task, {**self.core.statistics(), **more})

    def _take_plan(self) -> None:
        if isinstance(self.core, BoltCore):
            self.core.start(self.cluster.clock.now)
        elif isinstance(self.core, SpoutCore):
            self.core.set_active(self.active)

    def _trees_lost(self) -> None:
        if isinstance(self.core, SpoutCore):
            self.core.fail_all()

    def _finish_bolt(self) -> None:
        if isinstance(self.core, BoltCore):
            self.core.finish()
            self._say(messages.BoltFinished(self.task))

    # --- main thread --------------------------------------------------------------------------

    def turn(self) -> bool:
        """One round of the main loop; whether there was anything to do."""
        answered = self.side()
        if len(self.data) >= LOCAL_MESSAGES_MAX:
            return answered
        if isinstance(self.core, SpoutCore):
            return self._spout_turn(self.core) or answered
        assert isinstance(self.core, BoltCore)
        return self._bolt_turn(self.core) or answered

    def _run_todo(self) -> bool:
        found = bool(self.todo)
        while self.todo:
            self.todo.popleft()()
        return found

    def _spout_turn(self, core: SpoutCore) -> bool:
        found = self._run_todo()
        while self.inbox.ready:
            found = True
            core.deliver(self.inbox.take())
        if core.finished is not self.told:
            self.told = core.finished
            self._say(messages.SpoutFinished(self.task, core.finished))
        if not self.may_send or not core.may_emit:
            return found
        return core.turn(self.cluster.clock.now + 0.001) or found

    def _bolt_turn(self, core: BoltCore) -> bool:
        if not self.may_send:
            # Of the calls that wait some send; they would block in the middle, here they wait.
            core.outbox.flush_acks()
            return False
        found = self._run_todo()
        if not self.inbox.ready:
            if self._at_rest and not found:
                return False
            core.tick(self.cluster.clock.now)
            self._at_rest = not self._report_consumed()
            return found or not self._at_rest
        self._at_rest = False
        frames = self.inbox.take()
        core.deliver(frames)
        self._unreported += 1
        self._unreported_bytes += size_of(frames)
        if self._unreported_bytes >= self.cluster.manners.consumed_bytes:
            self._report_consumed()
        return True

    def _report_consumed(self) -> bool:
        before = len(self.data)
        self.core.flush()
        if self._unreported:
            self._send([header(Kind.CONSUMED, self.epoch, self.task, 0, 0)])
        return len(self.data) > before

    def died(self) -> None:
        """What had not left the process is gone."""
        self.data.lose_last()
        self.words.lose_last()


@dataclass(slots=True)
class Line:
    """A stream manager's connection to a master; a new one each time that it looks for it."""

    sender: bytes
    up: Channel[Any]
    down: Channel[Any]
    closed: bool = False
    """By the stream manager: what the master still says here is lost."""


class Manager:
    """One stream manager's process: stream_manager.server around the real core."""

    def __init__(self, cluster: "Cluster", container: int) -> None:
        self.cluster = cluster
        self.container = container
        self.speed = 1.0
        self.incarnation = cluster.number()
        self.address = f"sim://{container}/{self.incarnation}"
        register = messages.Register(container, self.incarnation, self.address, "here", 1, 0)
        options = replace(
            manager_options.Options.of(cluster.topology.config),
            window_bytes=cluster.manners.window_bytes,
            master_silent_secs=cluster.manners.master_silent_secs,
        )
        self.core = stream_manager.StreamManager(
            cluster.topology, cluster.packing, register, options
        )
        self.tasks = [each.task for each in cluster.packing.container(container).instances]
        self.links: dict[int, tuple[str, Channel[Frames]]] = {}
        self.inbound: list[Channel[Frames]] = []
        self.line: Line | None = None
        self._lines = 0
        self._connected: list[int] = []
        self.refused = False
        """By the master: it ends, and its supervisor starts another one."""
        self._next_timer = 0.0

    def turn(self) -> bool:
        """Take some messages of one connection; whether there was anything to do."""
        now = self.cluster.clock.now
        if now >= self._next_timer:
            self._next_timer = now + self.cluster.rng.uniform(0.02, 0.1)
            self.handle(manager_events.Timer())
        if self.line is None and self.cluster.node and not self.cluster.store_away:
            self._connect_master(self.cluster.node)
        for container in self.core.blocked_peers():
            link = self.links.get(container)
            if link is not None and len(link[1]) < self.cluster.manners.peer_messages_max:
                self.handle(manager_events.PeerWritable(container))
        found = list(self._arrived())
        if not found:
            return False
        for take in self.cluster.rng.sample(found, self.cluster.rng.randint(1, len(found))):
            take()
        return True

    def _arrived(self) -> Iterator[Callable[[], None]]:
        for task in self.tasks:
            instance = self.cluster.instances[task]
            if instance.data.ready:
                yield partial(self._take_data, task, instance.data)
            if instance.words.ready:
                yield partial(self._take_words, task, instance.words)
        for channel in self.inbound:
            if channel.ready:
                yield partial(self._take_peer, channel)
        if self.line is not None and self.line.down.ready:
            yield partial(self._take_order, self.line)

    def _take_order(self, line: Line) -> None:
        # Of what comes in one go, the rest is lost if the first closes the connection.
        if line is self.line:
            self.handle(manager_events.FromMaster(line.down.take()))

    def _connect_master(self, master: "Master") -> None:
        self._lines += 1
        sender = f"{self.address}/{self._lines}".encode()
        self.line = Line(sender, self.cluster.control_channel(), self.cluster.control_channel())
        master.lines.append(self.line)
        self.handle(manager_events.MasterConnected())

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
        unsent: dict[int, list[tuple[int, Frames]]] = {}
        instructions = self.core.handle(event, self.cluster.clock.now)
        self.cluster.rules.after(self, instructions)
        if isinstance(event, manager_events.FromInstance | manager_events.FromPeer):
            self._check_fence(event.frames, instructions)
        for each in instructions:
            if isinstance(each, manager_events.ToPeer):
                self._to_peer(each, unsent)
            else:
                self._perform(each)
        for container, refused in unsent.items():
            self.handle(manager_events.PeerBlocked(container, refused))
        while self._connected:
            self.handle(manager_events.PeerWritable(self._connected.pop(0)))

    def _perform(self, instruction: manager_events.Instruction) -> None:
        match instruction:
            case manager_events.ToLocal(task, incarnation, frames):
                self._to_local(task, incarnation, frames)
            case manager_events.ToLocalControl(task, incarnation, message):
                instance = self.cluster.instances[task]
                if instance.incarnation == incarnation:
                    instance.orders.send(message)
            case manager_events.ToMaster(message):
                if self.line is not None:
                    self.line.up.send(message)
            case manager_events.ConnectPeers(addresses):
                self._connect(addresses)
            case manager_events.FindMaster():
                self.cluster.note(f"stream manager {self.container} looks for the master")
                self._find_master()
            case manager_events.Exit(reason):
                # Right only as a late echo of a dead predecessor of the same container.
                require(self.cluster.journal.lossy, reason)
                self.refused = True
            case manager_events.Log(text):
                self.cluster.note(f"stream manager {self.container}: {text}")

    def _check_fence(self, arrived: Frames, instructions: list[manager_events.Instruction]) -> None:
        """What arrives with an older epoch is not delivered."""
        head = parse_header(arrived[0])
        if head.kind not in (Kind.DATA, Kind.FANOUT) or head.epoch >= self.core.epoch:
            return
        for each in instructions:
            if isinstance(each, manager_events.ToLocal | manager_events.ToPeer):
                passed_on = any(frame is part for frame in each.frames for part in arrived[1:])
                require(not passed_on, f"a batch of epoch {head.epoch} at {self.core.epoch}")

    def _to_local(self, task: int, incarnation: int, frames: Frames) -> None:
        instance = self.cluster.instances[task]
        if instance.incarnation == incarnation:
            instance.inbox.send(frames)

    def _to_peer(
        self, each: manager_events.ToPeer, unsent: dict[int, list[tuple[int, Frames]]]
    ) -> None:
        cluster, link = self.cluster, self.links.get(each.container)
        if each.container not in unsent and link is not None:
            full = len(link[1]) >= cluster.manners.peer_messages_max
            if not full and cluster.rng.random() >= cluster.refusing_share:
                link[1].send(each.frames)
                return
        unsent.setdefault(each.container, []).append((each.destination, each.frames))

    def _connect(self, addresses: Any) -> None:
        for container, address in addresses.items():
            known = self.links.get(container)
            if known is not None and known[0] == address:
                continue
            if known is not None:
                known[1].clear()
            channel: Channel[Frames] = Channel(self.cluster.clock, self.cluster.rng)
            channel.cut = (self.container, container) in self.cluster.cuts
            self.links[container] = address, channel
            peer = self.cluster.managers.get(container)
            if peer is not None and peer.address == address:
                peer.inbound.append(channel)
            self._connected.append(container)

    def died(self) -> None:
        """What is under way from and to this process is lost, the nearer part of it."""
        for task in self.tasks:
            instance = self.cluster.instances[task]
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
        options = replace(
            master_options.Options.of(cluster.topology.config),
            wave_secs=0.1,
            wave_patience_secs=0.3,
            quiet_secs=0.5,
            takeover_secs=0.5,
        )
        known = cluster.stored_plan
        previous = None if known is None else physical_from_json(json.loads(known))
        self.core = topology_master.TopologyMaster(
            cluster.topology, cluster.packing, options, previous
        )
        self._next_timer = 0.0
        self.lines: list[Line] = []
        self._pending: str | None = None
        """A plan that the state store has still to be given."""
        self.cut_off = False
        """Its session with the state store is lost: it can write nothing there."""

    def turn(self) -> bool:
        """Take what has arrived."""
        now = self.cluster.clock.now
        if now >= self._next_timer:
            self._next_timer = now + 0.02
            self._write_pending()
            self._handle(master_events.Timer())
        found = False
        for line in self.lines:
            while line.up.ready:
                found = True
                self._handle(master_events.Received(line.sender, line.up.take()))
        return found

    def _handle(self, event: master_events.Event) -> None:
        for each in self.core.handle(event, self.cluster.clock.now):
            match each:
                case master_events.Send(receiver, message):
                    self._send(receiver, message)
                case master_events.StorePlan(plan):
                    self._pending = json.dumps(plan)
                    self._write_pending()
                case master_events.StoreState(state, reason):
                    self.cluster.note(f"state {state} {reason}")

    def _write_pending(self) -> None:
        if self._pending is not None and not self.cut_off and not self.cluster.store_away:
            self.cluster.stored_plan, self._pending = self._pending, None

    def _send(self, receiver: bytes, message: Any) -> None:
        for line in self.lines:
            if line.sender == receiver and not line.closed:
                line.down.send(message)

    def died(self) -> None:
        """What had not left it is lost; nobody reads what comes now."""
        for line in self.lines:
            line.down.lose_last()
        self.cluster.note(f"the master dies: {self.core.phase.value}")
