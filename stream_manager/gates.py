"""Barrier alignment: input of an instance waits from the barrier of its source on.

Every local instance has a gate in front of its queue. Each source, a task that may send to the
instance, sends a barrier after the last tuple of a checkpoint. The gate blocks the later
messages of the source until the barriers of all sources have arrived; then the instance gets one
barrier in exactly this position of its data, and the blocked messages follow. An instance never
waits: it processes the messages in front of the barrier, and back-pressure works as always.
Blocked messages name no cause of back-pressure, because a source that is paused before its
barrier would never send the barrier. They have a limit in bytes; above the limit the alignment,
and with it the checkpoint, is aborted.

A barrier of a later checkpoint, from a source without a barrier for the current checkpoint,
aborts the alignment: the checkpoint's master died, or stopped waiting. TRANSITIONS is the table
of a gate's states, which docs/ARCHITECTURE.md draws.

Behind the gate a barrier may overtake. Between stream managers a barrier is as fast as data, but
the messages in front of it in the queue may take a slow instance minutes. When a barrier has
waited in the queue for the alignment time-out, the stream manager delivers the barrier with all
messages in front, and tells the instance to take them at once, paused or not (OvertakeInput):
the instance saves its state with its unprocessed input, and forwards the barrier.
"""

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from heron_core.errors import ProtocolError
from heron_core.transitions import MachineState, Transitions
from heron_core.wire.frames import Frames, Header, items_of, size_of, source_of
from heron_core.wire.messages import CheckpointFailed, OvertakeInput
from heron_core.wire.packets import aligned_tasks, checkpoint_of, passed_on
from heron_engine.stream_manager import events
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.flow_control import FlowControl

Out = list[events.Instruction]

DATA = 0
"""In place of a barrier's number."""
Passed = tuple[int, Frames]
"""What goes on to the instance: (DATA, a batch), or (number, the last barrier of a checkpoint)."""


class GateState(MachineState):
    """State of one instance's gate; the value is its meaning."""

    OPEN = "all messages pass"
    ALIGNING = "messages that follow the received barriers are blocked"


TRANSITIONS = Transitions(
    "a gate",
    begins={GateState.OPEN: "a plan has the instance"},
    after={
        GateState.OPEN: {GateState.ALIGNING: "the first barrier of a checkpoint arrives"},
        GateState.ALIGNING: {
            GateState.ALIGNING: "a barrier of a later checkpoint aborts the alignment",
            GateState.OPEN: (
                "the last barrier arrives and passes, too much is held back, or all are restored"
            ),
        },
    },
)


class Waiting(Struct, frozen=True):
    """An aligned barrier in the queue of an instance."""

    barrier: Frames
    checkpoint: int
    epoch: int
    since: float


class InstanceGate:
    """The gate of one instance."""

    def __init__(self, sources: frozenset[int]) -> None:
        self.sources = sources
        self.state = TRANSITIONS.begin(GateState.OPEN)
        self.aligning = 0
        """Number of the awaited checkpoint; 0 for none."""
        self.blocked_bytes = 0
        self.blocked_tuples = 0
        self._passed = 0
        """The newest checkpoint with a passed or aborted barrier."""
        self._arrived: set[int] = set()
        """Sources with an arrived barrier."""
        self._blocked: deque[tuple[int, int, Frames]] = deque()
        """(source, DATA or number of a barrier, message) in order"""

    def take(self, source: int, number: int, frames: Frames) -> Iterator[Passed]:
        """What passes because a batch (`number` is DATA) or a barrier has come."""
        if source in self._arrived:
            self._block(source, number, frames)
        elif number == DATA:
            yield DATA, frames
        elif number >= self.aligning and number > self._passed:
            yield from self._arrives(source, number, frames)

    def _arrives(self, source: int, number: int, frames: Frames) -> Iterator[Passed]:
        is_superseded = 0 < self.aligning < number
        if number != self.aligning:
            self._enter(GateState.ALIGNING)
            self.aligning, self._arrived = number, set()
        self._arrived.add(source)
        if self._arrived == self.sources:
            self._end()
            yield number, frames
            yield from self._release()
        elif is_superseded:
            yield from self._release()

    def _enter(self, to: GateState) -> None:
        """The only function that changes the state."""
        self.state = TRANSITIONS.follow(self.state, to)

    def _end(self) -> None:
        if self.state is not GateState.OPEN:
            self._enter(GateState.OPEN)
        self._passed, self.aligning = self.aligning, 0
        self._arrived = set()

    def _block(self, source: int, number: int, frames: Frames) -> None:
        self._blocked.append((source, number, frames))
        self.blocked_bytes += size_of(frames)
        self.blocked_tuples += items_of(frames)

    def _release(self) -> Iterator[Passed]:
        blocked = self._clear_blocked()
        for each in blocked:
            yield from self.take(*each)

    def _clear_blocked(self) -> deque[tuple[int, int, Frames]]:
        blocked, self._blocked = self._blocked, deque()
        self.blocked_bytes = self.blocked_tuples = 0
        return blocked

    def abort(self) -> Iterator[Passed]:
        """Wait no longer for the barriers of the checkpoint that is being aligned."""
        self._end()
        return self._release()

    def reset(self) -> None:
        """All that was sent so far is discarded: the topology is restored from a checkpoint."""
        self._clear_blocked()
        self._end()

    def validate(self) -> None:
        """AssertionError if messages are blocked without a reason."""
        assert self._arrived < self.sources or not self.sources, "aligned, and nothing passed"
        assert bool(self._arrived) == bool(self.aligning), "barriers of no checkpoint"
        is_aligning = self.state is GateState.ALIGNING
        assert is_aligning is bool(self.aligning), f"{self.state.name}, aligning {self.aligning}"
        assert self.aligning or not self._blocked, "blocked without a reason"
        assert all(source in self._arrived for source, _, _ in self._blocked), "held back too early"
        assert self.blocked_bytes == sum(size_of(frames) for _, _, frames in self._blocked)
        assert self.blocked_tuples == sum(items_of(frames) for _, _, frames in self._blocked)


class Gates:
    """The gates of the instances here, and the ways of barriers to other containers."""

    def __init__(self, state: ContainerState, flow: FlowControl) -> None:
        self._state = state
        self._flow = flow
        self._readers: dict[str, set[str]] = {}
        self._by_task: dict[int, InstanceGate] = {}
        self._ways: dict[int, set[int]] = {}
        """source -> possible target containers of its data"""
        self._aligning_since: dict[int, float] = {}
        """task -> when the first barrier of the alignment that is under way came"""
        self._aligned: dict[int, tuple[int, float]] = {}
        """task -> (number, seconds) of its newest finished alignment"""
        self._waiting: dict[int, Waiting] = {}
        """task -> newest barrier in its queue, if the barrier may overtake"""
        self.apply_packing()

    def apply_packing(self) -> None:
        """Instances and sources are those of the plan, at the beginning or because the topology was
        scaled: the topology is restored from a checkpoint, so nothing is held back."""
        state, topology = self._state, self._state.topology
        self._waiting.clear()
        state.forwarder.gated.clear()
        self._readers = {each.name: topology.readers_of(each.name) for each in topology.components}
        tasks_of, instances = state.packing.tasks_of, state.packing.instances
        self._by_task = {
            task: InstanceGate(
                frozenset(
                    source
                    for source, sender in instances.items()
                    if instances[task].component in self._readers[sender.component]
                )
            )
            for task in state.queues
        }
        self._ways = {
            source: {
                state.packing.container_of[task]
                for reader in self._readers[sender.component]
                for task in tasks_of[reader]
            }
            for source, sender in instances.items()
        }

    def to_instance(self, task: int, frames: Frames, out: Out) -> bool:
        """A batch for an instance here, as FlowControl.to_instance; it may be held back."""
        gate = self._by_task[task]
        if not gate.aligning:
            return self._flow.to_instance(task, frames, out)
        self._pass(task, gate.take(source_of(frames), DATA, frames), out)
        if gate.blocked_bytes > self._state.options.aligned_bytes_max:
            self._abort_alignment(task, gate, out)
        return True

    def check_barrier(self, head: Header) -> None:
        """ProtocolError if a barrier is of no instance."""
        if head.source not in self._ways:
            raise ProtocolError(f"a barrier of task {head.source}, which is not in the plan")

    def barrier(self, head: Header, frames: Frames, out: Out) -> None:
        """A local instance's barrier goes to all readers; a remote barrier to local readers."""
        source, number, state = head.source, checkpoint_of(frames), self._state
        if state.container_of(source) == state.container:
            for container in sorted(self._ways[source] - {state.container}):
                theirs = passed_on(frames, head.epoch, source, container)
                self._flow.to_peer(container, 0, theirs, out)
        for task, gate in self._by_task.items():
            if source in gate.sources:
                self._pass(task, gate.take(source, number, frames), out, head.epoch)

    def _pass(
        self, task: int, passed: Iterator[Passed], out: Out, epoch: int | None = None
    ) -> None:
        epoch, now = self._state.epoch if epoch is None else epoch, self._state.now
        gate = self._by_task[task]
        before = gate.aligning
        for number, frames in passed:
            if number == DATA:
                self._flow.to_instance(task, frames, out)
                continue
            since = self._aligning_since.get(task, now) if number == before else now
            self._aligned[task] = number, now - since
            barrier = passed_on(frames, epoch, 0, task)
            self._flow.to_instance(task, barrier, out)
            self._may_overtake(task, Waiting(barrier, number, epoch, now), out)
        if gate.aligning != before:
            self._aligning_since[task] = now
        gated = self._state.forwarder.gated
        (gated.add if gate.aligning else gated.discard)(task)

    def _may_overtake(self, task: int, waiting: Waiting, out: Out) -> None:
        timeout_secs = self._state.options.aligned_timeout_secs
        if timeout_secs is not None and task not in aligned_tasks(waiting.barrier):
            self._waiting[task] = waiting
            if not timeout_secs:
                self._overtake(task, out)

    def timer(self, out: Out) -> None:
        """Barriers with a long wait overtake the messages in front."""
        timeout_secs = self._state.options.aligned_timeout_secs or 0.0
        for task, each in list(self._waiting.items()):
            if self._state.now - each.since >= timeout_secs:
                self._overtake(task, out)

    def _overtake(self, task: int, out: Out) -> None:
        if self._state.queues[task].incarnation is None:
            return  # the barrier arrives, or the topology is restored
        each = self._waiting.pop(task)
        if self._flow.overtake(task, each.barrier, out):
            self._state.note("barrier overtakes", task=task, checkpoint=each.checkpoint)
            self._state.send_control(task, OvertakeInput(each.checkpoint, each.epoch), out)

    def aligned_ms(self, task: int, checkpoint: int) -> int:
        """How long the barriers of a checkpoint took from the first to the last; 0 for another one
        than the newest."""
        number, secs = self._aligned.get(task, (0, 0.0))
        return int(1000 * secs) if number == checkpoint else 0

    def _abort_alignment(self, task: int, gate: InstanceGate, out: Out) -> None:
        number, size = gate.aligning, gate.blocked_bytes
        self._state.note("alignment aborted", task=task, checkpoint=number)
        reason = (
            f"{size:,} bytes arrived after the barriers of some sources and before those of the "
            "others: the slow sources are too far behind"
        )
        out.append(events.ToMaster(CheckpointFailed(task, number, reason)))
        self._pass(task, gate.abort(), out)

    def reset(self) -> None:
        """All that was sent so far is discarded: the topology is restored from a checkpoint."""
        self._waiting.clear()
        self._state.forwarder.gated.clear()
        for gate in self._by_task.values():
            gate.reset()

    @property
    def without_sources(self) -> list[int]:
        """Local instances without sources: a checkpoint starts with them."""
        return [task for task, gate in self._by_task.items() if not gate.sources]

    def blocked_bytes(self, task: int) -> int:
        """Blocked messages of an instance."""
        return self._by_task[task].blocked_bytes

    def blocked_tuples(self, task: int) -> int:
        """Number of blocked tuples of an instance."""
        return self._by_task[task].blocked_tuples

    def validate(self) -> None:
        """AssertionError unless the gates are those of the instances here, each sound in itself."""
        assert self._by_task.keys() == self._state.queues.keys()
        assert self._waiting.keys() <= self._by_task.keys()
        aligning = {task for task, gate in self._by_task.items() if gate.aligning}
        assert self._state.forwarder.gated == aligning
        for gate in self._by_task.values():
            gate.validate()
            assert gate.blocked_bytes <= self._state.options.aligned_bytes_max
