"""Drivers of a topology with traces of sampled tuple trees (topology.trace.sample).

Only such topologies use these drivers, so tracing has no overhead otherwise. The control thread
collects the records.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from heron_core.native import RowCursor
from heron_core.traces import (
    ACKED,
    EXECUTED,
    EXPIRED,
    FAILED,
    MASK,
    MULTIPLIER,
    NO_TASK,
    RAISED,
    Execution,
    limit_of,
    sampled,
)
from heron_core.wire.batch import Batch
from heron_core.wire.frames import FrameKind, Frames, Header, header_of
from heron_core.wire.packets import decode_roots
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.driver import Clock
from heron_instance.input.spout import SpoutDriver

EXECUTIONS_MAX = 1000
"""Between two reports; the oldest are left out. That is a report of 60 KiB."""
OPEN_MAX = 1000
"""Trees of a spout that are traced at once; of more, the oldest are left out."""
OUTCOMES: dict[int, str] = {
    FrameKind.ACKED: ACKED,
    FrameKind.FAILED: FAILED,
    FrameKind.EXPIRED: EXPIRED,
}

Run = Callable[[Iterable[Any]], None]


class Tracer:
    """Executions of traced trees in one instance."""

    def __init__(self, one_in: int, clock: Clock) -> None:
        self.clock = clock
        self._limit = limit_of(one_in)
        self._executions: deque[Execution] = deque(maxlen=EXECUTIONS_MAX)
        self._open: dict[int, float] = {}
        """Of a spout: root -> when it was emitted."""

    def bolt_driver(self, *arguments: Any) -> BoltDriver:
        """Like BoltDriver, with recording."""
        return TracedBoltDriver(self, *arguments)

    def spout_driver(self, *arguments: Any) -> SpoutDriver:
        """Like SpoutDriver, with recording."""
        return TracedSpoutDriver(self, *arguments)

    def take(self) -> list[Execution]:
        """What was noted since the last call; from another thread."""
        taken, executions = [], self._executions
        while executions:
            taken.append(executions.popleft())
        return taken

    # --- a bolt -------------------------------------------------------------------------------

    def roots_of(self, batch: Batch) -> set[int]:
        """The roots of a batch that are traced."""
        if batch.ids is None:
            return set()
        roots = sampled(batch.ids[::2], self._limit)
        if batch.extras is not None:
            roots |= sampled(batch.extras[1::2], self._limit)
        return roots

    def executed(self, execution: Execution) -> None:
        """Tuples of a batch were executed."""
        self._executions.append(execution)

    # --- a spout ------------------------------------------------------------------------------

    def roots(self, next_root: Callable[[], int]) -> Callable[[], int]:
        """`next_root`, which notes when a traced tree begins."""
        limit, begin = self._limit, self._begin

        def traced_root() -> int:
            root = next_root()
            if (root * MULTIPLIER & MASK) < limit:
                begin(root)
            return root

        return traced_root

    def _begin(self, root: int) -> None:
        if len(self._open) >= OPEN_MAX:
            del self._open[next(iter(self._open))]
        self._open[root] = self.clock()

    def settled(self, roots: Iterable[int], outcome: str) -> None:
        """What became of some trees."""
        if not self._open:
            return
        now = self.clock()
        for root in self._open.keys() & set(roots):
            began = self._open.pop(root)
            ended = Execution(root, NO_TASK, began, began, now, 0.0, 1, outcome)
            self._executions.append(ended)

    def all_failed(self) -> None:
        """Record all open trees as failed: their outcome will not be reported."""
        self.settled(list(self._open), FAILED)


class TracedBatch:
    """Runs the tuples of a batch, and looks at the clock around those of traced roots."""

    def __init__(self, roots: set[int], run: Run, clock: Clock) -> None:
        self._roots = roots
        self._run = run
        self._clock = clock
        self._found: dict[int, Execution] = {}

    def run(self, some: Iterable[Any]) -> None:
        """As the driver's own."""
        run, roots = self._run, self._roots
        for tup in some:
            own = roots.intersection(tup.roots[::2]) if tup.roots else ()
            if own:
                self._run_traced(tup, own)
            else:
                run((tup,))

    def _run_traced(self, tup: Any, own: Iterable[int]) -> None:
        began, outcome = self._clock(), RAISED
        try:
            self._run((tup,))
            outcome = EXECUTED
        finally:
            ended = self._clock()
            for root in own:
                self._note(root, began, ended, outcome)

    def _note(self, root: int, began: float, ended: float, outcome: str) -> None:
        known = self._found.get(root)
        if known is None:
            known = Execution(root, NO_TASK, began, began, ended, 0.0, 0, EXECUTED)
        self._found[root] = known._replace(
            ended=ended,
            busy_secs=known.busy_secs + ended - began,
            tuples=known.tuples + 1,
            outcome=RAISED if outcome == RAISED else known.outcome,
        )

    def executions(self, source: int, came: float) -> Iterable[Execution]:
        """Executions of a batch, by sending task and arrival time."""
        return (each._replace(source=source, came=came) for each in self._found.values())


class TracedBoltDriver(BoltDriver):
    """A bolt's driver that records executions of traced trees."""

    joins = False

    def __init__(self, tracer: Tracer, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tracer = tracer

    def take_executions(self) -> list[Execution]:
        """See ComponentDriver."""
        return self._tracer.take()

    def _cursor(
        self, head: Header, batch: Batch, frames: Frames, started: float
    ) -> RowCursor | None:
        if self._tracer.roots_of(batch):
            return None
        return super()._cursor(head, batch, frames, started)

    def _run_batch(
        self, head: Header, batch: Batch, values: list[Any], started: float, first: int
    ) -> int | None:
        roots = self._tracer.roots_of(batch)
        if not roots:
            return super()._run_batch(head, batch, values, started, first)
        usual = self._run
        traced = TracedBatch(roots, usual, self.clock)
        self._run = traced.run
        try:
            return super()._run_batch(head, batch, values, started, first)
        finally:
            self._run = usual
            for execution in traced.executions(head.source, started):
                self._tracer.executed(execution)


class TracedSpoutDriver(SpoutDriver):
    """A spout's driver that notes how long traced trees took."""

    def __init__(self, tracer: Tracer, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tracer = tracer

    def take_executions(self) -> list[Execution]:
        """See ComponentDriver."""
        return self._tracer.take()

    def deliver(self, frames: Frames, first: int = 0) -> None:
        """See ComponentDriver."""
        super().deliver(frames)
        head = header_of(frames)
        self._tracer.settled(decode_roots(head, frames), OUTCOMES[head.kind])

    def fail_all(self) -> None:
        """See ComponentDriver."""
        super().fail_all()
        self._tracer.all_failed()
