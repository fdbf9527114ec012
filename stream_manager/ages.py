"""Ages of the oldest message and the oldest root of each location, for the minimum clock."""

from collections.abc import Mapping
from typing import Any

from heron_core.algorithms.finished_until import FinishedUntil, OpenNumbers
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.gates import Gates
from heron_engine.stream_manager.peer_queue import PeerQueue
from heron_engine.stream_manager.queues import InstanceQueue

BLOCKED = OpenNumbers(0, 0)
"""Messages behind a barrier have no order with the messages that pass: all are as old as the first
one."""


class Ages:
    """Bounds of all queues, trees and links of a container.

    Observations come with the heartbeats: an age is exact to the time between two. The milliseconds
    of a message between two processes are not observed.
    """

    def __init__(self, state: ContainerState, gates: Gates | None) -> None:
        self._state = state
        self._gates = gates
        self._observed_at: float | None = None
        self._bounds: dict[tuple[str, int], tuple[object, FinishedUntil]] = {}
        """(location, task or container) -> (the queue or the trees, their bound)"""

    def observe(self) -> None:
        """Observe all locations, at the time of the current event."""
        state, known = self._state, self._bounds
        self._bounds = {}
        for task, queue in state.queues.items():
            if queue.is_fed:
                self._observe(known, ("queue", task), queue, _open_messages(queue))
                if self._gates is not None:
                    blocked = BLOCKED if self._gates.blocked_tuples(task) else None
                    self._observe(known, ("gate", task), queue, blocked)
        for task, trees in state.trees.items():
            self._observe(known, ("trees", task), trees, trees.open_roots())
        for container, peer in state.peers.items():
            self._observe(known, ("link", container), peer.outgoing, _unacknowledged(peer))
        self._observed_at = state.now

    def _observe(
        self,
        known: Mapping[tuple[str, int], tuple[object, FinishedUntil]],
        name: tuple[str, int],
        of: object,
        numbers: OpenNumbers | None,
    ) -> None:
        """A queue of a new plan, or trees of a new process, are newer than the last observation."""
        now = self._state.now
        before, bound = known.get(name, (None, None))
        if bound is None or (before is not of and name[0] != "link"):
            bound = FinishedUntil(now if self._observed_at is None else self._observed_at)
        elif before is not of:  # it numbers what it had not sent from 1 on
            bound = FinishedUntil(bound.at)
        bound.observe(now, numbers)
        self._bounds[name] = of, bound

    def statistics(self) -> dict[str, Any]:
        """Ages in seconds, at the time of the current event: of the oldest message for each local
        bolt, of the oldest root of each local spout, and of the oldest message on its way to each
        other container."""
        now = self._state.now
        ages = {name: now - bound.at for name, (_, bound) in self._bounds.items()}
        return {
            "oldest_message_secs": {
                task: max(age, ages.get(("gate", task), 0.0))
                for (location, task), age in ages.items()
                if location == "queue"
            },
            "oldest_root_secs": _of("trees", ages),
            "oldest_link_secs": _of("link", ages),
        }


def _of(location: str, ages: Mapping[tuple[str, int], float]) -> dict[int, float]:
    return {number: age for (each, number), age in ages.items() if each == location}


def _open_messages(queue: InstanceQueue) -> OpenNumbers | None:
    """Messages of a queue, numbered by its order."""
    messages = len(queue.waiting) + len(queue.handed)
    return OpenNumbers(queue.left, queue.left + messages - 1) if messages else None


def _unacknowledged(peer: PeerQueue) -> OpenNumbers | None:
    """Messages of a link by their numbers. Several that wait may become one, so the newest is at
    most their number ahead."""
    first, last = peer.outgoing.kept_numbers
    waiting = len(peer.unnumbered)
    return OpenNumbers(first, last + waiting) if waiting or first <= last else None
