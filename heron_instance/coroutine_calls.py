"""emit, ack and fail in the coroutines of a bolt: effects are withheld until the coroutine ends.

The tuple of a coroutine is in a context variable, inherited by tasks and threads of the
coroutine (gather, TaskGroup, to_thread).
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from heron_core.errors import ComponentError
from heron_core.topology import DEFAULT_STREAM
from heron_frontends.adapters.foreign_calls import ForeignCalls
from heron_instance.emit.collector import BoltCollector
from heron_instance.emit.emitted_values import kept_values
from heron_instance.in_flight import BoltInFlight, TakenTuple


class Attempt(Struct, eq=False):
    """One call of `process`; a retried tuple has several calls."""

    taken: TakenTuple
    began: float
    is_over: bool = False
    is_settled: bool = False
    """Its code has acked or failed the tuple, which counts when the coroutine ends."""
    has_failed: bool = False


CURRENT: ContextVar[Attempt | None] = ContextVar("heron_attempt", default=None)
"""The call of the current coroutine."""

Emit = Callable[[], None]


class CoroutineCalls:
    """emit, ack and fail of a bolt whose `process` is a coroutine."""

    def __init__(self, collector: BoltCollector, foreign: ForeignCalls, is_ordered: bool) -> None:
        self.in_flight = BoltInFlight(is_ordered)
        self._collector = collector
        self._foreign = foreign

    def emit(
        self,
        tup: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        """Emit when the coroutine has ended, anchored to its tuple; at once outside of one."""
        attempt, collector = CURRENT.get(), self._collector
        if attempt is None:
            return collector.emit(tup, stream, anchors, direct_task, need_task_ids)
        self._check(attempt, stream, need_task_ids)
        route = collector.route_of(stream)
        values = kept_values(collector.checked(tup, route), route)
        own = [attempt.taken.tup] if anchors is None else list(anchors)
        if self._foreign.is_elsewhere:  # a thread would pack concurrently with others
            rest = (values, stream, own, direct_task)
            self._withhold(attempt, lambda: collector.emit_general(*rest))
            return None
        data = collector.packed(values, route)  # what user code changes later was emitted before
        packed = (values, data, stream, own, direct_task)
        self._withhold(attempt, lambda: collector.emit_packed(*packed))
        return None

    def emit_batch(
        self,
        frame: Any,
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
    ) -> None:
        """As `emit`, of the rows of a frame."""
        attempt, collector = CURRENT.get(), self._collector
        if attempt is None:
            collector.emit_batch(frame, stream, anchors, direct_task)
            return
        self._check(attempt, stream, False)
        own = [attempt.taken.tup] if anchors is None else list(anchors)
        kept = collector.columns.kept(frame, collector.route_of(stream))
        self._withhold(attempt, lambda: collector.emit_batch(kept, stream, own, direct_task))

    def _check(self, attempt: Attempt, stream: str, need_task_ids: bool) -> None:
        where = f"{self._collector.component}.{stream}"
        if attempt.is_over:
            raise ComponentError(
                f"{where}: an emit after the end of its tuple's process: await the tasks that"
                " process starts"
            )
        if need_task_ids:
            raise ComponentError(
                f"{where}: need_task_ids in a coroutine, whose emits are sent at its end: leave"
                " need_task_ids out"
            )

    def do_later(self, call: Callable[[], None], anchors: Any) -> None:
        """Call the function when the current coroutine has ended successfully, together with its
        emits; at once outside of a coroutine."""
        attempt = CURRENT.get()
        if attempt is None or attempt.is_over:
            call()
        else:
            self._withhold(attempt, call)

    def _withhold(self, attempt: Attempt, emit: Callable[[], object]) -> None:
        self.in_flight.emitted([attempt.taken], emit)

    def ack(self, tup: Any) -> None:
        """Ignored: the end of the coroutine acks the tuple."""
        self._settle(tup, has_failed=False)

    def fail(self, tup: Any) -> None:
        """Fail the tuple when its coroutine ends."""
        self._settle(tup, has_failed=True)

    def _settle(self, tup: Any, has_failed: bool) -> None:
        attempt = CURRENT.get()
        if attempt is None or attempt.taken.tup is not tup or attempt.is_settled:
            self._collector.outbox.late += 1
            return
        attempt.is_settled, attempt.has_failed = True, has_failed
