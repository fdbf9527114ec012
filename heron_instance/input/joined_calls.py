"""Many small plain messages through a bolt, with per-message work done once for all.

With many instances a message has few tuples, since each task sends to every task of the next
component, and most of its cost is independent of its size. The messages at the front of the
input are joined if cursor_calls accepts them. Between two messages the clock is read and due
work is done, as between two tuples; the joined call ends when other work comes first. A slow
bolt processes messages one by one.
"""

from heron_core.algorithms.source_watermarks import SourceWatermarks
from heron_core.dead_letters import REPLAYED
from heron_core.hot_rows import CLOCK_EVERY
from heron_core.native import RowCursor, plain_batch
from heron_core.wire.frames import NUMBER_BYTES, Frames
from heron_core.wire.values import is_standard
from heron_instance.consumed import Consumed
from heron_instance.input.cursor_calls import CursorCalls
from heron_instance.input.waiting_input import WaitingInput

JOINED_MESSAGES_MAX = 64
"""Messages joined at a time: their shared cost is then a small part of each."""
JOINED_TUPLES_MAX = 64
"""A larger message is run alone: its tuples share the per-message work."""
NO_ROOT = bytes(NUMBER_BYTES)

Joined = tuple[RowCursor, str, str]
"""What makes the tuples of a message, its source component and stream."""


class JoinedCalls(CursorCalls):
    """Runs the small messages at the front in turn."""

    joins = True
    """Whether small messages may run together; False for drivers that measure each message."""
    source_watermarks: SourceWatermarks

    def _begin_calls(self, started: float) -> None:
        """See BoltDriver."""
        raise NotImplementedError

    def run_together(self, waiting: WaitingInput, consumed: Consumed) -> bool:
        """See ComponentDriver."""
        if not self._may_join():
            return False
        several, started = waiting.several(JOINED_MESSAGES_MAX), self.clock()
        joined = [] if len(several) < 2 else self._plain(several, started)
        if len(joined) < 2:
            return False
        self._takes = True
        try:
            self._run_joined(joined, waiting, consumed, started)
        finally:
            self._takes = self._busy = False
        return True

    def _may_join(self) -> bool:
        is_usual = self.joins and self.uses_cursors and not (self.undoes or self._takes_batches)
        return is_usual and is_standard(self.decode) and self._step >= CLOCK_EVERY

    def _plain(self, several: list[Frames], now: float) -> list[Joined]:
        """Small plain messages at the front; empty if a key sample is due."""
        joined: list[Joined] = []
        if now >= self._key_samples.due:
            return joined
        epoch = max(self.fence, self.keys_since)
        for frames in several:
            plain = plain_batch(frames, epoch)
            one = None if plain is None else self._joined(frames, *plain, now)
            if one is None:
                break
            joined.append(one)
        return joined

    def _joined(
        self, frames: Frames, source: int, stream: int, items: int, now: float
    ) -> Joined | None:
        known = self._sources.get(source)
        if known is None or items > JOINED_TUPLES_MAX or source in self.source_watermarks.ended:
            return None
        component, streams = known
        if component == REPLAYED or stream >= len(streams):
            return None
        parts, name, maker = len(frames), streams[stream], self._values_maker
        cursor = RowCursor(
            self._tuple, component, name, source, now, frames[1], items,
            frames[2] if parts > 2 else None, frames[3] if parts > 3 else None,
            self._keys, self.outbox, self.clock,
            None if maker is None else maker(component, name),
        )  # fmt: skip
        return (cursor, component, name) if cursor.is_plain else None

    def _run_joined(
        self, joined: list[Joined], waiting: WaitingInput, consumed: Consumed, started: float
    ) -> None:
        executed, acks_before = self.metrics.executed, self.outbox.acks_counted
        is_tracked, now = _begins_tracked(waiting.messages[0]), started
        if self.recorder is not None:
            self.recorder.inputs(waiting.several(len(joined)), 0, started)
        self._begin_calls(started)
        for cursor, component, stream in joined:
            frames, _, _ = waiting.take()
            self._messages += 1
            before, now = now, self._run_through(cursor, now)
            if cursor.left:
                waiting.put_back(frames, cursor.items - cursor.left, is_handed=True)
                consumed.worked(now - before)
                break
            consumed.add(frames, before, now)
            self._inputs.add(component, stream, cursor.items)
            if self._step < CLOCK_EVERY or self.preceded() or consumed.is_due(now):
                break
        number = self.metrics.executed - executed
        self._settle_calls(number, is_tracked, started, acks_before)
        if cursor.left:
            self._cut, self._cut_message = cursor, frames


def _begins_tracked(frames: Frames) -> bool:
    """Whether the first tuple of a plain message has a root."""
    return len(frames) > 2 and not frames[2].startswith(NO_ROOT)
