"""Part of a bolt's driver for callers that undo calls of user code after an exception.

See heron_instance/attempts.py.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from msgspec import Struct

from heron_core.algorithms.source_watermarks import SourceWatermarks
from heron_core.errors import ProtocolError
from heron_core.flight_records import RecordKind
from heron_core.instance_report import HISTORY
from heron_core.wire.batch import Batch, decode_batch
from heron_core.wire.frames import Frames, Header, header_of
from heron_instance.emit.collector import BoltCollector
from heron_instance.emit.dead_letters import LetterFault, key_of
from heron_instance.input.anchors import AnchorState
from heron_instance.input.bolt_rows import RowMaker
from heron_instance.input.input_counts import InputCounts
from heron_instance.input.raised import Abandoned, UserCodeRaised, line_of
from heron_instance.input.tick_schedule import NEVER, TickSchedule
from heron_instance.input.tuples import EngineTuple


class Totals(Struct, frozen=True):
    """A bolt's counts of its tuples."""

    executed: int
    ticks: int
    sent: int
    acks_counted: int
    acked: int
    """Including counts reported with the next message."""
    failed: int
    failed_for_good: int
    undeclared: int
    watermarks_taken: int
    is_finished: bool
    emits: dict[str, int]


class UndoableCalls(RowMaker):
    """Some tuples of a message, or one tick: calls of user code that end with UserCodeRaised."""

    collector: BoltCollector
    source_watermarks: SourceWatermarks
    can_undo = True
    """Whether the caller can undo effects at all."""
    undoes = False
    """Whether the caller undoes failed calls: every call of user code for tuples or time then ends
    with UserCodeRaised.
    """
    is_trying = False
    """Something is under way that may raise and be tried again."""
    _takes = False
    """Whether the bolt has a batch, perhaps while its values are still being created, for seconds:
    a serializer of user code, the import of pyarrow on a busy machine.
    """
    _before_attempt: Sequence[Totals] = ()
    """Counts before the current attempt, which may be undone. Replaced for each attempt, so that
    another thread detects changes."""
    _is_attempt = False
    """The tuples under way count all together, or not at all."""
    _inputs: InputCounts
    _messages: int
    _busy: bool
    _busy_since: float
    _ticks: TickSchedule
    _flushes_seen: int
    _finished: bool

    def _run_rows(self, rows: list[EngineTuple], started: float) -> int:
        raise NotImplementedError

    def _count(
        self, rows: list[EngineTuple], anchor_states: list[AnchorState], started: float
    ) -> None:
        raise NotImplementedError

    def _raise(self, where: str, row: int | None = None) -> NoReturn:
        """Report the exception being handled; the caller decides the consequence."""
        self.user_error(where)
        error = sys.exc_info()[1]
        raise UserCodeRaised(where, line_of(error), row) from error

    def user_raised(self, where: str) -> None:
        """See ComponentDriver."""
        if self.undoes:
            self._raise(where)
        super().user_raised(where)

    def failed_in(self, where: str) -> None:
        """See ComponentDriver."""
        if self.undoes:
            self._raise(where)
        super().failed_in(where)

    def run_rows(self, frames: Frames, first: int, last: int | None) -> int:
        """Like `deliver`, for tuples `first` to before `last` of a DATA message. Other work does
        not run between them, and their emits are not sent. Returns the size of the message;
        UserCodeRaised names the failing tuple, Abandoned that the rest is void."""
        head = header_of(frames)
        batch = decode_batch(head, frames)
        started = self.clock()
        if self.recorder is not None:
            self.recorder.inputs([frames], first, started)
        try:
            values = self._values(head, batch)
        except ProtocolError:
            raise
        except Exception:
            self._raise("unpacking the values of a batch")
        positions: list[range] = []
        if self._takes_batches:
            some, positions, items = *self._some_batches(batch, values, first, last), head.items
        else:
            rows, _ = self._made(head, batch, values, started)
            some, items = rows[first:last], len(rows)
        self.due = NEVER
        self._messages += 1
        self._busy, self._busy_since = True, started
        self._is_attempt = True
        try:
            if self._run_rows(some, started):
                raise Abandoned
        except UserCodeRaised as raised:
            _put_at(raised, first, positions)
            raise
        finally:
            self._busy = self._is_attempt = False
        self._count(some, [], started)
        self._count_items(head, batch, some, is_last=last is None or last >= items)
        return items

    def _some_batches(
        self, batch: Batch, pieces: list[Any], first: int, last: int | None
    ) -> tuple[list[EngineTuple], list[range]]:
        """The batches of some of the rows of a message, and the positions of the rows of each."""
        parts = self._batches.between(pieces, first, last)
        rows = self._tuples_of(batch, parts, self.clock())
        return rows, [each.rows for each in parts]

    def _count_items(
        self, head: Header, batch: Batch, some: list[EngineTuple], is_last: bool
    ) -> None:
        if is_last:
            self._inputs.count(*self._sources[head.source], head, batch)
        if self._takes_batches:
            self.metrics.executed += sum(each.values.num_rows - 1 for each in some)

    def skip_rows(self, frames: Frames, first: int, last: int | None, fault: LetterFault) -> int:
        """Abandon these tuples of a message: count them as processed, and as letters or final
        failures. Returns the number of tuples.
        """
        head, letters = header_of(frames), self.collector.letters
        items = (head.items if last is None else last) - first
        if self.recorder is not None:
            self.recorder.step(RecordKind.SKIPPED, number=items)
        self.metrics.executed += items
        self.collector.failed += items
        self.collector.failed_for_good += items
        if letters is not None and last is not None:
            for tup in self._rows_between(head, decode_batch(head, frames), first, last):
                if letters.takes(tup, fault):
                    of_batch = tup.values.num_rows if self._takes_batches else 1
                    self.collector.failed_for_good -= of_batch
        return items

    def row_key(self, frames: Frames, row: int) -> int:
        """Identity of a message's tuple across messages."""
        head = header_of(frames)
        batch = decode_batch(head, frames)
        try:
            return key_of(self._rows_between(head, batch, row, row + 1)[0])
        except Exception:  # reported when run
            return 0

    def _rows_between(self, head: Header, batch: Batch, first: int, last: int) -> list[EngineTuple]:
        values = self._values(head, batch)
        if self._takes_batches:
            return self._some_batches(batch, values, first, last)[0]
        return self._made(head, batch, values, self.clock())[0][first:last]

    @property
    def abandoned_count(self) -> int:
        """Number of tuples and calls taken and never to be processed. A call may concern several
        tuples, a window's for instance, without a single one at fault.
        """
        return self.collector.failed_for_good + self.metrics.calls_given_up

    def history(self) -> dict[str, int]:
        """Numbers undone by restores, by names of HISTORY."""
        self.metrics.failed_for_good = self.collector.failed_for_good
        return {name: getattr(self.metrics, name) for name in HISTORY}

    def take_back(self, numbers: Mapping[str, int]) -> None:
        """Restore the counts `history`: later counts are undone, and will be repeated."""
        metrics, calls = self.metrics, self.metrics.calls_given_up
        for name in HISTORY:
            setattr(metrics, name, numbers.get(name, 0))
        self.collector.failed_for_good = metrics.failed_for_good
        metrics.callback_errors -= calls - metrics.calls_given_up

    def totals(self) -> Totals:
        """What is counted, for `set_totals`."""
        routes, outbox = self.collector.router.routes, self.outbox
        return Totals(
            self.metrics.executed, self.metrics.ticks, outbox.sent, outbox.acks_counted,
            outbox.acks_counted + len(outbox.acked),
            self.collector.failed, self.collector.failed_for_good, self.metrics.undeclared,
            self.watermarks_taken, self._finished,
            {name: route.emits[0] for name, route in routes.items()},
        )  # fmt: skip

    def attempt_begins(self, before: Totals) -> None:
        """Totals reported until `attempt_ended`: readers would take a decreasing counter for a
        restart of the process."""
        self._before_attempt = [before]

    def attempt_ended(self) -> None:
        """What is counted now stays."""
        self._before_attempt = []

    def certain_totals(self) -> Totals:
        """What is counted, without the attempt under way; from any thread."""
        while True:
            seen = self._before_attempt
            totals = seen[0] if seen else self.totals()
            if seen is self._before_attempt:
                return totals

    def set_totals(self, before: Totals) -> None:
        """All that was counted since then has not happened."""
        self.metrics.executed, self.metrics.ticks = before.executed, before.ticks
        self.outbox.sent, self.outbox.acks_counted = before.sent, before.acks_counted
        self.collector.failed = before.failed
        self.collector.failed_for_good = before.failed_for_good
        self.metrics.undeclared = before.undeclared
        self.watermarks_taken, self._finished = before.watermarks_taken, before.is_finished
        for name, number in before.emits.items():
            self.collector.router.routes[name].emits[0] = number

    def follow(self, before: "UndoableCalls") -> None:
        """Continue in the process with the counts of the previous driver, under an unchanged
        plan: messages exchanged with neighbours remain valid."""
        self.watermarks_taken = before.watermarks_taken
        self.watermarks.go_on(before.watermarks)
        self._ticks, self._flushes_seen = before._ticks, -1
        self._finished = before._finished
        self.is_trying, self.undoes = before.is_trying, before.undoes

    def known_watermarks(self) -> list[tuple[int, int]]:
        """See ComponentDriver."""
        return list(self.source_watermarks.known())

    def tell_again(self, watermarks: SourceWatermarks) -> None:
        """Repeat the sources' watermarks for a new object of the component."""
        self.source_watermarks = watermarks
        for source, watermark_ms in watermarks.known():
            component, _ = self._sources[source]
            self.component.source_watermark(component, source, watermark_ms)
        if watermarks.has_any:
            self.component.on_watermark(watermarks.lowest_ms)


def _put_at(raised: UserCodeRaised, first: int, positions: list[range]) -> None:
    """Locate the tuple of the message that failed: `row` counts among the tuples that were run,
    from `first` on, or as batches of the rows at `positions`.
    """
    if raised.row is None:
        return
    if positions:
        raised.row, raised.rows = positions[raised.row].start, len(positions[raised.row])
    else:
        raised.row += first
