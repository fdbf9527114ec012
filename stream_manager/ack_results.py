"""Results of roots for their spouts: done, failed, or expired."""

from array import array
from collections.abc import Container, Iterator

from heron_core.wire.frames import FrameKind
from heron_core.wire.merged import merge
from heron_core.wire.packets import encode_roots
from heron_engine.stream_manager import events
from heron_engine.stream_manager.container_state import ContainerState

Out = list[events.Instruction]


class AckResults:
    """Applies acks and fails to the trees of the spouts here, and notifies the spouts."""

    def __init__(self, state: ContainerState) -> None:
        self._state = state
        self._unsent: dict[int, dict[FrameKind, array[int]]] = {}
        """Failed roots of a spout not yet notified of them: the spout is unregistered, or still
        processes the previous notification. Completed roots remain with their trees."""
        self.settled: set[int] = state.forwarder.settled
        """Spouts with completed trees, to be notified."""
        self._next_rotation: float | None = None

    def acked(self, spout: int, pairs: "array[int]") -> None:
        """Acks (root, xor of edges) for a spout here."""
        trees = self._state.trees[spout]
        trees.apply(pairs)
        if trees.done:
            self.settled.add(spout)

    def failed(self, spout: int, roots: "array[int]") -> None:
        """Failed roots of a spout here."""
        self._notify(FrameKind.FAILED, spout, self._state.trees[spout].fail(roots))

    def fail_all(self, spouts: Container[int] | None = None) -> None:
        """Fail all trees, or those of some tasks: any of them may be incomplete."""
        for task, trees in self._state.trees.items():
            if spouts is None or task in spouts:
                self._notify(FrameKind.FAILED, task, trees.clear())

    def rotate(self) -> None:
        """Expire overdue trees."""
        now, options = self._state.now, self._state.options
        if options.message_timeout_secs is None:
            return
        bucket_secs = options.message_timeout_secs / options.expiry_buckets
        if self._next_rotation is None:
            self._next_rotation = now + bucket_secs
        while now >= self._next_rotation:
            self._next_rotation += bucket_secs
            for task, trees in self._state.trees.items():
                self._notify(FrameKind.EXPIRED, task, trees.rotate())

    def _notify(self, kind: FrameKind, task: int, roots: "array[int]") -> None:
        if roots:
            self._unsent.setdefault(task, {}).setdefault(kind, array("Q")).extend(roots)

    def send(self, out: Out) -> None:
        """Notify each spout that has processed its previous notification."""
        for task in self._unsent.keys() | self.settled:
            queue = self._state.queues[task]
            if queue.incarnation is None or not queue.is_open:
                continue
            for kind, roots in self._outcome_of(task):
                queue.offer(encode_roots(kind, self._state.epoch, 0, task, roots))
            while messages := queue.take(self._state.now):
                out.append(events.ToLocal(task, queue.incarnation, merge(messages)))

    def _outcome_of(self, task: int) -> Iterator[tuple[FrameKind, "array[int]"]]:
        """Results of a spout's roots not yet reported to the spout."""
        self.settled.discard(task)
        if done := self._state.trees[task].take_done():
            yield FrameKind.ACKED, done
        yield from self._unsent.pop(task, {}).items()

    def forget(self, task: int) -> None:
        """The spout is not served here any more."""
        self._unsent.pop(task, None)
        self.settled.discard(task)

    def validate(self) -> None:
        """AssertionError unless results belong to local spouts."""
        assert self._unsent.keys() | self.settled <= self._state.trees.keys()
        assert self.settled == {task for task, trees in self._state.trees.items() if trees.done}
