"""The stream manager's decisions: `handle(event, now)` returns what to do, and does nothing itself.

Batches are forwarded by their header and never decoded. For each local spout it holds the ack
trees, for each local instance a queue with a window, for each peer a queue for when its socket is
full; queues over their high-water mark name causes of back-pressure.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from heron_core.config import DROP
from heron_core.errors import ProtocolError
from heron_core.exit_codes import ExitCode
from heron_core.plans import PackingPlan, PhysicalPlan, physical_from_json
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from heron_core.wire.batch import (
    beginnings,
    check_batch,
    check_fanout,
    roots_of,
    split_fanout,
    targets_of,
)
from heron_core.wire.frames import Frames, Header, Kind, header_of, root_owner
from heron_core.wire.packets import decode_control, decode_pairs, encode_control, encode_roots
from stream_manager import events
from stream_manager.ack_results import Results
from stream_manager.acks import Trees
from stream_manager.backpressure import BackPressure
from stream_manager.container_state import Places
from stream_manager.options import Options

Out = list[events.Instruction]

TOLD_EVERY_SECS = 60.0
"""Malformed messages are counted each, and told of once a minute."""
COUNTERS = ("forwarded", "fenced", "dropped", "unroutable", "malformed", "lost", "superseded")


class StreamManager:
    """State of one container's stream manager."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        identity: messages.RegisterStreamManager,
        options: Options,
    ) -> None:
        self.options = options
        self.container = identity.container
        self.plan: PhysicalPlan | None = None
        self._plan_message = messages.Plan({})
        self.epoch = 0
        self._identity = identity
        self._places = Places(topology, packing, self.container, options)
        self._queues, self._trees = self._places.queues, self._places.trees
        self._peers = self._places.peers
        self._fence = 0
        """Frames of plans before this epoch are leftovers of processes that are gone."""
        self._results = Results(self._places, options)
        self._pressure = BackPressure(topology, packing, self.container, options.backpressure)
        self._now = 0.0
        self._tell_malformed_at = 0.0
        self._causes: set[int] = set()
        """Local tasks named as causes by this stream manager."""
        self._snapshots: dict[int, messages.Json] = {}
        self._next_heartbeat = 0.0
        self._master_seen: float | None = None
        self._wave: messages.QuiescenceProbe | None = None
        """The newest wave: an instance that comes after it answers it all the same."""
        self._finishing: set[int] = set()
        """Local bolts that are to finish and have not said that they have."""
        self.counters = dict.fromkeys(COUNTERS, 0)
        self._by_kind = self._message_handlers()
        self._by_event = self._event_handlers()

    def _message_handlers(self) -> dict[int, Callable[[Header, Frames, Out], None]]:
        return {
            Kind.DATA: self._data,
            Kind.FANOUT: self._fanout,
            Kind.INIT: self._init,
            Kind.ACK: self._settle,
            Kind.FAIL: self._settle,
            Kind.CONSUMED: lambda head, frames, out: None,
            Kind.CONTROL: self._peer_control,
        }

    def _event_handlers(self) -> dict[type, Callable[[Any, float, Out], None]]:
        return {
            events.FromInstance: self._from_instance,
            events.FromPeer: self._from_peer,
            events.FromInstanceControl: self._instance_control,
            events.FromMaster: self._from_master,
            events.Malformed: lambda event, now, out: self._malformed(event.reason, out),
            events.MasterConnected: self._master_connected,
            events.PeerBlocked: self._peer_blocked,
            events.PeerWritable: self._peer_writable,
            events.Timer: self._timer,
        }

    def handle(self, event: events.Event, now: float) -> Out:
        """What to do about `event`; `now` in seconds of any monotonic clock."""
        out: Out = []
        self._now = now
        self._by_event[type(event)](event, now, out)
        return out

    # --- data plane ---------------------------------------------------------------------------

    def _from_instance(self, event: events.FromInstance, now: float, out: Out) -> None:
        if self._is_stranger(event.task, event.incarnation, out):
            return
        head = self._message(event.frames, out)
        if head is not None and head.consumed:
            queue = self._queues.get(event.task)
            if queue is not None and queue.incarnation == event.incarnation:
                self._consumed(event.task, head.consumed, out)

    def _is_stranger(self, task: int, incarnation: int, out: Out) -> bool:
        """Whether this comes from a process that is not of this container, or that another one has
        replaced: that one is told to end."""
        queue = self._queues.get(task) or self._places.former.get(task)
        if queue is None:
            self._malformed(f"task {task} is not in this container", out)
            return True
        if incarnation not in queue.superseded:
            return False
        self.counters["superseded"] += 1
        out.append(
            events.ToLocalControl(
                task,
                incarnation,
                messages.Superseded(f"task {task} is served by another process now"),
            )
        )
        return True

    def _from_peer(self, event: events.FromPeer, now: float, out: Out) -> None:
        self._message(event.frames, out)

    def _message(self, frames: Frames, out: Out) -> Header | None:
        try:
            head = header_of(frames)
            self._by_kind[head.kind](head, frames, out)
            return head
        except (ProtocolError, KeyError, IndexError, ValueError) as error:
            self._malformed(repr(error), out)
            return None

    def _malformed(self, reason: str, out: Out) -> None:
        self.counters["malformed"] += 1
        if self._now >= self._tell_malformed_at:
            self._tell_malformed_at = self._now + TOLD_EVERY_SECS
            out.append(events.Log(f"dropped a malformed message: {reason}"))

    def _data(self, head: Header, frames: Frames, out: Out) -> None:
        check_batch(head, frames)
        begun = beginnings(head, frames)
        if begun is not None and head.source in self._trees:
            self._trees[head.source].begin(begun)
        if head.epoch < self._fence:
            self._leftover(head, frames, out)
            return
        container = self._places.container_of(head.destination)
        if container is None:
            self._unroutable(frames, out)
            return
        self.counters["forwarded"] += 1
        if container != self.container:
            self._to_peer(container, head.destination, frames, out)
            return
        self._to_instance(head.destination, frames, out)

    def _to_instance(self, task: int, frames: Frames, out: Out) -> None:
        queue = self._queues[task]
        full = queue.waiting_bytes > self.options.high_water_bytes
        if full and self.options.backpressure == DROP:
            self._drop(frames, out)
        elif queue.offer(frames):
            out.append(events.ToLocal(task, queue.incarnation or 0, frames))
        elif queue.waiting_bytes > self.options.high_water_bytes and task not in self._causes:
            self._causes.add(task)
            self._announce(messages.BackPressureCause(task, True), out)

    def _fanout(self, head: Header, frames: Frames, out: Out) -> None:
        """One batch for several tasks of one container: split there, each with its own edges."""
        targets = targets_of(frames)
        check_fanout(head, frames, targets)
        home = self._places.packing.container_of
        moved = any(home.get(task) != head.destination for task in targets)
        if moved and head.epoch >= self.epoch:
            raise ProtocolError(f"a fan-out to tasks that are not in container {head.destination}")
        if head.epoch < self._fence:
            self._leftover(head, frames, out)
        elif moved:
            self._unroutable(frames, out)
        elif head.destination != self.container:
            self.counters["forwarded"] += 1
            # They all are of one component, so any of them will do as a cause.
            self._to_peer(head.destination, targets[0], frames, out)
        else:
            for task, found in split_fanout(head, frames, targets):
                self.counters["forwarded"] += 1
                self._to_instance(task, found, out)

    def _to_peer(self, container: int, destination: int, frames: Frames, out: Out) -> None:
        if self._peers.send(container, destination, frames, out):
            self._check_peer(container, {destination}, out)
        else:
            self._drop(frames, out)

    def _check_peer(self, container: int, newest: set[int], out: Out) -> None:
        for cause in self._peers.changed_causes(container, newest):
            self._announce(cause, out)

    def _peer_blocked(self, event: events.PeerBlocked, now: float, out: Out) -> None:
        if event.container in self._peers:
            self._peers[event.container].put_back(event.unsent)
            self._check_peer(event.container, {task for task, _ in event.unsent}, out)

    def _peer_writable(self, event: events.PeerWritable, now: float, out: Out) -> None:
        if event.container in self._peers:
            burst = self._peers[event.container].burst()
            out.extend(events.ToPeer(event.container, *found) for found in burst)
            self._check_peer(event.container, set(), out)

    def _leftover(self, head: Header, frames: Frames, out: Out) -> None:
        """What is older than the fence is not delivered; its roots fail, so they are replayed."""
        self.counters["fenced"] += 1
        self._fail_roots(frames, out)

    def _unroutable(self, frames: Frames, out: Out) -> None:
        """Its task is not there any more: what a tick sent in the moment of a scaling, or what was
        still in flight after the drain's time."""
        self.counters["unroutable"] += 1
        self._fail_roots(frames, out)

    def _drop(self, frames: Frames, out: Out) -> None:
        """Mode drop: what finds the queue full is lost, and its roots are told so."""
        head = header_of(frames)
        copies = len(targets_of(frames)) if head.kind == Kind.FANOUT else 1
        self.counters["dropped"] += head.items * copies
        self._fail_roots(frames, out)

    def _fail_roots(self, frames: Frames, out: Out) -> None:
        """Fail all roots of a batch that is lost, at the spouts that own them."""
        owners: dict[int, list[int]] = {}
        for root in roots_of(header_of(frames), frames):
            owners.setdefault(root_owner(root), []).append(root)
        for owner, failed in owners.items():
            self._message(encode_roots(Kind.FAIL, self.epoch, 0, owner, failed), out)

    # --- acks ---------------------------------------------------------------------------------

    def _init(self, head: Header, frames: Frames, out: Out) -> None:
        self._trees[head.source].begin(decode_pairs(head, frames))

    def _settle(self, head: Header, frames: Frames, out: Out) -> None:
        """Acks and fails go to the stream manager that holds the trees of the owning spout."""
        container = self._places.container_of(head.destination)
        if container is None:
            self.counters["unroutable"] += 1
            return
        if container != self.container:
            self._to_peer(container, 0, frames, out)
            return
        self._results.settle(head, frames, out)

    def _consumed(self, task: int, messages_processed: int, out: Out) -> None:
        self._queues[task].processed(messages_processed)
        self._hand_over(task, out)

    def _hand_over(self, task: int, out: Out) -> None:
        """What the window lets through; with that the queue may stop being a cause."""
        queue = self._queues[task]
        while (waiting := queue.next()) is not None:
            out.append(events.ToLocal(task, queue.incarnation or 0, waiting))
        if task in self._causes and queue.waiting_bytes <= self.options.low_water_bytes:
            self._causes.remove(task)
            self._announce(messages.BackPressureCause(task, False), out)

    # --- back-pressure ------------------------------------------------------------------------

    def _announce(self, cause: messages.BackPressureCause, out: Out) -> None:
        """A cause of ours appears or is lifted: all peers hear of it, and our own instances."""
        for container in self._peers:
            self._to_peer(container, 0, self._cause_frames(cause), out)
        self._apply_cause(self.container, cause, out)

    def _cause_frames(self, cause: messages.BackPressureCause) -> Frames:
        return encode_control(self.epoch, self.container, cause.task, cause)

    def _peer_control(self, head: Header, frames: Frames, out: Out) -> None:
        message = decode_control(frames)
        if not isinstance(message, messages.BackPressureCause) or head.source not in self._peers:
            raise ProtocolError(f"no word of a peer: {message!r:.100} from {head.source}")
        self._apply_cause(head.source, message, out)

    def _apply_cause(self, announcer: int, cause: messages.BackPressureCause, out: Out) -> None:
        change = self._pressure.on if cause.on else self._pressure.off
        for task in change(announcer, cause.task, self._now):
            self._control(task, messages.Pause(cause.on), out)

    def _peer_replaced(self, container: int, out: Out) -> None:
        """A new stream manager there: its predecessor's causes are gone, ours it has to hear."""
        for task in self._pressure.forget(container, self._now):
            self._control(task, messages.Pause(False), out)
        self._tell_causes(container, out)

    def _tell_causes(self, container: int, out: Out) -> None:
        """A peer has to hear of the causes that we have named."""
        for task in sorted(self._causes | self._peers.causes):
            frames = self._cause_frames(messages.BackPressureCause(task, True))
            self._to_peer(container, 0, frames, out)

    # --- control plane ------------------------------------------------------------------------

    def _control(self, task: int, message: messages.ToInstance, out: Out) -> None:
        incarnation = self._queues[task].incarnation
        if incarnation is not None:
            out.append(events.ToLocalControl(task, incarnation, message))

    def _to_all(self, message: messages.ToInstance, out: Out) -> None:
        for task in self._queues:
            self._control(task, message, out)

    def _instance_control(self, event: events.FromInstanceControl, now: float, out: Out) -> None:
        message = event.message
        if (
            self._is_stranger(event.task, event.incarnation, out)
            or event.task in self._places.former
        ):
            return
        match message:
            case _ if getattr(message, "task", None) != event.task:
                self._malformed(f"task {event.task} speaks for another: {message!r:.100}", out)
            case messages.RegisterInstance():
                self._hello(message, out)
            case messages.InstanceHeartbeat(task, metrics):
                self._beat(task, event.incarnation, metrics, out)
            case messages.QuiescenceReport(task):
                # The numbers that the master shows at the end are those it counted.
                latest = {task: self._snapshots[task]} if task in self._snapshots else {}
                out.append(events.ToMaster(self._beat_of(latest)))
                out.append(events.ToMaster(message))
            case messages.BoltFinished(task):
                self._finishing.discard(task)
                out.append(events.ToMaster(message))
            case messages.SpoutFinished() | messages.InstanceFailed():
                out.append(events.ToMaster(message))

    def _beat(self, task: int, incarnation: int, metrics: messages.Json, out: Out) -> None:
        if task not in self._snapshots:
            self._next_heartbeat = 0.0  # the master shall know at once that it is there
        self._snapshots[task] = metrics
        if self._queues[task].incarnation != incarnation:
            # It was served by the stream manager that died before us. So was the one that is
            # registered, if there is one: whichever registers last stays, the other one ends.
            out.append(events.ToLocalControl(task, incarnation, messages.Resync()))

    def _hello(self, hello: messages.RegisterInstance, out: Out) -> None:
        queue = self._queues[hello.task]
        if queue.incarnation == hello.incarnation:
            return
        if hello.task in self._trees and queue.incarnation is not None:
            # Whatever the predecessor emitted, nobody is there to be told of it any more. Trees
            # from before a first registration are its own: data and control are two connections.
            self._trees[hello.task] = Trees(self.options.expiry_buckets)
        lost = queue.replaced(hello.incarnation)
        for frames in lost:
            self.counters["lost"] += 1
            self._fail_roots(frames, out)
        self._pressure.seen(hello.task, self._now)
        # Before the plan, which lets it emit. It may also have been paused by the stream manager
        # before us, for a cause that is gone.
        self._control(hello.task, messages.Pause(self._pressure.is_paused(hello.task)), out)
        if self.plan is not None:
            self._control(hello.task, self._plan_message, out)
        if self._wave is not None:
            self._control(hello.task, self._wave, out)
        if hello.task in self._finishing:
            self._control(hello.task, messages.FinishBolts((hello.task,)), out)
        self._results.hello(hello.task, hello.incarnation, out)
        self._hand_over(hello.task, out)

    def blocked_peers(self) -> list[int]:
        """Peers whose socket is to be watched until it takes messages again."""
        return self._peers.blocked

    def _master_connected(self, event: events.MasterConnected, now: float, out: Out) -> None:
        self._master_seen = now
        out.append(events.ToMaster(replace(self._identity, epoch=self.epoch)))

    def _from_master(self, event: events.FromMaster, now: float, out: Out) -> None:
        self._master_seen = now
        match event.message:
            case messages.Plan(plan):
                try:
                    self._take_plan(plan, out)
                except ProtocolError as error:
                    self._malformed(str(error), out)
            case messages.QuiescenceProbe() as probe:
                self._wave = probe
                self._to_all(probe, out)
            case messages.FinishBolts(tasks):
                for task in set(tasks) & set(self._queues):
                    self._finishing.add(task)
                    self._control(task, messages.FinishBolts((task,)), out)
            case messages.Ping():
                out.append(events.ToMaster(messages.Pong(self.container)))
            case messages.RegistrationRejected(reason):
                out.append(
                    events.Exit(f"the topology master refused us: {reason}", ExitCode.UNSTARTED)
                )

    def _take_plan(self, data: messages.Json, out: Out) -> None:
        plan = physical_from_json(data)
        homes = {each.id for each in plan.packing.containers}
        if not plan.stream_managers.keys() >= homes or self.container not in homes:
            raise ProtocolError("a physical plan without some of the stream managers")
        if plan.packing.tasks_of.keys() != self._places.packing.tasks_of.keys():
            raise ProtocolError("a physical plan with other components than the topology's")
        if plan.epoch < self.epoch:
            return
        known = self.plan.stream_managers if self.plan is not None else None
        self.plan, self.epoch, self._results.epoch = plan, plan.epoch, plan.epoch
        self._plan_message = messages.Plan(data)
        if plan.packing != self._places.packing:
            self._repack(plan.packing, out)
        peers = {each: plan.stream_managers[each] for each in self._peers}
        out.append(events.ConnectPeers(peers))
        replaced = [each for each in peers if (known or {}).get(each, peers[each]) != peers[each]]
        if replaced or known is None:
            self._fence = plan.epoch
        if replaced:
            # It died with tuples and acks that nobody can name: all trees of our spouts may miss
            # some, so they fail now and are replayed, rather than after the message timeout.
            self._results.fail_all(out)
        for container in replaced:
            self._peer_replaced(container, out)
        self._to_all(self._plan_message, out)

    def _repack(self, packing: PackingPlan, out: Out) -> None:
        """The topology is scaled: instances and peers come and go, the others notice nothing.

        Usually nothing is in flight now. What is all the same, because the drain took too long,
        fails and is replayed.
        """
        change = self._places.repack(packing)
        for task in change.removed:
            self._snapshots.pop(task, None)
            self._finishing.discard(task)
            self._results.forget(task)
        lifted = change.lifted | (self._causes & change.removed)
        self._causes -= change.removed
        for task in sorted(lifted - self._causes - self._peers.causes):
            self._announce(messages.BackPressureCause(task, False), out)
        for task in self._pressure.repack(packing, self._now):
            self._control(task, messages.Pause(False), out)
        for container in change.new_peers:
            self._tell_causes(container, out)
        for frames in change.lost:
            self.counters["lost"] += 1
            self._fail_roots(frames, out)
        out.append(events.Repacked(packing))

    def _timer(self, event: events.Timer, now: float, out: Out) -> None:
        self._results.rotate(now, out)
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self.options.heartbeat_secs
            if self._master_seen is not None:
                out.append(events.ToMaster(self.heartbeat()))
        seen = self._master_seen
        if seen is not None and now - seen > self.options.master_silent_secs:
            self._master_seen = None
            out.append(events.FindMaster())

    def heartbeat(self) -> messages.Heartbeat:
        """What the master hears regularly: our counters, our instances' newest snapshots."""
        return self._beat_of(dict(self._snapshots))

    def _beat_of(self, snapshots: dict[int, messages.Json]) -> messages.Heartbeat:
        paused = self._pressure.statistics(self._now)
        return messages.Heartbeat(self.container, self.statistics(), snapshots, paused)

    def statistics(self) -> dict[str, Any]:
        """Counters and sizes as they are now."""
        return {
            **self.counters,
            "trees": sum(map(len, self._trees.values())),
            "unknown_roots": sum(trees.unknown for trees in self._trees.values()),
            "waiting_bytes": {each: queue.held_bytes for each, queue in self._queues.items()},
            "peer_bytes": {each: queue.waiting_bytes for each, queue in self._peers.items()},
            "causes": sorted(self._causes),
        }
