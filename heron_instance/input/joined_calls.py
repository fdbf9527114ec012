"""Many small plain messages through a bolt, with per-message work done once for all.

With many instances a message has few tuples, since each task sends to every task of the next
component, and most of its cost is independent of its size. The messages at the front of the
input that are small and plain (cursor_calls.py) form a group, whose tuples come from one cursor, as
those of one message. The clock is read and due work is done as in a message; a group also ends
behind the message under way when other work comes first. A slow bolt processes messages one by
one.
"""

from heron_core.algorithms.source_watermarks import SourceWatermarks
from heron_core.dead_letters import REPLAYED
from heron_core.hot_rows import CLOCK_EVERY
from heron_core.native import RowCursor, join
from heron_core.wire.frames import NUMBER_BYTES, Frames
from heron_core.wire.values import array_of, is_standard
from heron_instance.consumed import Consumed
from heron_instance.input.cursor_calls import EVERY_MESSAGE_TIMED, CursorCalls
from heron_instance.input.key_samples import PlainRows
from heron_instance.input.waiting_input import WaitingInput

JOINED_MESSAGES_MAX = 256
"""In a group: the shared cost is then a small part of each message."""
JOINED_TUPLES_MAX = 64
"""A larger message is run alone: its tuples share the per-message work."""
GROUP_TUPLES_MAX = 1024
"""Of a group, besides the rest of its last message: a usual message of few instances has as
many."""
GROUP_SECS_MAX = 0.005
"""A group ends behind the message under way then: a tenth of the interval of reports on processed
input (consumed.py)."""
NO_ROOT = bytes(NUMBER_BYTES)
NO_ROWS = array_of([])

Origin = tuple[str, str, int]
"""Source component, stream and number of tuples of a message."""


class JoinedCalls(CursorCalls):
    """Runs the small messages at the front together."""

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
        if len(several) < 2:
            return False
        cursor = self._empty_cursor(started)
        origins = self._joined(cursor, several, consumed.room())
        if len(origins) < 2:
            return False
        self._takes = True
        try:
            self._run_group(cursor, origins, waiting, consumed, started)
        finally:
            self._takes = self._busy = False
        return True

    def _may_join(self) -> bool:
        is_usual = self.joins and self.uses_cursors and not (self.undoes or self._takes_batches)
        return is_usual and is_standard(self.decode) and self._step >= CLOCK_EVERY

    def _empty_cursor(self, now: float) -> RowCursor:
        return RowCursor(
            self._tuple, "", "", 0, now, NO_ROWS, 0, None, None, self._keys, self.outbox, self.clock
        )

    def _joined(self, cursor: RowCursor, several: list[Frames], room: int) -> list[Origin]:
        """Add the small plain messages at the front to a cursor, up to `room` bytes and the
        message that exceeds them."""
        return join(
            cursor, several, max(self.fence, self.keys_since), self._sources,
            self.source_watermarks.ended, REPLAYED, self._values_maker, JOINED_TUPLES_MAX,
            GROUP_TUPLES_MAX, room,
        )  # fmt: skip

    def _run_group(
        self,
        cursor: RowCursor,
        origins: list[Origin],
        waiting: WaitingInput,
        consumed: Consumed,
        started: float,
    ) -> None:
        executed, acks_before = self.metrics.executed, self.outbox.acks_counted
        several = waiting.several(len(origins))
        if self.recorder is not None:
            self.recorder.inputs(several, 0, started)
        if started >= self._key_samples.due:
            self._sample(origins, several, started)
        self._begin_calls(started)
        ended = self._run_through(cursor, started, self._is_timed(len(origins)))
        done = cursor.messages_done
        consumed.add_several(several[:done], ended - started, ended)
        for origin in origins[:done]:
            self._inputs.add(*origin)
        is_cut, row = cursor.left_in_message > 0, 0
        if is_cut:
            row = origins[done][2] - cursor.left_in_message
            cursor.keep_message()
        waiting.drop(done, row)
        number = self.metrics.executed - executed
        self._settle_calls(number, _begins_tracked(several[0]), started, acks_before)
        if is_cut:
            self._cut, self._cut_message = cursor, several[done]

    def _sample(self, origins: list[Origin], several: list[Frames], now: float) -> None:
        """Take a sample of the keys of one message."""
        at = self._messages % len(origins)
        component, stream, items = origins[at]
        rows = PlainRows(several[at][1], items)
        done, busy_secs = self.metrics.executed, self.metrics.busy_secs
        self._key_samples.take((component, stream), rows, done, now, busy_secs)

    def _is_timed(self, messages: int) -> bool:
        """Count messages; whether the next tuples are measured one by one."""
        before, self._messages = self._messages, self._messages + messages
        return before // EVERY_MESSAGE_TIMED != self._messages // EVERY_MESSAGE_TIMED

    def _ends_group(self, secs: float) -> bool:
        """See CursorCalls."""
        return self._step < CLOCK_EVERY or secs >= GROUP_SECS_MAX or self.preceded()


def _begins_tracked(frames: Frames) -> bool:
    """Whether the first tuple of a plain message has a root."""
    return len(frames) > 2 and not frames[2].startswith(NO_ROOT)
