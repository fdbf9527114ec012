"""Bolts with explicit acks, possibly long after `process` has returned, under checkpoints: tuples
are processed by a pool of threads or another process, or collected into a batch.

A tuple is in flight from `process` until its ack or fail. Its emits are withheld until then
(in_flight.py), so a checkpoint has the tuple as processed, with its emits before the barrier, or as
in flight, without emits: the tuple runs again after a restore. An emit in `process` without anchors
is attributed to the argument of `process`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from heron_core.errors import ComponentError
from heron_core.topology import DEFAULT_STREAM
from heron_frontends.adapters.foreign_calls import ForeignCalls
from heron_instance.emit.collector import BoltCollector
from heron_instance.emit.dead_letters import LetterFault, present_fault
from heron_instance.emit.emitted_values import kept_values
from heron_instance.emit.output_buffers import OutputBuffer, tasks_of
from heron_instance.emit.routing import Route
from heron_instance.in_flight import BoltInFlight, TakenTuple

MANY = 100_000
"""Limit of tuples in flight above which an error is reported: batches have thousands; a larger
number shows a bolt that forgets acks, and each restore would process all of them again."""


class LaterAcks:
    """emit, ack and fail of a bolt with late acks, in place of its collector's."""

    def __init__(self, collector: BoltCollector, foreign: ForeignCalls) -> None:
        self.collector = collector
        self.in_flight = BoltInFlight()
        self._foreign = foreign
        self._by_tuple: dict[int, TakenTuple] = {}
        """By `id()` of the tuple, which is unique while the tuple is in flight."""
        self._faults: dict[int, LetterFault] = {}
        """By `id()` of the tuple: reasons of failed tuples that wait for earlier tuples."""
        self._current: TakenTuple | None = None
        """The tuple passed to `process` now."""
        self._has_reported = False

    def run(self, process: Any, tuples: Iterable[Any]) -> None:
        """Put each tuple in flight and call `process` with an iterable of the one tuple."""
        for tup in tuples:
            taken = self._by_tuple[id(tup)] = self.in_flight.take(tup)
            self._current = taken
            try:
                process((tup,))
            finally:
                self._current = None

    def too_many(self) -> str:
        """Report of too many tuples in flight, once; empty otherwise."""
        if self._has_reported or len(self.in_flight) < MANY:
            return ""
        self._has_reported = True
        return (
            f"{self.collector.component}: {MANY} tuples are neither acked nor failed: each is kept,"
            " and processed again after a restore"
        )

    def emit(
        self,
        tup: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit when all of the anchors are settled."""
        collector = self.collector
        route = collector.route_of(stream)
        values = collector.checked(tup, route)
        if self._foreign.is_elsewhere:
            self.check_thread(anchors, stream)
            values = kept_values(values, route)
            rest = (stream, list(anchors or ()), direct_task, need_task_ids)
            if need_task_ids:
                tasks: list[int] = self._foreign.ask(lambda: self.emit(values, *rest))
                return tasks
            self._foreign.leave(lambda: self.emit(values, *rest))
            return None
        of = self._taken_of(anchors, stream)
        buffers = collector.buffers_for(values, route, direct_task)
        self._do_with(of, partial(self._send, route, buffers, collector.packed(values, route)))
        return tasks_of(buffers) if need_task_ids else None

    def check_thread(self, anchors: Any, stream: str) -> None:
        """ComponentError for an emit of another thread without anchors."""
        if not anchors:
            raise ComponentError(
                f"{self.collector.component}.{stream}: an emit of a thread needs anchors=[tup]:"
                " without anchors its input tuple is unknown"
            )

    def _taken_of(self, anchors: Sequence[Any] | None, stream: str) -> list[TakenTuple]:
        found = self._in_flight_of(anchors)
        if anchors and len(found) < len(anchors):
            raise ComponentError(
                f"{self.collector.component}.{stream}: an emit for a tuple that is acked or failed"
                " already, and processed in a checkpoint: emit first, then ack"
            )
        return found

    def _in_flight_of(self, anchors: Sequence[Any] | None) -> list[TakenTuple]:
        if not anchors:
            return [] if self._current is None else [self._current]
        found = (self._by_tuple.get(id(each)) for each in anchors)
        return [each for each in found if each is not None]

    def do_later(self, call: Callable[[], None], anchors: Any) -> None:
        """Make the call when all anchors are settled, together with their emits; at once if none of
        the anchors is in flight."""
        if self._foreign.is_elsewhere:
            self._foreign.leave(lambda: self.do_later(call, anchors))
            return
        self._do_with(self._in_flight_of(anchors), call)

    def _do_with(self, of: list[TakenTuple], call: Callable[[], None]) -> None:
        if of:
            self.in_flight.emitted(of, call)
        else:
            call()

    def emit_batch(
        self,
        frame: Any,
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
    ) -> None:
        """ComponentError: a frame cannot be withheld."""
        raise ComponentError(
            f"{self.collector.component}.{stream}: emit_batch is not for a bolt with acks_later in"
            " EFFECTIVELY_ONCE: use emit"
        )

    def ack(self, tup: Any) -> None:
        """The tuple is processed."""
        self._settle(tup, has_failed=False)

    def fail(self, tup: Any) -> None:
        """Fail the tuple: its emits are dropped."""
        fault = None if self.collector.letters is None else present_fault()
        self._settle(tup, has_failed=True, fault=fault)

    def _settle(self, tup: Any, has_failed: bool, fault: LetterFault | None = None) -> None:
        if self._foreign.is_elsewhere:
            self._foreign.leave(lambda: self._settle(tup, has_failed, fault))
            return
        taken = self._by_tuple.get(id(tup))
        if taken is None or not self.in_flight.settle(taken, has_failed):
            self.collector.outbox.late += 1
            return
        if fault is not None:
            self._faults[id(tup)] = fault
        for released in self.in_flight.release():
            for emit in released.emits:
                emit()
            for taken_tuple in released.taken:
                del self._by_tuple[id(taken_tuple.tup)]
                why = self._faults.pop(id(taken_tuple.tup), None)
                if taken_tuple.has_failed:
                    self.collector.fail_by(taken_tuple.tup, why)
                else:
                    self.collector.ack(taken_tuple.tup)

    def _send(self, route: Route, buffers: list[OutputBuffer], data: bytes) -> None:
        self.collector.outbox.make_way(buffers, False)
        self.collector.put(buffers, route, data, ())
        self.collector.outbox.flush_if_full()
