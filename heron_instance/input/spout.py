"""Drives a spout: calls next_tuple while emits are allowed, and reports the outcome of tuples."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from heron_core.algorithms.clock_state import ClockState, clock_state
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.flight_records import RecordKind
from heron_core.hot_rows import CLOCK_EVERY, SLOW_SECS
from heron_core.instance_report import InstanceReport
from heron_core.native import newest_root, next_tuples, settle_acked
from heron_core.plans import PackingPlan
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.packets import decode_roots
from heron_instance.emit.collector import SpoutCollector
from heron_instance.emit.output_buffers import Outbox
from heron_instance.input.driver import POLL_SECS, Clock, ComponentDriver, Report
from heron_instance.input.emitted_ids import EmittedIds
from heron_instance.input.failed_ids import FailedIds
from heron_instance.input.malformed import malformed
from heron_instance.options import InstanceOptions

WATERMARK_SECS = 0.02
"""Watermark interval of a busy spout: each watermark wakes every reader."""


class SpoutDriver(ComponentDriver):
    """Calls next_tuple while allowed, and notifies the spout of acks and failures."""

    def __init__(
        self,
        component: Any,
        outbox: Outbox,
        options: InstanceOptions,
        clock: Clock,
        report: Report,
        collector: SpoutCollector,
    ) -> None:
        super().__init__(component, outbox, options, clock, report)
        self.collector = collector
        self.finished = False
        self.failed_ids = FailedIds()
        self.active = False
        self._planned = False
        """Whether the topology's activity is known; before, the remaining work is unknown."""
        self._ack: Callable[[Any], None] | None = None
        """None where the base class's method does nothing: a call for each tuple is saved."""
        self._step = 1
        """Calls of next_tuple before the next look at the clock."""
        self.hooks: Any = None
        self._watermark_ms = NO_WATERMARK
        """The spout's highest watermark."""
        self._watermark_due = 0.0
        self._delivered = outbox.deliveries
        """Sent and buffered tuples at the end of the last turn."""
        self._defers_fails = False
        """Whether an update is under way whose bolts fail the content of their windows: a tuple
        that `fail` emitted at once would go to the previous owner of its key.
        """
        self._deferred: list[tuple[array[int], bool]] = []
        """Failed roots, and whether they expired; the component is notified later."""
        self.emitted_ids: EmittedIds | None = None
        """For a topology with checkpoints, which settle the ids."""

    def go_on_counting(self, before: ComponentDriver) -> None:
        """See ComponentDriver."""
        super().go_on_counting(before)
        assert isinstance(before, SpoutDriver)
        self.collector.go_on_counting(before.collector)

    @property
    def may_emit(self) -> bool:
        """Whether next_tuple is to be called now."""
        pending = len(self.collector.pending)
        return self.active and not self.finished and pending < self.options.max_spout_pending

    def repack(self, packing: PackingPlan) -> None:
        """Emits go where the tasks are by `packing`."""
        self.collector.router.repack(packing)

    def advance_watermark(self, watermark_ms: int) -> None:
        """Set a lower bound of the spout's later events, sent at the end of a turn."""
        self._watermark_ms = max(self._watermark_ms, watermark_ms)

    def send_watermark(self) -> None:
        """See ComponentDriver. A finished spout has sent its last watermark, withdrawn if the
        spout is reopened."""
        if self.finished:
            self.watermarks.send(self._watermark_ms)  # due timers may register new timers
            self.watermarks.send(END_OF_TIME)
            return
        if self.watermarks.is_ended:
            self.watermarks.take_back(self._watermark_ms)
        self.watermarks.send(self._watermark_ms)

    def coroutines(self, may_send: bool) -> Any:
        """See ComponentDriver: what goes on may emit."""
        return self.component.coroutines if may_send and self.may_emit else None

    def finish(self) -> None:
        """The spout has nothing more to emit; a later fail() reopens the spout."""
        self.finished = True

    def begin(self, active: bool, now: float) -> None:
        """A plan is there: the spout emits if the topology is active."""
        self.watermarks.send_again()
        self.set_active(active)

    def set_active(self, active: bool) -> None:
        """The topology runs or is paused: call the spout's hook once, let it emit or not."""
        self._planned = True
        if active == self.active:
            return
        self.active = active
        if self.recorder is not None:
            self.recorder.step(RecordKind.ACTIVE, number=int(active))
        if self.component.wants_acks:
            self._ack = self.component.ack
        name = "activate" if active else "deactivate"
        try:
            (self.component.activate if active else self.component.deactivate)()
        except Exception:
            self.user_raised(name)

    def turn(self, until: float) -> bool:
        """Call next_tuple until a call emits nothing, emits are blocked, or `until`; returns
        whether the spout emitted.

        Sends lingering buffers on the way, and flushes at the end of an idle turn.
        """
        collector, clock = self.collector, self.clock
        pending, most = collector.pending, self.options.max_spout_pending
        started = now = clock()
        went_on = self._has_gone_on()
        emitted, calls, step = True, 0, self._step
        while emitted and now < until and not self.finished and len(pending) < most:
            turn_calls, emitted = self.some_calls(min(step, most - len(pending)), now)
            calls += turn_calls
            before, now = now, clock()
            step = 1 if now - before > SLOW_SECS else CLOCK_EVERY
        self._step = step
        self._end_turn(calls, started, now)
        if now >= self._watermark_due or not emitted or self.finished:
            self._watermark_due = now + WATERMARK_SECS
            self.send_watermark()
        # A call without output ends a turn, so a second call implies output of the first.
        return calls > 1 or (emitted and calls > 0) or went_on

    def _has_gone_on(self) -> bool:
        """Whether a coroutine has emitted since the last turn, while the instance waited."""
        if self.component.coroutines is None:
            return False
        return self._delivered != self.outbox.deliveries

    def call_once(self) -> bool:
        """One call of next_tuple with the work of a turn; returns whether tuples were emitted."""
        started = self.clock()
        calls, emitted = self.some_calls(1, started)
        self._end_turn(calls, started, self.clock())
        self.send_watermark()
        return emitted

    def _end_turn(self, calls: int, started: float, now: float) -> None:
        if self.options.tracked:
            self.collector.stamp_newest_root(now)
        self.outbox.flush()
        self._delivered = self.outbox.deliveries
        self._count(calls, now - started)
        if now >= self.poll_at:
            self.poll_at = now + POLL_SECS
            self.poll()

    def some_calls(self, most: int, now: float) -> tuple[int, bool]:
        """Up to `most` calls of next_tuple, ended by a call without output, and the acks of what
        has no tree; (calls, emitted)."""
        if self.recorder is not None:
            self.recorder.calls(most, now)
        made = self._calls(most)
        if self.collector.done_at_once:
            self._ack_at_once()
        return made

    def _calls(self, most: int) -> tuple[int, bool]:
        calls = next_tuples(self, self.outbox, self.component.next_tuple, most)
        return abs(calls), calls > 0

    def _count(self, calls: int, elapsed: float) -> None:
        metrics = self.metrics
        metrics.executed += calls
        metrics.busy_secs += elapsed
        metrics.execute.total_secs += elapsed
        metrics.execute.number += calls
        if calls:
            metrics.execute.sample(elapsed / calls)

    def _ack_at_once(self) -> None:
        """Without acks a tuple is acked right after its emit, last first (heronpy); under
        checkpoints, when covered."""
        if self.emitted_ids is not None:
            self.emitted_ids.take(self.collector.done_at_once)
            return
        done, ack = self.collector.done_at_once, self.component.ack
        while done:
            tup_id = done.pop()
            self.metrics.acked += 1
            if self.failed_ids:
                self.failed_ids.acked_at_once(tup_id)
            self._settle(ack, tup_id)
            if self.hooks is not None:
                self.hooks.spout_ack(tup_id, None)

    def begin_checkpoint(self, checkpoint: int) -> None:
        """Assign the emits so far to this checkpoint."""
        assert self.emitted_ids is not None
        self.emitted_ids.take(self.collector.done_at_once)
        self.emitted_ids.barrier(checkpoint)

    def checkpoint_completed(self, checkpoint: int, abandoning: Sequence[str] = ()) -> None:
        """Tuples emitted before the checkpoint are final: they are acked.

        If bolts abandoned covered tuples, their spouts are unknown: then none of the tuples is
        acked. Nor do they fail, because most of them are processed: a spout that replays
        failures would count these twice.
        """
        assert self.emitted_ids is not None
        if abandoning:
            self._leave_without_ack(checkpoint, self.emitted_ids.forget(checkpoint), abandoning)
            return
        for tup_id in self.emitted_ids.completed(checkpoint):
            self.metrics.acked += 1
            self._settle(self.component.ack, tup_id)
            if self.hooks is not None:
                self.hooks.spout_ack(tup_id, None)

    def _leave_without_ack(self, checkpoint: int, number: int, abandoning: Sequence[str]) -> None:
        if number:
            self.record_error(
                "tuples get no ack",
                f"{', '.join(abandoning)} abandoned tuples that checkpoint {checkpoint} covers. The"
                f" spout tuples behind them are unknown, so the {number} tuples that this spout"
                " emitted for the checkpoint get no ack",
            )

    def roll_back(self) -> None:
        """Tuples emitted since the last completed checkpoint are discarded: they fail."""
        assert self.emitted_ids is not None
        self.emitted_ids.take(self.collector.done_at_once)
        for tup_id in self.emitted_ids.take_all():
            self.metrics.failed += 1
            self._settle(self.component.fail, tup_id)
            if self.hooks is not None:
                self.hooks.spout_fail(tup_id, None)
        self.finished = False

    def deliver(self, frames: Frames, first: int = 0) -> None:
        """What became of roots: call ack or fail for each tuple id once."""
        head = header_of(frames)
        roots = decode_roots(head, frames)
        if self.recorder is not None:
            self.recorder.results(frames)
        if head.kind == FrameKind.ACKED:
            self._acked(roots)
        elif head.kind in (FrameKind.FAILED, FrameKind.EXPIRED):
            self._failed(roots, head.kind == FrameKind.EXPIRED)
        else:
            raise malformed(head.source, "", f"a frame of kind {head.kind} to a spout")

    def _acked(self, roots: "array[int]") -> None:
        if self.failed_ids or self.hooks is not None:
            self._acked_each(roots)
            return
        self.metrics.acked += settle_acked(
            self.collector.pending, roots, self.collector.started, self._complete, self._ack,
            self.user_raised,
        )  # fmt: skip

    def _acked_each(self, roots: "array[int]") -> None:
        """As `_acked`, where other objects observe each ack."""
        pending, started, hooks = self.collector.pending, self.collector.started, self.hooks
        replayed = self.failed_ids.acked if self.failed_ids else None
        for root in roots:
            begun = self._complete(root) if root in started else None
            if root not in pending:  # settled before: expired, or failed by its tree
                continue
            tup_id = pending.pop(root)
            self.metrics.acked += 1
            if replayed is not None:
                replayed(tup_id, root)
            if self._ack is not None:
                try:
                    self._ack(tup_id)
                except Exception:
                    self.user_raised(f"ack({tup_id!r})")
            if hooks is not None:
                hooks.spout_ack(tup_id, begun)

    def _complete(self, root: int) -> float:
        """Complete a sampled root and record its duration; returns its start time."""
        begun = self.collector.started.pop(root)
        self.metrics.complete.add(self.clock() - begun)
        return begun

    def defer_fails(self) -> None:
        """Call `fail` for nothing until `end_deferral`."""
        self._defers_fails = True

    def end_deferral(self) -> None:
        """Call `fail` for what has failed meanwhile."""
        self._defers_fails = False
        deferred, self._deferred = self._deferred, []
        for roots, expired in deferred:
            self._failed(roots, expired)

    def settle_to_save(self) -> bool:
        """Whether nothing is pending, so that the state can be saved. `fail` is called for what
        has failed meanwhile when the rest is settled: the state has to have these tuples."""
        failed = {root for roots, _ in self._deferred for root in roots}
        if failed and self.collector.pending.keys() <= failed:
            self.end_deferral()
            self.defer_fails()
        return not self.collector.pending

    def _failed(self, roots: "array[int]", expired: bool) -> None:
        if self._defers_fails:
            self._deferred.append((roots, expired))
            return
        pending, hooks, fail = self.collector.pending, self.hooks, self.component.fail
        for root in roots:
            if root not in pending:
                continue
            tup_id = pending.pop(root)
            begun = self.collector.started.pop(root, None)
            self.metrics.failed += 1
            self.failed_ids.add(tup_id, root, newest_root(pending) or root)
            self.metrics.expired += expired
            self.finished = False
            self._settle(fail, tup_id)
            if hooks is not None:
                hooks.spout_fail(tup_id, begun)

    def fail_all(self) -> None:
        """The trees are gone (their stream manager died): fail what is pending, so it replays."""
        self._failed(array("Q", self.collector.pending), expired=False)

    def _settle(self, callback: Callable[[Any], None], tup_id: Any) -> None:
        try:
            callback(tup_id)
        except Exception:
            self.user_raised(f"{getattr(callback, '__name__', 'a callback')}({tup_id!r})")

    def counts(self) -> tuple[int, int, bool]:
        """A spout that is paused or finished is idle when its last tuple is settled."""
        idle = not self.collector.pending and self._is_done
        return self.outbox.deliveries - self._discarded_sent, 0, idle

    @property
    def _is_done(self) -> bool:
        done = self.finished or (self._planned and not self.active)
        return done and self.outbox.empty and self._is_idle()

    @property
    def holds(self) -> bool:
        """See ComponentDriver: it waits for acks."""
        return bool(self.collector.pending) and self._is_done

    def validate(self) -> None:
        """AssertionError with a text if an invariant does not hold; between two calls."""
        super().validate()
        collector = self.collector
        not_pending = collector.started.keys() - collector.pending.keys()
        assert not not_pending, f"timed, but not pending: roots {not_pending}"
        assert not self.active or self._planned, "active without a plan"

    def statistics(self) -> InstanceReport:
        """See ComponentDriver."""
        routes = self.collector.router.routes
        self.metrics.failed_for_good = len(self.failed_ids)
        self.metrics.pending = len(self.collector.pending)
        return self.metrics.report(
            emitted_by_stream={name: route.emits[0] for name, route in routes.items()},
            finished=self.finished,
            waited_secs=self.outbox.waited_secs,
            clock=self._clock_state(),
        )

    def _clock_state(self) -> ClockState | None:
        if self._watermark_ms == NO_WATERMARK:
            return None
        watermark_ms = END_OF_TIME if self.finished else self._watermark_ms
        return clock_state(watermark_ms, None, 0.0, ())
