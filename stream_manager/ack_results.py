"""What spouts are told of their roots: done, failed, or expired."""

from array import array

from heron_core.wire.frames import Frames, Header, Kind
from heron_core.wire.packets import decode_pairs, decode_roots, encode_roots
from stream_manager import events
from stream_manager.container_state import Places
from stream_manager.options import Options

Out = list[events.Instruction]


class Results:
    """Applies acks and fails to the trees of the spouts here, and tells the spouts."""

    def __init__(self, places: Places, options: Options) -> None:
        self._places = places
        self._options = options
        self._untold: dict[int, list[Frames]] = {}
        """What became of roots of a spout whose tuples came before its registration."""
        self._next_rotation: float | None = None
        self.epoch = 0
        """Of the plan, for the frames."""

    def settle(self, head: Header, frames: Frames, out: Out) -> None:
        """An ACK or FAIL message for a spout here; KeyError if there is no such spout."""
        trees = self._places.trees[head.destination]
        if head.kind == Kind.ACK:
            self._tell(Kind.ACKED, head.destination, trees.apply(decode_pairs(head, frames)), out)
        else:
            self._tell(Kind.FAILED, head.destination, trees.fail(decode_roots(head, frames)), out)

    def fail_all(self, out: Out) -> None:
        """Give all trees up: nobody knows which of them miss something."""
        for task, trees in self._places.trees.items():
            self._tell(Kind.FAILED, task, trees.clear(), out)

    def rotate(self, now: float, out: Out) -> None:
        """Let expire what has had its time."""
        timeout, buckets = self._options.message_timeout_secs, self._options.expiry_buckets
        if timeout is None:
            return
        if self._next_rotation is None:
            self._next_rotation = now + timeout / buckets
        while now >= self._next_rotation:
            self._next_rotation += timeout / buckets
            for task, trees in self._places.trees.items():
                self._tell(Kind.EXPIRED, task, trees.rotate(), out)

    def _tell(self, kind: Kind, task: int, roots: "array[int]", out: Out) -> None:
        if not roots:
            return
        frames = encode_roots(kind, self.epoch, 0, task, roots)
        incarnation = self._places.queues[task].incarnation
        if incarnation is None:
            self._untold.setdefault(task, []).append(frames)
        else:
            out.append(events.ToLocal(task, incarnation, frames))

    def hello(self, task: int, incarnation: int, out: Out) -> None:
        """A spout registers: it is told what came before its registration."""
        for untold in self._untold.pop(task, ()):
            out.append(events.ToLocal(task, incarnation, untold))

    def forget(self, task: int) -> None:
        """The spout is not served here any more."""
        self._untold.pop(task, None)
