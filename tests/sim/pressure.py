"""The rules of back-pressure, checked while a simulated cluster runs.

A queue over its high-water mark has to be named as a cause; senders into a cause have to be paused
as soon as the message can have arrived; so a queue never holds more than its mark, tuples under way
at the naming, and tuples emitted until the pause arrived. The last sum is exact.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heron_core.config import DROP
from heron_core.wire.batch import targets_of
from heron_core.wire.frames import FrameKind, Frames, header_of, items_of, root_owner, size_of
from heron_core.wire.merged import split
from heron_core.wire.messages import Pause
from heron_engine.stream_manager.events import Instruction, ToLocalControl
from heron_engine.stream_manager.queues import InstanceQueue
from heron_engine.stream_manager.upstream import upstream_of
from tests.sim.checkers import require

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster
    from tests.sim.instances import Instance
    from tests.sim.processes import Manager

PAUSE_ROUNDS = 40
"""Longest way of a Pause: its delay (10 ms, and a round takes 0.5 ms at least), then some rounds in
which the main thread was quicker than the control thread (seed 40022)."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Of data."""

    size_bytes: int = 0
    tuples: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.size_bytes + other.size_bytes, self.tuples + other.tuples)


NOTHING = Amount()


class PressureRules:
    """Limits of queues, and senders allowed to emit."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._upstream = upstream_of(cluster.topology)
        self._allowance: dict[int, Amount] = {}
        """local cause -> allowance over its mark"""
        self._paused_since: dict[int, int] = {}
        """task -> round of the pause at its stream manager"""
        self.pauses = 0
        self.idle_checks = 0
        self.peak_bytes = 0
        self.peak_tuples = 0

    def process_changed(self) -> None:
        """A process died: its messages are not under way any more; causes start from scratch."""
        self._paused_since.clear()

    def emitted(self, instance: "Instance", frames: Frames) -> None:
        """A batch leaves an instance: only an instance without the pause's message may send."""
        replaced = instance in self._cluster.zombies
        shared = instance.core.shared  # a barrier waits for it, or a plan
        may_send = replaced or shared.interrupts
        since = None if may_send else self._paused_since.get(instance.task)
        require(
            since is None or self._cluster.rounds - since < PAUSE_ROUNDS,
            f"task {instance.task} still emits, paused since round {since}",
        )
        amount = _amount_of(frames)
        for task in _targets(frames):
            if task in self._allowance:
                self._allowance[task] += amount

    def after(self, manager: "Manager", instructions: list[Instruction]) -> None:
        """One event was handled by a stream manager."""
        core = manager.core
        told = [each for each in instructions if type(each) is ToLocalControl]
        if told:
            self._follow_pauses(manager, told)
        causes = core.causes()
        for task, queue in core.state.queues.items():
            self._check_handed(manager, task, queue)
            if not queue.waiting and not queue.beyond_bytes:
                self._allowance.pop(task, None)
                continue
            if task in causes and task not in self._allowance:
                self._allowance[task] = self._under_way(task)
            if task not in core.state.trees:  # a spout hears what became of its own tuples
                self._check_waiting(manager, task, queue)

    def _check_waiting(self, manager: "Manager", task: int, queue: InstanceQueue) -> None:
        options = manager.core.state.options
        over = self._allowance.get(task, NOTHING)
        self.peak_bytes = max(self.peak_bytes, queue.queued_bytes)
        self.peak_tuples = max(self.peak_tuples, queue.queued_tuples)
        most = options.high_water_bytes + over.size_bytes
        held = queue.queued_bytes
        if held > most:  # seldom: to look at each message takes its time
            held -= bytes_without_tuples(queue)
        require(held <= most, f"queue of task {task} holds {held} bytes, {most} at most")
        if options.backpressure == DROP:  # which loses what is over the mark in bytes
            return
        tuples, most = queue.queued_tuples, options.high_water_tuples + over.tuples
        require(tuples <= most, f"queue of task {task} holds {tuples} tuples, {most} at most")

    def _check_handed(self, manager: "Manager", task: int, queue: InstanceQueue) -> None:
        """The newest message may go over a limit, as earlier messages were below."""
        if len(queue.handed) < 2 or queue.beyond_bytes:  # a barrier takes all along
            return
        options, newest = manager.core.state.options, queue.handed[-1]
        is_merged = queue.handed_bytes <= options.window_bytes
        before_bytes = queue.handed_bytes - size_of(newest)
        require(
            is_merged or before_bytes < options.window_bytes, f"task {task} was handed too much"
        )
        before = queue.handed_tuples - items_of(newest)
        most = options.high_water_tuples
        require(before <= most, f"task {task} was handed {before} tuples, {most} at most")

    def _follow_pauses(self, manager: "Manager", told: list[ToLocalControl]) -> None:
        core = manager.core
        for each in told:
            # One event may lift a pause and begin another one: the instance hears of both, and may
            # emit in between (seed 400235).
            if each.message == Pause(on=False):
                self._paused_since.pop(each.task, None)
        for task, queue in core.state.queues.items():
            if not core.is_paused(task) or queue.incarnation is None:
                self._paused_since.pop(task, None)
            elif task not in self._paused_since:
                self._paused_since[task] = self._cluster.rounds
                self.pauses += 1

    def _under_way(self, task: int) -> Amount:
        """Tuples on the way to a task's queue now, the queue's own included."""
        cluster = self._cluster
        total = NOTHING
        for manager in cluster.managers.values():
            for peer in manager.core.state.peers.values():
                kept = peer.outgoing.kept()  # what a broken connection has lost is sent again
                waiting = (frames for _, frames in (*peer.waiting(), *kept))
                total = sum((_amount_for(task, frames) for frames in waiting), total)
            for frames in (each[1:] for channel in manager.inbound for each in channel if each[1:]):
                total = sum((_amount_for(task, each) for each in split(frames)), total)
            queue = manager.core.state.queues.get(task)
            if queue is not None:
                numbers = manager.core.statistics()
                held_back = Amount(
                    numbers["waiting_bytes"][task] - queue.pending_bytes,
                    numbers["waiting_tuples"][task] - queue.pending_tuples,
                )
                total += Amount(queue.queued_bytes, queue.queued_tuples) + held_back
        for instance in (*cluster.instances.values(), *cluster.zombies):
            for _, frames in instance.data:
                total = sum((_amount_for(task, each) for each in split(frames)), total)
        return total

    def check_idle(self) -> None:
        """At rest: each pause has a live cause, each cause has its pauses, and trees are where
        their spouts are."""
        cluster = self._cluster
        self.idle_checks += 1
        managers = cluster.managers.values()
        named = {task for manager in managers for task in manager.core.causes()}
        for manager in managers:
            for task, trees in manager.core.state.trees.items():
                owners = set(map(root_owner, trees.roots()))
                require(owners <= {task}, f"task {task} has trees of {owners}")
        components = {task: each.component for task, each in cluster.packing.instances.items()}
        upstream = {name for task in named for name in self._upstream[components[task]]}
        for (_, task), instance in cluster.instances.items():
            wanted = components[task] in upstream
            require(
                instance.paused == wanted,
                f"task {task} is {'paused' if instance.paused else 'running'}, causes: {named}",
            )


def bytes_without_tuples(queue: InstanceQueue) -> int:
    """Of what waits in a queue, barriers and watermarks: both come at their own pace, whether the
    sources are paused or not (seed 400337 of effectively once: six barriers, four watermarks)."""
    handed = queue.handed if queue.beyond_bytes else ()
    return sum(size_of(each) for each in (*queue.waiting, *handed) if not items_of(each))


def _targets(frames: Frames) -> list[int]:
    head = header_of(frames)
    if head.kind == FrameKind.DATA:
        return [head.destination]
    return list(targets_of(frames)) if head.kind == FrameKind.FANOUT else []


def _amount_of(frames: Frames) -> Amount:
    return Amount(size_of(frames), items_of(frames))


def _amount_for(task: int, frames: Frames) -> Amount:
    return _amount_of(frames) if task in _targets(frames) else NOTHING
