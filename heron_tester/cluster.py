"""All instances of a topology around one real stream manager, in one thread and without a wire.

Messages go from an instance to the stream manager and on to another instance, in order for each
pair. The next message is the oldest or, for order="random", chosen by the seed. Virtual time passes
in `advance` alone (and in sleeps of user code).
"""

import heapq
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Any

from heron_core.algorithms.termination import finish_order
from heron_core.errors import ComponentError
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    Restore,
    TopologyState,
    physical_to_json,
)
from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, kind_of
from heron_core.wire.merged import split
from heron_engine.stream_manager import core as stream_manager
from heron_engine.stream_manager import events
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.tick_schedule import NEVER
from heron_tester.checkpoints import Fed, TesterCheckpoints
from heron_tester.clock import real_monotonic
from heron_tester.errors import TesterError
from heron_tester.faults import InstanceKilled
from heron_tester.instance import SharedContext, TesterInstance

CONTAINER = 1
ADDRESS = "tester"
_NOTHING = Resource(0.0, 0, 0)
BUSIEST_SHOWN = 3
_ENDED = "the process ended"
_POLL_SECS = 0.02
"""Not every component that becomes idle says so by a call."""


@dataclass(slots=True)
class SenderQueue:
    """Waiting messages of one sender, oldest first, each with its age."""

    take: Callable[[Any], None]
    waiting: deque[tuple[int, Any]] = field(default_factory=deque)


def packed(topology: TopologySpec) -> PackingPlan:
    """All instances in one container, with the task ids of every packing."""
    instances: list[InstancePlan] = []
    for component in topology.components:
        for index in range(component.parallelism):
            task = len(instances) + 1
            instances.append(InstancePlan(task, component.name, index, _NOTHING))
    return PackingPlan(topology.name, (ContainerPlan(CONTAINER, tuple(instances), _NOTHING),))


class TesterCluster:
    """The running topology; implements instance.ClusterCallbacks."""

    def __init__(
        self, shared: SharedContext, seed: int, random_order: bool, steps_max: int, wait_secs: float
    ) -> None:
        self.shared = shared
        self.clock = shared.clock
        self.rng = Random(seed)
        self._random_order = random_order
        self._steps_max = steps_max
        self.wait_secs = wait_secs
        self._numbers = count(1).__next__
        # Arrivals are processed in order of age: messages do not wait to be merged.
        self._options = replace(StreamManagerOptions.of(shared.topology.config), pipelined_bytes=0)
        identity = messages.RegisterStreamManager(
            container=CONTAINER, incarnation=1, address=ADDRESS, host=ADDRESS, pid=0, epoch=0
        )
        self._manager = stream_manager.StreamManager(
            shared.topology, shared.packing, identity, self._options
        )
        self._calls: deque[tuple[TesterInstance, Callable[[], None]]] = deque()
        self._called = threading.Event()
        self._timers: list[tuple[float, int, TesterInstance, Callable[[], None]]] = []
        tasks = list(shared.packing.instances)
        self._outgoing = {task: SenderQueue(self._to_manager) for task in tasks}
        self._incoming = {task: SenderQueue(partial(self._to_instance, task)) for task in tasks}
        self._queues = [*self._outgoing.values(), *self._incoming.values()]
        self._epoch = 1
        self.checkpoints = TesterCheckpoints(set(tasks)) if self._options.checkpoints else None
        """None in a topology without checkpoints."""
        self._restored: dict[int, int] = {}
        """task -> incarnation of the tasks that have restored the newest plan's state"""
        self._is_restoring = False
        self.instances: dict[int, TesterInstance] = {}
        try:
            for task in tasks:
                self.instances[task] = self._born(task)
            self._start_all()
        except BaseException:
            self.close()  # those that are there may have opened something
            raise

    def _start_all(self) -> None:
        self._send_plan(None if self.checkpoints is None else Restore(0))
        self._handle(events.StreamManagerTimer())
        timeout = self._options.message_timeout_secs
        self._rotation_secs = None if timeout is None else timeout / self._options.expiry_buckets
        self._next_rotation = self.clock.now + (self._rotation_secs or 0.0)
        for instance in self.instances.values():
            self._greet(instance)
        self._release()

    def _send_plan(self, restore: Restore | None) -> None:
        plan = PhysicalPlan(
            self.shared.topology.name, self._epoch, TopologyState.RUNNING, self.shared.packing,
            {CONTAINER: ADDRESS}, restore=restore,
        )  # fmt: skip
        self._handle(events.FromMaster(messages.Plan(physical_to_json(plan))))

    def _born(self, task: int) -> TesterInstance:
        rng = Random(self.rng.random())
        return TesterInstance(self.shared, self, task, self._numbers(), rng)

    def _greet(self, instance: TesterInstance) -> None:
        hello = messages.RegisterInstance(
            task=instance.task, incarnation=instance.incarnation, pid=0
        )
        self._handle(events.FromInstanceControl(instance.task, instance.incarnation, hello))

    # --- what instances do --------------------------------------------------------------------

    def sent(self, instance: TesterInstance, messages: list[Frames]) -> None:
        """Queue messages for the stream manager; reports that are only counted take no step."""
        for frames in messages:
            if kind_of(frames) == FrameKind.CONSUMED:
                self._to_manager((instance, frames))
            else:
                self._wait_in(self._outgoing[instance.task], (instance, frames))

    def reported(self, instance: TesterInstance, message: messages.FromInstance) -> None:
        """Handle a report to the master; failures of user code are among its errors already."""
        if isinstance(message, messages.Restored):
            self._restored[message.task] = message.incarnation
        elif isinstance(message, messages.TuplesAbandoned) and self.checkpoints is not None:
            self.checkpoints.abandoning.add(message.component)
        elif isinstance(message, messages.RestoreFailed):
            raise TesterError(f"a state cannot be restored: {message.reason}")

    def save(self, instance: TesterInstance, checkpoint: int, state: bytes) -> None:
        """A state for the checkpoint store."""
        if self.checkpoints is not None:
            self.checkpoints.save(instance.task, checkpoint, state)

    def load(self, checkpoint: int, task: int) -> bytes:
        """A state of the checkpoint store."""
        assert self.checkpoints is not None
        return self.checkpoints.load(checkpoint, task)

    def call_soon(self, instance: TesterInstance, function: Callable[[], None]) -> None:
        """A call for the main thread; from any thread."""
        self._calls.append((instance, function))
        self._called.set()

    def call_later(
        self, instance: TesterInstance, secs: float, function: Callable[[], None]
    ) -> None:
        """A call when so much virtual time has passed."""
        if instance.is_real:
            timer = threading.Timer(secs, self.call_soon, (instance, function))
            timer.daemon = True
            timer.start()
            return
        due = self.clock.now + secs
        heapq.heappush(self._timers, (due, self._numbers(), instance, function))

    def _wait_in(self, queue: SenderQueue, item: Any) -> None:
        queue.waiting.append((self._numbers(), item))

    # --- the stream manager -------------------------------------------------------------------

    def _to_manager(self, item: tuple[TesterInstance, Frames]) -> None:
        instance, frames = item
        self._handle(events.FromInstance(instance.task, instance.incarnation, frames))

    def _handle(self, event: events.Event) -> None:
        self._perform(self._manager.handle(event, self.clock.now))
        self._perform(self._manager.handle(events.InputTaken(), self.clock.now))

    def _perform(self, instructions: Iterable[events.Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case events.ToLocal(task, incarnation, frames):
                    if self.instances[task].incarnation == incarnation:
                        for message in split(frames):
                            self._wait_in(self._incoming[task], message)
                case events.ToLocalControl(
                    task,
                    _,
                    (messages.Plan() | messages.TriggerCheckpoint()
                     | messages.CheckpointCompleted()) as message,
                ):  # fmt: skip
                    self.guarded(self.instances[task], partial(self.instances[task].order, message))
                case events.StreamManagerLog(text) | events.StreamManagerExit(text, _):
                    raise TesterError(f"the tester's stream manager: {text}")

    # --- steps --------------------------------------------------------------------------------

    def settle(self, patience: float | None = None) -> None:
        """Continue until nothing is left at this moment; TesterError after too many steps.

        `patience`: limit, in real seconds, for work of other threads and processes.
        """
        for step in count():
            if not (self._step() or self._fire_due() or self._hear_others(patience)):
                return
            if step == self._steps_max:
                raise TesterError(
                    f"it never settles: {step} steps at one virtual time, and"
                    f" {self._waiting_text()} wait; does a bolt feed itself, or is what fails"
                    " replayed at once and for ever? (steps_max= sets the limit)"
                )

    def _waiting_text(self) -> str:
        lengths = Counter({task: len(each.waiting) for task, each in self._incoming.items()})
        return ", ".join(
            f"{number} messages for {self.instances[task].name}[{task}]"
            for task, number in lengths.most_common(BUSIEST_SHOWN)
            if number
        ) or "calls of components"  # fmt: skip

    def _step(self) -> bool:
        """Handle one waiting call or message; returns False without one."""
        if self._calls:
            instance, function = self._calls.popleft()
            self.guarded(instance, function)
            return True
        waiting = [queue for queue in self._queues if queue.waiting]
        if not waiting:
            return False
        chosen = self.rng.choice(waiting) if self._random_order else min(waiting, key=_age)
        _, item = chosen.waiting.popleft()
        chosen.take(item)
        return True

    def _to_instance(self, task: int, frames: Frames) -> None:
        instance = self.instances[task]
        self.guarded(instance, partial(instance.deliver, frames))

    def guarded(self, instance: TesterInstance, call: Callable[[], object]) -> None:
        """Run user code; an end of the process in production ends the instance here, and starts its
        replacement.
        """
        if instance.is_dead:
            return
        if self._is_restoring:
            instance.guarded(call)  # what a component cannot begin with it never can
            return
        try:
            instance.guarded(call)
            instance.driver.flush()
        except InstanceKilled:
            self.replace(instance.task)
        except (Exception, SystemExit) as error:
            if isinstance(error, ComponentError) and instance.watch.has_raised:
                instance.watch.error_line(_ENDED, str(error))  # because of what it raised
            else:
                instance.watch.raised(_ENDED, error)
            self.replace(instance.task)

    def replace(self, *tasks: int) -> None:
        """Kill instances and start replacements, losing memory and held tuples."""
        failed = [fed for task in tasks for fed in self._replace(task)]
        if self.checkpoints is not None:
            self._restore(self.checkpoints.newest, failed)

    def _replace(self, task: int) -> list[Fed]:
        """Replace one instance; returns the test's tuples that failed thereby."""
        dead = self.instances[task]
        dead.killed()
        # Sent messages are on the wire; received messages are lost with the process.
        for _, item in self._outgoing[task].waiting:
            self._to_manager(item)
        self._outgoing[task].waiting.clear()
        self._incoming[task].waiting.clear()
        self.instances[task] = self._born(task)
        self._greet(self.instances[task])
        return dead.failed_ids()

    # --- checkpoints --------------------------------------------------------------------------

    def checkpoint(self, checkpoints: TesterCheckpoints) -> bool:
        """Save all states after the messages under way; returns whether all instances did."""
        number = checkpoints.begin()
        self._handle(events.FromMaster(messages.TriggerCheckpoint(number, self._epoch)))
        self.settle()
        is_complete = checkpoints.complete(number)
        if is_complete:
            abandoning = tuple(sorted(checkpoints.abandoning))
            completed = messages.CheckpointCompleted(number, self._epoch, abandoning)
            self._handle(events.FromMaster(completed))
            self.settle()
        return is_complete

    def _restore(self, checkpoint: int, failed: Sequence[Fed]) -> None:
        """All begin again with their state of a checkpoint; what was under way is gone."""
        self._epoch += 1
        for queue in self._queues:
            queue.waiting.clear()
        self._calls.clear()
        self._timers.clear()
        self._restored.clear()
        self._is_restoring = True
        try:
            self._send_plan(Restore(checkpoint))
            self._release()
        finally:
            self._is_restoring = False
        for fed in failed:
            self.call_soon(next(iter(self.instances.values())), partial(fed.outcome, False))

    def _release(self) -> None:
        """All have their state: they may go on."""
        if self.checkpoints is not None:
            restored = dict(sorted(self._restored.items()))
            self._send_plan(Restore(self.checkpoints.newest, restored))

    def call_spouts(self, names: Sequence[str]) -> list[bool]:
        """Call next_tuple once in each instance that may emit; returns whether each emitted."""
        emitted: list[bool] = []
        for instance in list(self.instances.values()):
            if instance.name in names and instance.driver.may_emit:
                self.guarded(instance, partial(_call, instance, emitted))
        return emitted

    # --- time ---------------------------------------------------------------------------------

    def advance(self, secs: float) -> None:
        """Let virtual time pass; due events happen in order, each at its time."""
        target = self.clock.now + secs
        self.settle()
        while (due := min(self._due_times(), default=target)) < target:
            self.clock.now = max(self.clock.now, due)
            self.settle()
        self.clock.now = max(self.clock.now, target)
        self.settle()

    def _due_times(self) -> Iterator[float]:
        for instance in self.instances.values():
            if isinstance(instance.driver, BoltDriver) and instance.driver.next_tick < NEVER:
                yield instance.driver.next_tick
        if self._rotation_secs is not None:
            yield self._next_rotation
        if self._timers:
            yield self._timers[0][0]

    def _fire_due(self) -> bool:
        """Let one due event happen; returns whether there was one."""
        now = self.clock.now
        due: list[tuple[float, Callable[[], None]]] = [
            (instance.driver.next_tick, partial(self.guarded, instance, partial(_tick, instance)))
            for instance in self.instances.values()
            if isinstance(instance.driver, BoltDriver) and instance.driver.next_tick <= now
        ]
        if self._rotation_secs is not None and self._next_rotation <= now:
            due.append((self._next_rotation, self._rotate))
        if self._timers and self._timers[0][0] <= now:
            due.append((self._timers[0][0], self._ring))
        if not due:
            return False
        earliest = min(when for when, _ in due)
        first = [act for when, act in due if when == earliest]
        (self.rng.choice(first) if self._random_order else first[0])()
        return True

    def _rotate(self) -> None:
        self._next_rotation += self._rotation_secs or 0.0
        self._handle(events.StreamManagerTimer())

    def _ring(self) -> None:
        _, _, instance, function = heapq.heappop(self._timers)
        self.guarded(instance, function)

    # --- other threads and processes ----------------------------------------------------------

    def _hear_others(self, patience: float | None) -> bool:
        """Wait, in real time, for components' work elsewhere; returns whether a result came."""
        busy = self._busy(patience is None)
        deadline = real_monotonic() + (self.wait_secs if patience is None else patience)
        while busy and not self._calls:
            left = deadline - real_monotonic()
            if left <= 0:
                if patience is not None:
                    return False
                names = ", ".join(f"{each.name}[{each.task}]" for each in busy)
                raise TesterError(
                    f"{names} is not idle after {self.wait_secs:g} real seconds (wait_secs= sets "
                    "the limit; run(wait_secs=…) continues waiting)"
                )
            self._called.wait(min(left, _POLL_SECS))
            self._called.clear()
            busy = [each for each in busy if each.works_elsewhere]
        return bool(self._calls)

    def _busy(self, but_waiting: bool) -> list[TesterInstance]:
        """Instances with work in real time; a wait for virtual time counts only on request."""
        waiting = {instance for _, _, instance, _ in self._timers}
        return [
            each
            for each in self.instances.values()
            if not (but_waiting and (each in waiting or each.waits_for_ticks))
            and each.works_elsewhere
        ]

    # --- the end ------------------------------------------------------------------------------

    def finish(self) -> None:
        """Call the bolts' on_finish, each after its upstream components, with a checkpoint before
        and after where checkpoints are on.
        """
        self.settle()
        self._save_end()
        for level in finish_order(self.shared.topology, self.shared.packing.tasks_of):
            for task in sorted(level):
                instance = self.instances[task]
                self.guarded(instance, partial(instance.order, messages.FinishBolts((task,))))
            self.settle()
        self._save_end()

    def _save_end(self) -> None:
        if self.checkpoints is not None:
            self.checkpoint(self.checkpoints)

    def close(self) -> None:
        """The last calls of user code."""
        for instance in self.instances.values():
            instance.close()


def _age(queue: SenderQueue) -> int:
    return queue.waiting[0][0]


def _call(instance: TesterInstance, emitted: list[bool]) -> None:
    emitted.append(instance.driver.call_once())


def _tick(instance: TesterInstance) -> None:
    instance.driver.tick(instance.shared.clock.now)
