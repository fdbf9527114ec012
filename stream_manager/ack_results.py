"""What spouts are notified of about their roots: done, failed, or expired."""

from array import array

from heron_core.wire.frames import Frames, Kind
from heron_core.wire.packets import encode_roots
from stream_manager import events
from stream_manager.container_state import ContainerState

Out = list[events.Instruction]


class AckResults:
    """Applies acks and fails to the trees of the spouts here, and notifies the spouts."""

    def __init__(self, state: ContainerState) -> None:
        self._state = state
        self._unsent: dict[int, list[Frames]] = {}
        """What became of roots of a spout whose tuples came before its registration."""
        self._next_rotation: float | None = None

    def acked(self, spout: int, pairs: "array[int]", out: Out) -> None:
        """Acks (root, xor of edges) for a spout here."""
        self._notify(Kind.ACKED, spout, self._state.trees[spout].apply(pairs), out)

    def failed(self, spout: int, roots: "array[int]", out: Out) -> None:
        """Failed roots of a spout here."""
        self._notify(Kind.FAILED, spout, self._state.trees[spout].fail(roots), out)

    def fail_all(self, out: Out) -> None:
        """Give all trees up: nobody knows which of them miss something."""
        for task, trees in self._state.trees.items():
            self._notify(Kind.FAILED, task, trees.clear(), out)

    def rotate(self, out: Out) -> None:
        """Let expire what has had its time."""
        now, options = self._state.now, self._state.options
        if options.message_timeout_secs is None:
            return
        bucket_secs = options.message_timeout_secs / options.expiry_buckets
        if self._next_rotation is None:
            self._next_rotation = now + bucket_secs
        while now >= self._next_rotation:
            self._next_rotation += bucket_secs
            for task, trees in self._state.trees.items():
                self._notify(Kind.EXPIRED, task, trees.rotate(), out)

    def _notify(self, kind: Kind, task: int, roots: "array[int]", out: Out) -> None:
        if not roots:
            return
        frames = encode_roots(kind, self._state.epoch, 0, task, roots)
        incarnation = self._state.queues[task].incarnation
        if incarnation is None:
            self._unsent.setdefault(task, []).append(frames)
        else:
            out.append(events.ToLocal(task, incarnation, frames))

    def registered(self, task: int, incarnation: int, out: Out) -> None:
        """A spout registers: it is notified of what came before its registration."""
        for frames in self._unsent.pop(task, ()):
            out.append(events.ToLocal(task, incarnation, frames))

    def forget(self, task: int) -> None:
        """The spout is not served here any more."""
        self._unsent.pop(task, None)

    def validate(self) -> None:
        """AssertionError unless results wait for spouts that have not registered yet only."""
        for task in self._unsent:
            assert task in self._state.trees
            assert self._state.queues[task].incarnation is None
