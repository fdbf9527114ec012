"""The way to other stream managers: a queue for each, for when its socket takes no more.

A queue over its high-water mark names as causes of back-pressure all tasks that it holds something
for.
"""

from collections.abc import Iterable, Sequence

from heron_core.config import DROP
from heron_core.wire.frames import Frames
from heron_core.wire.messages import BackPressureCause
from stream_manager import events
from stream_manager.options import Options
from stream_manager.queues import PeerQueue

Out = list[events.Instruction]


class Peers(dict[int, PeerQueue]):
    """container -> the queue towards its stream manager."""

    def __init__(self, containers: Iterable[int], options: Options) -> None:
        super().__init__({each: PeerQueue() for each in containers})
        self._options = options

    @property
    def blocked(self) -> list[int]:
        """Peers whose socket is to be watched until it takes messages again."""
        return [each for each, queue in self.items() if queue.blocked]

    @property
    def causes(self) -> set[int]:
        """Tasks named as causes because a peer takes nothing for them."""
        return {task for queue in self.values() for task in queue.causes}

    def become(self, containers: Iterable[int]) -> dict[int, PeerQueue]:
        """These are the peers from now on; returns those that are gone, with their queues."""
        wanted = set(containers)
        gone = {each: self.pop(each) for each in self.keys() - wanted}
        self.update((each, PeerQueue()) for each in wanted - self.keys())
        return gone

    def send(self, container: int, destination: int, frames: Frames, out: Out) -> bool:
        """Send, or let it wait behind what waits; False if it was not taken because the queue is
        full and back-pressure drops."""
        queue = self[container]
        if not queue.blocked:
            out.append(events.ToPeer(container, destination, frames))
            return True
        full = queue.waiting_bytes > self._options.high_water_bytes
        if full and destination and self._options.backpressure == DROP:
            return False
        queue.put(destination, frames)
        return True

    def changed_causes(self, container: int, newest: set[int]) -> Sequence[BackPressureCause]:
        """What a queue names as causes, or lifts, after a change.

        Over its mark it names all tasks that it holds something for. Until it is below its
        low-water mark, `newest` (the tasks of added messages) join them.
        """
        queue = self[container]
        if queue.causes and queue.waiting_bytes <= self._options.low_water_bytes:
            lifted, queue.causes = queue.causes, set()
            return [BackPressureCause(task, False) for task in sorted(lifted)]
        if queue.causes or queue.waiting_bytes > self._options.high_water_bytes:
            held = newest if queue.causes else {task for task, _ in queue.waiting}
            fresh = held - queue.causes - {0}
            queue.causes |= fresh
            return [BackPressureCause(task, True) for task in sorted(fresh)]
        return ()
