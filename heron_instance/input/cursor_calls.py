"""Fast path of a plain message through a bolt: a cursor creates each tuple when needed.

Plain messages, the usual kind, are batches of one stream with numbers, text, bytes, booleans and
None. The path requires compiled code (heron_core/hot_rows.py); interpreted, lists are faster.
Calls and their order are equal on both paths.
"""

from collections.abc import Iterable

from heron_core.dead_letters import REPLAYED
from heron_core.hot_rows import CLOCK_EVERY, SLOW_SECS
from heron_core.native import COMPILED, HOT_PATH, RowCursor
from heron_core.wire.batch import COLUMNS, Batch
from heron_core.wire.frames import Frames, Header
from heron_core.wire.values import is_standard
from heron_instance.input.input_counts import InputCounts
from heron_instance.input.key_samples import PlainRows
from heron_instance.input.tuples import EngineTuple
from heron_instance.input.unrun_messages import UnrunMessages

PROCESS_SAMPLE_SECS = 0.001
"""Between two messages of the sample of process latencies: of many small ones not each."""
EVERY_MESSAGE_TIMED = 16
"""One message in 16 has its first tuples timed, for the percentiles."""


class CursorCalls(UnrunMessages):
    """Tuples of a message through user code without a list of them."""

    uses_cursors = HOT_PATH == COMPILED
    _messages = 0
    _process_due = 0.0
    """When the next message is of the sample of process latencies."""
    _step: int
    _cut: RowCursor | list[EngineTuple] | None = None
    """Factory of the remaining tuples of an interrupted message, or the tuples themselves if
    tracked without a cursor."""
    _cut_message: Frames | None = None
    _inputs: InputCounts

    def _between(self, before: float, now: float) -> int:
        """See BoltDriver."""
        raise NotImplementedError

    def _ends_group(self, secs: float) -> bool:
        """Whether other work comes first behind the current message; `secs` since the first."""
        raise NotImplementedError

    def _count_tuples(self, number: int, is_tracked: bool, started: float, now: float) -> None:
        """See BoltDriver."""
        raise NotImplementedError

    def _cursor(
        self, head: Header, batch: Batch, frames: Frames, started: float
    ) -> RowCursor | None:
        """Factory of a message's tuples; None for messages on the list path."""
        if not self.uses_cursors or self._takes_batches or not is_standard(self.decode):
            return None
        if batch.streams is not None or batch.extras is not None or head.flags & COLUMNS:
            return None
        component, streams = self._source_of(head)
        if component == REPLAYED:
            return None
        stream, maker = streams[head.stream], self._values_maker
        cursor = RowCursor(
            self._tuple, component, stream, head.source, started, batch.body, head.items,
            None if batch.ids is None else frames[2],
            None if batch.run_sizes is None else frames[3], self._keys, self.outbox, self.clock,
            None if maker is None else maker(component, stream),
        )  # fmt: skip
        if not cursor.is_plain:
            return None
        if started >= self._key_samples.due:
            source, rows = (component, stream), PlainRows(batch.body, head.items)
            done, busy_secs = self.metrics.executed, self.metrics.busy_secs
            self._key_samples.take(source, rows, done, started, busy_secs)
        return cursor

    def _cursor_left(self, frames: Frames, first: int) -> RowCursor | None:
        """Factory of an interrupted message, at its position; None without one."""
        if frames is not self._cut_message or not first:
            self._cut = None
        self._cut_message = frames
        return self._cut if isinstance(self._cut, RowCursor) else None

    def _rows_left(self, again: list[EngineTuple]) -> list[EngineTuple]:
        """Tuples of an interrupted message: tuples of a run share their anchor state, which new
        tuples would not."""
        cut, self._cut = self._cut, None
        return cut if isinstance(cut, list) else again

    def _run_cursor(
        self, head: Header, batch: Batch, cursor: RowCursor, started: float
    ) -> int | None:
        """Run the bolt on each remaining tuple; see `deliver` for the result."""
        acks_before, left_before = self.outbox.acks_counted, cursor.left
        self._run_through(cursor, started, self._messages % EVERY_MESSAGE_TIMED == 1)
        left = cursor.left
        is_tracked = bool(batch.ids and batch.ids[0])
        self._settle_calls(left_before - left, is_tracked, started, acks_before)
        self._cut = cursor if left else None
        if left:
            return head.items - left
        self._inputs.count(*self._sources[head.source], head, batch)
        return None

    def _run_through(self, cursor: RowCursor, now: float, is_timed: bool) -> float:
        """Run the bolt on each tuple of a cursor, or until a message is cut; returns the time.
        `is_timed`: whether the first tuples are measured one by one."""
        started = now
        run, clock = self._run_timed if is_timed else self._run, self.clock
        few = CLOCK_EVERY if is_timed else cursor.left
        while cursor.left:
            left: int = cursor.left
            cursor.stretch(self._step if self._step < CLOCK_EVERY else few, now, self.due)
            self._run_some(run, cursor, cursor, cursor)  # type: ignore[arg-type]
            self.metrics.executed += left - cursor.left
            run, few, now = self._run, cursor.left, clock()
            if now < self.due and now - cursor.few_began_at <= SLOW_SECS:
                self._step = CLOCK_EVERY
                continue
            self._step = self._between(cursor.few_began_at, now)
            now = clock()
            if not self._step:
                self._step = 1
                break
            if cursor.left > cursor.left_in_message and self._ends_group(now - started):
                cursor.keep_message()
        return now

    def _settle_calls(
        self, number: int, is_tracked: bool, started: float, acks_before: int
    ) -> None:
        """Calls are over: so many tuples, since then; `acks_before`: were counted then."""
        now = self.clock()
        if self.outbox.acked:
            self.outbox.settle()
        if now >= self._process_due and self.outbox.acks_counted != acks_before:
            self._process_due = now + PROCESS_SAMPLE_SECS
            self.metrics.process.add(now - started)
        self._count_tuples(number, is_tracked, started, now)

    def _row_of(self, rows: RowCursor | list[EngineTuple], source: Iterable[EngineTuple]) -> int:
        if isinstance(rows, RowCursor):
            return int(rows.items - rows.left - 1)
        return super()._row_of(rows, source)

    def _run_timed(self, some: Iterable[EngineTuple]) -> None:
        for tup in some:
            before = self.clock()
            try:
                self._run((tup,))
            finally:
                self.metrics.execute.sample(self.clock() - before)
