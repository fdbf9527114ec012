"""The rules of back-pressure, checked while a simulated cluster runs.

A queue over its high-water mark has to be named as a cause; who sends into a cause has to be paused
as soon as the word can have reached it; so a queue never holds more than its mark, what was under
way when it was named, and what was emitted until the pause arrived. The last is added up exactly.
"""

from typing import TYPE_CHECKING

from heron_core.wire.batch import targets_of
from heron_core.wire.frames import Frames, Kind, header_of, root_owner, size_of
from heron_core.wire.merged import split
from heron_core.wire.messages import Pause
from sim.checkers import require
from stream_manager.events import Instruction, ToLocalControl
from stream_manager.upstream import upstream_of

if TYPE_CHECKING:
    from sim.cluster import Cluster
    from sim.instances import Instance
    from sim.processes import Manager

PAUSE_ROUNDS = 40
"""Longest way of a Pause: its delay (10 ms, and a round takes 0.5 ms at least), then some rounds in
which the main thread was quicker than the control thread (seed 40022)."""


class PressureRules:
    """What queues may hold, and who may emit."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._upstream = upstream_of(cluster.topology)
        self._allowance: dict[int, int] = {}
        """local cause -> bytes it may hold over its mark"""
        self._largest_bytes = 0
        self._paused_since: dict[int, int] = {}
        """task -> since which round its stream manager holds it for paused"""
        self.pauses = 0
        self.idle_checks = 0
        self.peak_bytes = 0

    def process_changed(self) -> None:
        """A process died: what it held is not under way any more; causes start anew."""
        self._paused_since.clear()

    def emitted(self, instance: "Instance", frames: Frames) -> None:
        """A batch leaves an instance: only one that cannot know of a pause yet may send it."""
        replaced = instance in self._cluster.zombies
        since = None if replaced else self._paused_since.get(instance.task)
        require(
            since is None or self._cluster.rounds - since < PAUSE_ROUNDS,
            f"task {instance.task} still emits, paused since round {since}",
        )
        size = size_of(frames)
        self._largest_bytes = max(self._largest_bytes, size)
        for task in _targets(frames):
            if task in self._allowance:
                self._allowance[task] += size

    def after(self, manager: "Manager", instructions: list[Instruction]) -> None:
        """One event was handled by a stream manager."""
        core = manager.core
        told = [each for each in instructions if type(each) is ToLocalControl]
        if told:
            self._follow_pauses(manager, told)
        high = core.state.options.high_water_bytes
        causes = core.causes()
        for task, queue in core.state.queues.items():
            if not queue.waiting:
                if task in self._allowance:
                    del self._allowance[task]
                continue
            if task in causes and task not in self._allowance:
                self._allowance[task] = self._under_way(task)
            held = queue.waiting_bytes
            self.peak_bytes = max(self.peak_bytes, held)
            most = high + self._largest_bytes + self._allowance.get(task, 0)
            require(held <= most, f"queue of task {task} holds {held} bytes, {most} at most")
            handed_most = core.state.options.window_bytes + self._largest_bytes
            require(queue.handed_bytes <= handed_most, f"task {task} was handed too much")

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

    def _under_way(self, task: int) -> int:
        """Bytes on their way to a task's queue now, the queue's own included."""
        cluster = self._cluster
        total = 0
        for manager in cluster.managers.values():
            for peer in manager.core.state.peers.values():
                kept = peer.outgoing.kept()  # what a broken connection has lost is sent again
                total += sum(_bytes_for(task, frames) for _, frames in (*peer.waiting(), *kept))
            for frames in (each[1:] for channel in manager.inbound for each in channel if each[1:]):
                total += sum(_bytes_for(task, each) for each in split(frames))
            queue = manager.core.state.queues.get(task)
            if queue is not None:
                held_back = manager.core.statistics()["waiting_bytes"][task] - queue.held_bytes
                total += sum(map(size_of, queue.waiting)) + held_back
        for instance in (*cluster.instances.values(), *cluster.zombies):
            for _, frames in instance.data:
                total += sum(_bytes_for(task, each) for each in split(frames))
        return total

    def check_idle(self) -> None:
        """Nothing is under way: each pause has a cause that stands, each cause has its pauses, and
        trees are where their spouts are."""
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


def _targets(frames: Frames) -> list[int]:
    head = header_of(frames)
    if head.kind == Kind.DATA:
        return [head.destination]
    return list(targets_of(frames)) if head.kind == Kind.FANOUT else []


def _bytes_for(task: int, frames: Frames) -> int:
    return size_of(frames) if task in _targets(frames) else 0
