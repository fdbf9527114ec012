"""Batches and packets of roots: forwarded by their header, never decoded.

Besides the header only ids are read: where trees begin, and of lost batches, whose roots then fail
at the spouts that own them, for an immediate replay.
"""

from array import array
from collections.abc import Callable, Iterable

from heron_core.errors import ProtocolError
from heron_core.graph_walks import reachable
from heron_core.wire.batch import (
    beginnings,
    check_batch,
    check_fanout,
    roots_of,
    split_fanout,
    targets_of,
)
from heron_core.wire.frames import (
    EVERY_OWNER,
    FrameKind,
    Frames,
    Header,
    header_of,
    root_owner,
)
from heron_core.wire.merged import split
from heron_core.wire.messages import BackPressureCause, TreesLost
from heron_core.wire.packets import (
    busy_secs_of,
    check_barrier,
    check_pairs,
    check_roots,
    check_watermark,
    decode_control,
    decode_pairs,
    decode_roots,
    encode_control,
    encode_pairs,
    encode_roots,
    retains_in,
)
from heron_engine.stream_manager import events
from heron_engine.stream_manager.ack_results import AckResults
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.flow_control import FlowControl
from heron_engine.stream_manager.gates import Gates
from heron_engine.stream_manager.watermarks import Watermarks

Out = list[events.Instruction]
Check = Callable[[Header, Frames], None]
Handle = Callable[[Header, Frames, Out], None]
BATCHES = (FrameKind.DATA, FrameKind.FANOUT)


class DataPlane:
    """Processing of each message of the data plane."""

    def __init__(
        self,
        state: ContainerState,
        flow: FlowControl,
        results: AckResults,
        gates: Gates | None,
        watermarks: Watermarks,
    ) -> None:
        """`gates`: for a topology with checkpoints."""
        self._state = state
        self._flow = flow
        self._results = results
        self._gates = gates
        self._watermarks = watermarks
        self._to_instance = flow.to_instance if gates is None else gates.to_instance
        self._by_kind: dict[int, tuple[Check, Handle]] = {
            FrameKind.DATA: (check_batch, self._data),
            FrameKind.FANOUT: (self._check_fanout, self._fanout),
            FrameKind.INIT: (self._check_init, self._init),
            FrameKind.ACK: (self._check_ack, self._ack),
            FrameKind.FAIL: (self._check_ack, self._ack),
            FrameKind.CONSUMED: (_check_nothing, self._only_consumed),
            FrameKind.CONTROL: (self._check_control, self._peer_control),
            FrameKind.WATERMARK: (check_watermark, self._watermark),
        }
        if gates is not None:
            self._by_kind[FrameKind.BARRIER] = (self._check_barrier, self._barrier)

    def message(
        self, frames: Frames, out: Out, sent: dict[int, float] | None = None
    ) -> list[Header]:
        """Process the content of one message; returns the headers of non-plain messages. Tuples
        of plain batches are counted in `sent`, by task.

        ProtocolError if any part is invalid; the message then has no effect.
        """
        forwarder, parts = self._state.forwarder, split(frames)
        forwarder.fence, forwarder.sent = self._state.fence, sent
        others = forwarder.others(parts)
        checked = [self._checked(parts[at]) for at in others]
        start = 0
        for at, (handle, head, part) in zip(others, checked, strict=True):
            forwarder.pass_on(parts, start, at)
            handle(head, part, out)
            start = at + 1
        forwarder.pass_on(parts, start, len(parts))
        self._state.count_forwarded(forwarder.forwarded, forwarder.tuples)
        forwarder.forwarded = forwarder.tuples = 0
        if forwarder.strays:
            self._stray_acks(out)
        return [head for _, head, _ in checked]

    def _checked(self, frames: Frames) -> tuple[Handle, Header, Frames]:
        head = header_of(frames)
        check_and_handle = self._by_kind.get(head.kind)
        if check_and_handle is None:
            raise ProtocolError(f"a stream manager was sent a message of kind {head.kind}")
        check, handle = check_and_handle
        check(head, frames)
        return handle, head, frames

    def from_instance(self, event: events.FromInstance, out: Out) -> None:
        """A message of a local instance, possibly with a report of processed input."""
        queue = self._state.queues.get(event.task)
        # Another process of the task reports what a stream manager before us handed it.
        if queue is None or queue.incarnation != event.incarnation:
            self.message(event.frames, out)
            return
        is_counted = self._gates is not None
        heads = self.message(event.frames, out, queue.fan_out.sent if is_counted else None)
        if is_counted:  # output first, then the report of its input
            for head in heads:
                if head.kind in BATCHES:
                    queue.fan_out.emitted(head)
        for head in heads:
            if head.consumed:
                self._flow.consumed(event.task, head.consumed, busy_secs_of(head))
                queue.retains = retains_in(head)

    # --- batches ------------------------------------------------------------------------------

    def _data(self, head: Header, frames: Frames, out: Out) -> None:
        state = self._state
        begun = beginnings(head, frames)
        if begun is not None and head.source in state.trees:
            state.trees[head.source].begin(begun)
        container = state.container_of(head.destination)
        if head.epoch < state.fence:
            self._lose("fenced", head, frames, out)
        elif container is None:
            self._lose("unroutable", head, frames, out)
        else:
            state.count_forwarded(1, head.items)
            task, flow = head.destination, self._flow
            is_taken = (
                self._to_instance(task, frames, out)
                if container == state.container
                else flow.to_peer(container, task, frames, out)
            )
            if not is_taken:
                self._drop(head, frames, out)

    def _check_fanout(self, head: Header, frames: Frames) -> None:
        targets = targets_of(frames)
        check_fanout(head, frames, targets)
        if head.epoch >= self._state.epoch and self._is_elsewhere(head, targets):
            raise ProtocolError(f"a fan-out to tasks that are not in container {head.destination}")

    def _is_elsewhere(self, head: Header, targets: Iterable[int]) -> bool:
        return any(self._state.container_of(task) != head.destination for task in targets)

    def _fanout(self, head: Header, frames: Frames, out: Out) -> None:
        """One batch for several tasks of a container: split here, with separate edges."""
        targets = targets_of(frames)
        state = self._state
        if head.epoch < state.fence:
            self._lose("fenced", head, frames, out)
        elif self._is_elsewhere(head, targets):
            self._lose("unroutable", head, frames, out)
        elif head.destination == state.container:
            for task, single in split_fanout(head, frames, targets):
                state.count_forwarded(1, head.items)
                if not self._to_instance(task, single, out):
                    self._drop(header_of(single), single, out)
        else:
            state.count_forwarded(1, head.items)
            # All are tasks of one component, so any of them serves as a cause.
            if not self._flow.to_peer(head.destination, targets[0], frames, out):
                self._drop(head, frames, out)

    # --- lost batches -------------------------------------------------------------------------

    def _lose(self, counter: str, head: Header, frames: Frames, out: Out) -> None:
        """Count an undeliverable batch and fail its roots. The batch is older than the fence, or
        its task was removed: emitted by a tick during a rescale, or in flight after the drain."""
        self._state.counters[counter] += 1
        self._fail(roots_of(head, frames), out)

    def _drop(self, head: Header, frames: Frames, out: Out) -> None:
        """Mode drop: count and fail a batch that found a full queue."""
        copies = len(targets_of(frames)) if head.kind == FrameKind.FANOUT else 1
        self._state.counters["dropped"] += head.items * copies
        self._fail(roots_of(head, frames), out)

    def lost(self, many: Iterable[Frames], out: Out) -> None:
        """Batches among messages in transit to a removed process."""
        for frames in many:
            head = header_of(frames)
            if head.kind in BATCHES:
                self._lose("lost", head, frames, out)

    def link_restarted(self, container: int, kept: Iterable[Frames], out: Out) -> None:
        """Messages possibly not received by another stream manager before its death. The roots of
        batches fail. Acks and failures go to the successor: they may be of its own spouts, which
        emit as soon as the successor has the plan, perhaps before this process has it. An ack of a
        predecessor's root is unknown there, and counted."""
        for frames in kept:
            head = header_of(frames)
            if head.kind in BATCHES:
                self._lose("lost", head, frames, out)
            elif head.kind in (FrameKind.ACK, FrameKind.FAIL) or _tells_of_lost_trees(head, frames):
                self._flow.to_peer(container, 0, frames, out)

    def retained_lost(self, task: int, out: Out) -> None:
        """The process of a task has died with tuples neither acked nor failed. Nothing here knows
        their roots: all trees fail whose tuples may have come to the task, here and elsewhere."""
        self._fail_upstream(task)
        lost = TreesLost(task)
        for container in self._state.peers:
            here = self._state.container
            frames = encode_control(self._state.epoch, here, task, lost)
            self._flow.to_peer(container, 0, frames, out)

    def _fail_upstream(self, task: int) -> None:
        packing = self._state.packing
        instance = packing.instances.get(task)
        if instance is not None:
            feeders = self._state.topology_of(packing).feeders
            above = reachable(instance.component, feeders.__getitem__)
            self._results.fail_all({each for name in above for each in packing.tasks_of[name]})

    def _fail(self, roots: Iterable[int], out: Out) -> None:
        """Fail the roots at the spouts that own them."""
        by_owner: dict[int, list[int]] = {}
        for root in roots:
            by_owner.setdefault(root_owner(root), []).append(root)
        for owner, failed in by_owner.items():
            self._settle_roots(owner, failed, out)

    def _settle_roots(self, owner: int, failed: list[int], out: Out) -> None:
        state = self._state
        container = state.container_of(owner)
        if owner in state.trees:
            self._results.failed(owner, array("Q", failed))
        elif container is None or container == state.container:
            state.counters["unroutable"] += 1  # no spout, or none any more
        else:
            fail = encode_roots(FrameKind.FAIL, state.epoch, 0, owner, failed)
            self._flow.to_peer(container, 0, fail, out)

    # --- packets ------------------------------------------------------------------------------

    def _check_init(self, head: Header, frames: Frames) -> None:
        check_pairs(head, frames)
        if head.source not in self._state.trees:
            raise ProtocolError(
                f"roots of task {head.source}, which is not a spout of this container"
            )

    def _init(self, head: Header, frames: Frames, out: Out) -> None:
        self._state.trees[head.source].begin(decode_pairs(head, frames))

    def _check_ack(self, head: Header, frames: Frames) -> None:
        (check_pairs if head.kind == FrameKind.ACK else check_roots)(head, frames)
        state, owner = self._state, head.destination
        if state.container_of(owner) == state.container and owner not in state.trees:
            raise ProtocolError(f"acks for task {owner}, which is not a spout")

    def _ack(self, head: Header, frames: Frames, out: Out) -> None:
        """Acks and fails go to the stream manager that holds the trees of the owning spout."""
        state = self._state
        container = state.container_of(head.destination)
        if head.kind == FrameKind.ACK and head.destination == EVERY_OWNER:
            state.forwarder.pass_on([frames], 0, 1)
        elif container is None:
            state.counters["unroutable"] += 1
        elif container != state.container:
            self._flow.to_peer(container, 0, frames, out)
        elif head.kind == FrameKind.ACK:
            self._results.acked(head.destination, decode_pairs(head, frames))
        else:
            self._results.failed(head.destination, decode_roots(head, frames))

    def _stray_acks(self, out: Out) -> None:
        """Acks of several spouts without a fast route: for other stream managers where
        back-pressure drops; all others are for unknown or removed spouts."""
        state, elsewhere = self._state, dict[int, list[int]]()
        numbers = iter(state.forwarder.strays)
        for root, value in zip(numbers, numbers, strict=True):
            container = state.container_of(root_owner(root))
            if container is None or container == state.container:
                state.counters["unroutable"] += 1
            else:
                elsewhere.setdefault(container, []).extend((root, value))
        del state.forwarder.strays[:]
        for container, pairs in elsewhere.items():
            acks = encode_pairs(FrameKind.ACK, state.epoch, 0, EVERY_OWNER, pairs)
            self._flow.to_peer(container, 0, acks, out)

    def _check_barrier(self, head: Header, frames: Frames) -> None:
        check_barrier(head, frames)
        assert self._gates is not None
        self._gates.check_barrier(head)

    def _barrier(self, head: Header, frames: Frames, out: Out) -> None:
        if head.epoch < self._state.fence:
            self._state.counters["fenced"] += 1
        elif self._gates is not None:
            self._gates.barrier(head, frames, out)

    def _watermark(self, head: Header, frames: Frames, out: Out) -> None:
        if head.epoch < self._state.fence:
            self._state.counters["fenced"] += 1
        else:
            self._watermarks.take(head, frames, out)

    def _only_consumed(self, head: Header, frames: Frames, out: Out) -> None:
        """A message whose header is complete information: see `from_instance`."""

    def _check_control(self, head: Header, frames: Frames) -> None:
        message = decode_control(frames)
        kinds = BackPressureCause | TreesLost
        if not isinstance(message, kinds) or head.source not in self._state.peers:
            raise ProtocolError(
                f"unexpected message of another stream manager: {message!r:.100} from {head.source}"
            )

    def _peer_control(self, head: Header, frames: Frames, out: Out) -> None:
        message = decode_control(frames)
        if isinstance(message, TreesLost):
            self._state.note("trees lost", task=message.task)
            self._fail_upstream(message.task)
        else:
            self._flow.peer_cause(head.source, message, out)


def _tells_of_lost_trees(head: Header, frames: Frames) -> bool:
    return head.kind == FrameKind.CONTROL and isinstance(decode_control(frames), TreesLost)


def _check_nothing(head: Header, frames: Frames) -> None:
    """The header says all."""
