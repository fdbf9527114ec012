"""Drives a bolt with a coroutine `process`: a limited number at a time, the rest waits here.

    message ──► waiting ──► under way (at most `topology.async.capacity`) ──► ended ──► released
                                │  ▲                                   │
                                └──┘ raised: again after a pause        └ in order, or as they end

All of them are in flight (heron_instance/in_flight.py) and part of each checkpoint. A stateful
component differs: partial changes of its coroutines would be saved, and applied twice. So its
checkpoint waits until nothing is in flight; and changes before an exception are undone, under
checkpoints, by a restore of the topology.
"""

from collections import deque
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn

from heron_core.algorithms.retries import RetryPolicy
from heron_core.errors import ComponentError
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_instance.call_failures import CallFailures
from heron_instance.coroutine_calls import CURRENT, Attempt, CoroutineCalls
from heron_instance.emit.dead_letters import LetterFault, fault_of, key_of
from heron_instance.in_flight import Released, TakenTuple
from heron_instance.input.anchors import AnchorState
from heron_instance.input.dividing import Run
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.in_flight_bolt import InFlightBoltDriver
from heron_instance.input.raised import UserCodeRaised, line_of
from heron_instance.input.tuples import EngineTuple


class CoroutineBoltDriver(InFlightBoltDriver):
    """Starts coroutines, and sends their emits when they have ended."""

    can_undo = False

    def __init__(
        self,
        calls: CoroutineCalls,
        retries: RetryPolicy | None,
        keeps_state: bool,
        *arguments: Any,
    ) -> None:
        """`retries`: of a tuple whose coroutine raised, None for none; `arguments` are
        BoltDriver's."""
        self._waiting: deque[TakenTuple] = deque()
        self._under_way = 0
        """Begun and not released, so results that wait for their turn are bounded, too."""
        self._ended: deque[tuple[Attempt, BaseException | None, Any]] = deque()
        self._failures: dict[int, int] = {}
        """By number, for retried tuples."""
        self._began: dict[int, float] = {}
        self._faults: dict[int, LetterFault] = {}
        """By number, for abandoned tuples."""
        self._retries = retries
        self._keeps_state = keeps_state
        self._tries: CallFailures | None = None
        """Of a component whose state only the topology can undo."""
        if retries is not None and keeps_state:
            self._tries = CallFailures(retries)
        self._hooks: Any = None
        self._worked_at: float | None = None
        super().__init__(calls.in_flight, *arguments)
        self._coroutines = self.component.coroutines
        self._coroutines.raised = self._raised_elsewhere
        self.works_on = True
        self.also_idle(lambda: not len(self.in_flight))

    def _raised_elsewhere(self, what: str, text: str) -> None:
        self.metrics.callback_errors += 1
        self.record_error(what, text)

    # --- taking -------------------------------------------------------------------------------

    def _make_run(self, hooks: Any) -> Run:
        self._hooks = hooks
        return self._take

    def _take(self, some: Iterable[EngineTuple]) -> None:
        for tup in some:
            self._waiting.append(self.in_flight.take(tup))

    def _count(
        self, rows: list[EngineTuple], anchor_states: list[AnchorState], started: float
    ) -> None:
        """Receiving tuples takes no processing time."""

    @property
    def taken(self) -> int:
        """See ComponentDriver."""
        return self.in_flight.last

    @property
    def begun(self) -> int:
        """See ComponentDriver."""
        return self._waiting[0].number - 1 if self._waiting else self.in_flight.last

    @property
    def is_amid_state(self) -> bool:
        """See ComponentDriver."""
        return self._keeps_state and len(self.in_flight) > 0

    def holds_back(self, frames: Frames) -> bool:
        """See ComponentDriver."""
        return self.is_amid_state and header_of(frames).kind == FrameKind.BARRIER

    # --- going on -----------------------------------------------------------------------------

    def work_on(self, now: float) -> None:
        """Release ended coroutines, and start waiting tuples within the capacity."""
        super().work_on(now)
        self.works_on = True
        self._begin(now)
        self._coroutines.turn()
        self._end(now)
        self._begin(now)
        if now >= self.due:
            self.run_due(now)

    def _begin(self, now: float) -> None:
        self._measure(now)
        while self._waiting and self._under_way < self.options.async_capacity:
            taken = self._waiting.popleft()
            self._under_way += 1
            self._began[taken.number] = now
            if self._tries is None or not self._is_skipped(taken, self._tries):
                self._start(taken)

    def _is_skipped(self, taken: TakenTuple, tries: CallFailures) -> bool:
        """Whether a tuple that has come again was abandoned before."""
        fault = tries.skipped(key_of(taken.tup)) if tries.has_any else None
        if fault is None:
            return False
        self._faults[taken.number] = fault
        self.in_flight.settle(taken, has_failed=True)
        return True

    def _measure(self, now: float) -> None:
        """Load: the used share of the capacity."""
        if self._worked_at is not None:
            share = self._under_way / self.options.async_capacity
            self.metrics.busy_secs += (now - self._worked_at) * share
        self._worked_at = now

    def _start(self, taken: TakenTuple) -> None:
        attempt = Attempt(taken, self.clock())
        context = copy_context()
        context.run(CURRENT.set, attempt)
        ended = partial(self._note_end, attempt)
        try:
            coroutine = context.run(self.component.process_coroutine, taken.tup)
        except Exception as error:  # by a decorator of the user's
            ended(error, None)
            return
        if coroutine is None:
            ended(None, None)
            return
        self._coroutines.start(coroutine, context, self.options.async_timeout_secs, ended)

    def _note_end(self, attempt: Attempt, error: BaseException | None, value: Any) -> None:
        attempt.is_over = True
        self._ended.append((attempt, error, value))

    def _end(self, now: float) -> None:
        while self._ended:
            attempt, error, value = self._ended.popleft()
            if error is None and value is not None:
                error = self._wrong_value(value)
            if error is None:
                self.in_flight.settle(attempt.taken, attempt.has_failed)
            else:
                self._raised(attempt.taken, error)
        for released in self.in_flight.release():
            self._release(released, now)

    def _wrong_value(self, value: Any) -> BaseException | None:
        try:
            self.component.refuse_returned(value)
        except ComponentError as error:
            return error
        return None

    def _raised(self, taken: TakenTuple, error: BaseException) -> None:
        where = f"process of a tuple from {taken.tup.component}.{taken.tup.stream}"
        self._report(where, error)
        if self._tries is not None:
            self._undo(taken, where, error, self._tries)
        failures = self._failures.get(taken.number, 0) + 1
        pause_secs = None if self._retries is None else self._retries.pause_secs(failures)
        self.in_flight.retried(taken)
        if pause_secs is not None:
            self._failures[taken.number] = failures
            self._coroutines.later(pause_secs, partial(self._start, taken))
            return
        self._faults[taken.number] = fault_of(error, failures)
        self.in_flight.settle(taken, has_failed=True)
        if self.options.stops_on_exception:
            self.stop_topology(where)
        if self.options.exits_on_exception or self.component.exits_on_exception:
            self.leave(f"process raised, and is to end the process by that: {error!r}")

    def _undo(
        self, taken: TakenTuple, where: str, error: BaseException, tries: CallFailures
    ) -> NoReturn:
        """Changes by the call are void: the topology is restored from a checkpoint."""
        if self.options.exits_on_exception or self.component.exits_on_exception:
            self.leave(f"process raised, and is to end the process by that: {error!r}")
        key = key_of(taken.tup)
        fault = fault_of(error, tries.failures_of(key))
        raised = UserCodeRaised(where, line_of(error))
        pause_secs = tries.pause_secs(key, fault)
        if pause_secs is None and self.options.stops_on_exception:
            self.stop_topology(where)
        raised.pause_secs = pause_secs or 0.0
        raise raised from error

    def go_on_counting(self, before: ComponentDriver) -> None:
        """See ComponentDriver."""
        super().go_on_counting(before)
        if isinstance(before, CoroutineBoltDriver) and before._tries is not None:
            self._tries = before._tries
            self._tries.note_restore()

    def checkpoint_completed(self) -> None:
        """See BoltDriver."""
        if self._tries is not None:
            self._tries.checkpoint_completed()

    def _report(self, where: str, error: BaseException) -> None:
        try:
            raise error
        except BaseException:
            self.user_error(where)

    def _release(self, released: Released, now: float) -> None:
        has_failed = not self._sent(released.emits)
        for taken in released.taken:
            self._under_way -= 1
            self._failures.pop(taken.number, None)
            secs = now - self._began.pop(taken.number)
            self.metrics.process.add(secs)
            self.metrics.execute.total_secs += secs
            self.metrics.execute.number += 1
            self.metrics.execute.sample(secs)
            if self._hooks is not None:
                self._hooks.executed(taken.tup, secs)
            is_bad = taken.has_failed or has_failed
            fault = self._faults.pop(taken.number, None)
            if self._tries is not None and self._tries.has_any:
                self._tries.succeeded(key_of(taken.tup))
            if is_bad:
                self.collector.fail_by(taken.tup, fault)
            else:
                self.collector.ack(taken.tup)

    def _sent(self, emits: tuple[Callable[[], object], ...]) -> bool:
        try:
            for emit in emits:
                emit()
        except Exception:
            self.user_error("an emit of a coroutine")
            return False
        return True

    # --- event time ---------------------------------------------------------------------------

    def _take_watermark(self, source: int, watermark_ms: int) -> None:
        if self._finished or not self.source_watermarks.take(source, watermark_ms):
            return
        self.watermarks_taken += 1
        self.send_watermark()

    def passed(self, watermark_ms: int) -> None:
        """Notify the component now, after earlier tuples."""
        self._tell_component(watermark_ms)
