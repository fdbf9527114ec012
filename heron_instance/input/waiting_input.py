"""Messages delivered to a bolt and not yet processed, in order of processing."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from heron_core.errors import ProtocolError
from heron_core.plans import PackingPlan
from heron_core.state.saved_input import InputSource, SavedInput
from heron_core.topology import TopologySpec
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.packets import check_barrier, checkpoint_of

SAVED = (FrameKind.DATA, FrameKind.WATERMARK)
"""Kinds of messages in a checkpoint's saved input. Barriers ahead of the overtaking barrier belong
to other checkpoints."""


class WaitingInput:
    """Messages in order: remaining saved input of a checkpoint, then messages of the stream
    manager."""

    def __init__(self) -> None:
        self.messages: deque[Frames] = deque()
        self.row = 0
        """Of the first message: tuples before the row are processed."""
        self._restored = 0
        """Number of messages at the front from a checkpoint: no stream manager waits for a report
        of them."""

    def extend(self, messages: Iterable[Frames]) -> None:
        """Some more have come."""
        self.messages.extend(messages)

    def take(self) -> tuple[Frames, int, bool]:
        """Remove the first message: the message, its first unprocessed row, and whether the message
        came from the stream manager."""
        row, self.row = self.row, 0
        if not self._restored:
            return self.messages.popleft(), row, True
        self._restored -= 1
        return self.messages.popleft(), row, False

    def several(self, most: int) -> list[Frames]:
        """Up to `most` messages at the front; empty if some of them are from a checkpoint, or the
        first is partly processed."""
        return [] if self.row or self._restored else list(islice(self.messages, most))

    def drop(self, messages: int, row: int) -> None:
        """So many messages of `several` are processed, and the next one's tuples before `row`."""
        for _ in range(messages):
            self.messages.popleft()
        self.row = row

    def put_back(self, frames: Frames, row: int, is_handed: bool) -> None:
        """Return a message to the front, with unprocessed tuples from `row` on."""
        self.messages.appendleft(frames)
        self.row = row
        self._restored += not is_handed

    def restore(self, saved: SavedInput) -> None:
        """Put `saved` in front after a restore, in place of earlier saved input. Messages delivered
        under the previous plan stay, because the stream manager waits for a report of them."""
        for _ in range(self._restored):
            self.messages.popleft()
        self.messages.extendleft(reversed(saved.messages))
        self._restored, self.row = len(saved.messages), saved.first_row

    def before(self, epoch: int, checkpoint: int) -> tuple[Frames, list[Frames]] | None:
        """A checkpoint's barrier, and the messages ahead of the barrier; None before its
        arrival."""
        for at, frames in enumerate(self.messages):
            if _is_barrier(frames, epoch, checkpoint):
                return frames, list(islice(self.messages, at))
        return None

    def validate(self) -> None:
        """AssertionError if the counts are inconsistent."""
        assert 0 <= self._restored <= len(self.messages), "more is restored than there is"
        assert not self.row or self.messages, "rows of nothing are processed"


def _is_barrier(frames: Frames, epoch: int, checkpoint: int) -> bool:
    try:
        head = header_of(frames)
        if head.kind != FrameKind.BARRIER or head.epoch != epoch:
            return False
        check_barrier(head, frames)
    except ProtocolError:  # which is said when its turn comes
        return False
    return checkpoint_of(frames) == checkpoint


def saved_input(
    messages: Sequence[Frames],
    first_row: int,
    fence: int,
    packing: PackingPlan,
    topology: TopologySpec,
) -> SavedInput:
    """The input to be saved in a checkpoint: messages of epochs from `fence` on, with their
    sources."""
    kept: list[Frames] = []
    sources: dict[int, InputSource] = {}
    for at, frames in enumerate(messages):
        try:
            head = header_of(frames)
        except ProtocolError:  # which is said when its turn comes
            continue
        if head.epoch < fence or head.kind not in SAVED or head.source not in packing.instances:
            continue
        first_row = first_row if at == 0 or kept else 0
        kept.append(frames)
        if head.source not in sources:
            sources[head.source] = _source(head.source, packing, topology)
    return SavedInput(tuple(kept), first_row if kept else 0, sources)


def _source(task: int, packing: PackingPlan, topology: TopologySpec) -> InputSource:
    component = packing.instances[task].component
    tasks = list(packing.tasks_of[component])
    streams = tuple(each.name for each in topology.by_name[component].outputs)
    return InputSource(component, tasks.index(task), len(tasks), streams)
