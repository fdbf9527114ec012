"""Runs tuples through user code, and isolates tuples with exceptions.

A row is a tuple, also for a bolt that takes batches: if `process_batch` raises, the batch is run
again in halves, recursively, down to the rows at fault; they fail, and all others are processed.
Emits before the exception are already sent. So without tracking the rows of a call with emits
are not run again, because their output would count twice: they fail together. With checkpoints
all effects of a call are undone first (heron_instance/attempts.py).
"""

from collections.abc import Callable, Iterable
from operator import length_hint
from typing import Any

from heron_instance.input.anchors import is_settled
from heron_instance.input.raised import line_of
from heron_instance.input.tuples import EngineTuple
from heron_instance.input.undoable import UndoableCalls

Run = Callable[[Iterable[EngineTuple]], None]


class DividingCalls(UndoableCalls):
    """Runs tuples of a message through user code; an exception affects only its own tuple."""

    divides = True
    """Whether a batch may be run again in halves: a call is complete when it returns."""
    _run: Run
    _deliveries_before = 0
    """Deliveries sent and buffered before the current call, for a bolt that takes batches."""

    def run_due(self, now: float) -> None:
        """See BoltDriver."""
        raise NotImplementedError

    def _run_some(
        self,
        run: Run,
        some: Iterable[EngineTuple],
        rows: list[EngineTuple],
        source: Iterable[EngineTuple],
    ) -> None:
        while True:
            try:
                run(some)
                return
            except Exception as error:
                # The failing tuple: the last one taken.
                row, raised = self._row_of(rows, source), error
                if not self._is_divisible(rows[row]):
                    self._process_failed(rows, row)
                    continue
            self._divide_at(rows, row, raised)

    def _row_of(self, rows: list[EngineTuple], source: Iterable[EngineTuple]) -> int:
        """Index of the row taken last."""
        return len(rows) - 1 - length_hint(source)

    def _one_by_one(self, run: Run) -> Run:
        """Run the user code on batches one by one, recording the emits before each."""
        outbox = self.outbox

        def looking(some: Iterable[EngineTuple]) -> None:
            for tup in some:
                self._deliveries_before = outbox.deliveries
                run((tup,))

        return looking

    def _process_failed(self, rows: list[EngineTuple], row: int) -> None:
        """Fail only the tuple with the exception; other tuples and the process continue. With
        Heron's policy the process ends and is restarted; where effects can be undone, they are
        undone instead."""
        tup = rows[row]
        if self.recorder is not None:
            self.recorder.failing = tup.values
        where = f"process of a tuple from {tup.component}.{tup.stream}"
        if self.undoes:
            self._raise(where, row)
        self.failed_in(where)
        if self._handle is not None:
            return
        self._fail(tup)
        if self.options.stops_on_exception:
            self.stop_topology(where)
        if self.options.exits_on_exception:
            self.outbox.flush()  # emits before the exception, e.g. a letter
            self.leave(
                "process raised, and topology.bolt.on.exception is exit: "
                f"{(self.metrics.last_error or '').strip().splitlines()[-1]}"
            )

    def _fail(self, tup: EngineTuple) -> None:
        (self.collector.fail_batch if self._takes_batches else self.collector.fail)(tup)

    # --- batches ----------------------------------------------------------------------------------

    def _is_divisible(self, tup: EngineTuple) -> bool:
        """Whether the rows of a failed batch may run again in smaller batches."""
        if not self._takes_batches or self.undoes or not self.divides:
            return False
        if self._message is None or tup.values.num_rows < 2:
            return False
        outbox = self.outbox
        is_acked = any(each is tup for each in outbox.acked)
        outbox.settle()
        if is_acked or is_settled(tup):
            return False  # the user's own settlement counts
        return outbox.tracked or outbox.deliveries == self._deliveries_before

    def _divide_at(self, rows: list[EngineTuple], row: int, raised: Exception) -> None:
        """Run the rows of a failed batch again in smaller batches."""
        assert self._message is not None, "_is_divisible has looked"
        errors, tup = self.metrics.errors, rows[row]
        self._divide(self._message[1][row], tup)
        if self.metrics.errors == errors:  # or else they are told of
            self.record_error(
                f"process of a batch from {tup.component}.{tup.stream} raised, but of none of its"
                f" {tup.values.num_rows} rows in smaller ones",
                line_of(raised),
            )

    def _divide(self, piece: Any, tup: EngineTuple) -> None:
        assert self._message is not None, "_is_divisible has looked"
        batch = self._message[0]
        for half in self._batches.halves(batch, piece, tup):
            rows = self._tuples_of(batch, [half], self.clock())
            if not self._has_run(rows):
                self._divide(half, rows[0])
            now = self.clock()
            if now >= self.due:
                self.run_due(now)

    def _has_run(self, rows: list[EngineTuple]) -> bool:
        """Run one batch; False if the batch failed and must be divided."""
        try:
            self._run(rows)
        except Exception:
            if self._is_divisible(rows[0]):
                return False
            self._process_failed(rows, 0)
        return True
