"""Drives a bolt: each tuple of each batch through `process`, ticks between them, acks behind."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from heron_core.algorithms.clock_state import ClockState, clock_state
from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.algorithms.source_watermarks import SourceWatermarks
from heron_core.dead_letters import REPLAYED
from heron_core.errors import ProtocolError
from heron_core.flight_records import RecordKind
from heron_core.hot_rows import CLOCK_EVERY, SLOW_SECS
from heron_core.instance_report import InstanceReport
from heron_core.native import row_keys
from heron_core.plans import PackingPlan
from heron_core.state.in_flight_table import Item
from heron_core.topology import TopologySpec
from heron_core.wire.batch import Batch, decode_batch
from heron_core.wire.frames import FrameKind, Frames, Header, header_of
from heron_core.wire.packets import check_watermark, watermark_of
from heron_instance.emit.collector import BoltCollector
from heron_instance.emit.output_buffers import Outbox
from heron_instance.emit.watermarks import EndOfInput
from heron_instance.input.anchors import AnchorState
from heron_instance.input.bolt_rows import Decode
from heron_instance.input.cursor_calls import EVERY_MESSAGE_TIMED
from heron_instance.input.dividing import Run
from heron_instance.input.driver import POLL_SECS, Clock, ComponentDriver, Report
from heron_instance.input.input_counts import InputCounts
from heron_instance.input.joined_calls import JoinedCalls
from heron_instance.input.key_samples import KeySamples
from heron_instance.input.tick_schedule import NEVER, TickSchedule
from heron_instance.input.tuples import EngineTuple, schema_of, tick_tuple, tuple_class
from heron_instance.options import InstanceOptions
from heron_instance.runtime.metrics import Metrics

Process = Callable[[EngineTuple], None]


class BoltDriver(JoinedCalls):
    """Feeds a bolt with the tuples of each batch, and with ticks between them."""

    def __init__(
        self,
        component: Any,
        outbox: Outbox,
        options: InstanceOptions,
        clock: Clock,
        report: Report,
        collector: BoltCollector,
        decode: Decode,
        topology: TopologySpec,
        packing: PackingPlan,
        hooks: Any,
        metrics: Metrics,
        tick_secs: float | None,
    ) -> None:
        """`tick_secs`: seconds between ticks, by the config after `initialize` (window bolts set
        the interval there); None for no ticks."""
        super().__init__(component, outbox, options, clock, report)
        self._ticks = TickSchedule(tick_secs)
        self.collector = collector
        self.metrics = metrics
        self.decode = decode
        self._topology = topology
        self._sources = {}
        self._inputs = InputCounts()
        self.source_watermarks = SourceWatermarks()
        self._know_sources(packing)
        self._flushes_seen = -1
        """Of the outbox, when `_send_due` was set."""
        self._send_due = 0.0
        """When what has been emitted since the last flush has waited long enough."""
        self._is_slow_tick_reported = False
        self._finished = False
        self._busy = self._retained_before = False
        """In the middle of a batch: `executed` will grow, however long user code takes."""
        self._busy_since = 0.0
        self._tuple: type[EngineTuple] = component.tuple_class or tuple_class(
            schema_of(topology, packing, outbox.task)
        )
        self._takes_batches = component.takes_batches
        self._values_maker = component.values_maker
        self._keys = row_keys(collector.next_edge() >> 1)
        self._run = self._make_run(hooks)
        """Run tuples through user code, one by one; propagates exceptions."""
        self._end_of_input = EndOfInput(options.tracked or component.acks_later, options, clock)
        self._acks_due = 0.0 if options.tracked else NEVER
        """When to look whether it has ever acked; 0 until a tracked tuple is there."""
        self._step = 1
        """Tuples to run before the next look at the clock."""
        self.has_fixed_state: Callable[[], bool] = lambda: False
        """Whether the state is bound to the instance and cannot be redistributed."""
        bolt = topology.by_name[packing.instances[outbox.task].component]
        self._key_samples = KeySamples(topology, bolt, options.samples_keys)
        self.again: deque[EngineTuple] = deque()
        """Tuples in flight at the restored checkpoint: they precede all input."""

    def run_again(self, items: Sequence[Item]) -> None:
        """These were in flight at the checkpoint: they are run when tuples may be sent."""
        make = self._values_maker
        for component, stream, task, values in items:
            made = values if make is None else make(component, stream)(values)
            key = next(self._keys)
            items_of_tuple = (key, component, stream, task, made, self.clock(), None)
            self.again.append(self._tuple(items_of_tuple))
        self.works_on = self.works_on or bool(items)

    def unfinished(self) -> list[Any]:
        """The tuples that a checkpoint has as in flight."""
        return list(self.again)

    def work_on(self, now: float) -> None:
        """See ComponentDriver: what runs again."""
        self._message = None
        while self.again:
            rows = [self.again.popleft()]
            self._run_some(self._run, iter(rows), rows, iter(()))
        self.works_on = False

    def checkpoint_completed(self) -> None:
        """Earlier input is final and never replayed."""

    def repack(self, packing: PackingPlan) -> None:
        """Route emits by `packing`. Removed processes may have sent input."""
        self._know_sources(packing)
        self.collector.router.repack(packing)

    def _know_sources(self, packing: PackingPlan) -> None:
        topology = packing.topology_of(self._topology)
        names = {each.name: [x.name for x in each.outputs] for each in topology.components}
        for task, each in packing.instances.items():
            self._sources[task] = (each.component, names[each.component])
        inputs = topology.by_name[packing.instances[self.outbox.task].component].inputs
        read = {each.component for each in inputs} - {REPLAYED}  # no reader waits for its clock
        self.source_watermarks.retask(
            task for task, each in packing.instances.items() if each.component in read
        )

    def begin(self, active: bool, now: float) -> None:
        """The plan is there: ticks begin, the first after an interval, also if it is paused."""
        self.watermarks.send_again()
        self._ticks.begin(now)

    @property
    def next_tick(self) -> float:
        """When the next tick is due, on `clock`; infinity for none."""
        return self._ticks.next_at

    def deliver(self, frames: Frames, first: int = 0) -> int | None:
        """Run the bolt on each tuple of one DATA message; see ComponentDriver."""
        head = header_of(frames)
        if head.kind != FrameKind.DATA:
            self._take_other(head, frames)
            return None
        self.reopen(head.source)
        self._takes = True
        try:
            return self._take_batch(head, frames, first)
        finally:
            self._takes = self._busy = False

    def _take_batch(self, head: Header, frames: Frames, first: int) -> int | None:
        batch = decode_batch(head, frames)
        if head.epoch < self.fence:
            self.metrics.fenced += 1
            self._fail_batch(head, frames)
            return None
        if head.epoch < self.keys_since:
            self._misrouted(head, frames, first)
            return None
        left = self._cursor_left(frames, first)
        started = self.clock()
        cursor = left if first else self._cursor(head, batch, frames, started)
        try:
            values = self._values(head, batch) if cursor is None else []
        except ProtocolError:
            raise
        except Exception:
            if self.recorder is not None:
                self.recorder.inputs([frames], first, started)
            if self.undoes:
                self._raise("unpacking the values of a batch")
            self.user_error("unpacking the values of a batch")
            self._fail_all_of(head, frames, first)
            return None
        if cursor is None:
            started = self.clock()
        if self.recorder is not None:
            self.recorder.inputs([frames], first, started)
        self._begin_calls(started)
        self._messages += 1
        if cursor is not None:
            return self._run_cursor(head, batch, cursor, started)
        return self._run_batch(head, batch, values, started, first)

    def _begin_calls(self, started: float) -> None:
        """Tuples are run from now on: what they emit is the first to wait."""
        if self._flushes_seen != self.outbox.flushes:
            self._flushes_seen = self.outbox.flushes
            self._send_due = started + self.options.linger_secs
        self.due = min(self._send_due, self._ticks.next_at, self.poll_at)
        if self.options.tracked:
            self._retained_before = self.retains
        self._busy, self._busy_since = True, started

    def _take_other(self, head: Header, frames: Frames) -> None:
        if head.kind != FrameKind.WATERMARK:
            self.take_barrier(head, frames)
            return
        check_watermark(head, frames)
        if head.epoch >= self.fence:
            if self.recorder is not None:
                self.recorder.inputs([frames], 0, self.clock())
            self._take_watermark(head.source, watermark_of(frames))

    def _take_watermark(self, source: int, watermark_ms: int) -> None:
        """A source says how far it has come in event time; so may this instance, then."""
        sources, before = self.source_watermarks, self.source_watermarks.lowest_ms
        if self._finished or not sources.take(source, watermark_ms):
            return
        self.watermarks_taken += 1
        component, _ = self._sources[source]
        with self.calling("a window"):
            self.component.source_watermark(component, source, watermark_ms)
        if sources.lowest_ms > before:
            self._tell_component(sources.lowest_ms)
        self.send_watermark()

    def _tell_component(self, watermark_ms: int) -> None:
        with self.calling("on_watermark"):
            self.component.on_watermark(watermark_ms)

    def reopen(self, source: int) -> None:
        """A source sends tuples, also if it had finished."""
        if source not in self.source_watermarks.ended:
            return
        self.source_watermarks.reopened(source)
        if self.watermarks.is_ended:
            self.watermarks.take_back(self.source_watermarks.lowest_ms)

    def send_watermark(self) -> None:
        """See ComponentDriver. What a thread or a child process still works on comes first."""
        lowest = self.source_watermarks.lowest_ms
        is_news = self.watermarks.is_news(lowest) and self._is_idle()
        if is_news and self._end_of_input.may_pass(lowest, self._keeps_tuples):
            self.watermarks.send(lowest)

    def _run_batch(
        self, head: Header, batch: Batch, values: list[Any], started: float, first: int
    ) -> int | None:
        rows, anchor_states = self._made(head, batch, values, started)
        if first:
            rows, anchor_states = self._rows_left(rows[first:]), []
        left = self._run_rows(rows, started)
        if left:
            self._count(rows[:-left], [], started)
            self._cut = rows[-left:] if self.options.tracked else None
            return head.items - left
        self._count(rows, anchor_states, started)
        self._inputs.count(*self._sources[head.source], head, batch)
        if self._takes_batches:  # each of them is many
            further = head.items - len(rows)
            self.metrics.executed += further
            self.metrics.execute.number += further
        return None

    def _run_rows(self, rows: list[EngineTuple], started: float) -> int:
        """Tuples through user code; an exception ends its own tuple only. How many are left.

        The clock is read for every CLOCK_EVERY-th tuple, or for each where they are slow.
        """
        clock, step = self.clock, self._step
        source, left, now = iter(rows), len(rows), started
        run = self._run_timed if self._messages % EVERY_MESSAGE_TIMED == 1 else self._run
        while left > 0:
            self._run_some(run, islice(source, step), rows, source)
            run = self._run
            self.metrics.executed += min(step, left)
            left -= step
            before, now = now, clock()
            step = self._between(before, now)
            if not step:
                break
        self._step = step or 1
        return max(0, left)

    def _between(self, before: float, now: float) -> int:
        """Between some tuples: do what is due; how many to run before the next look, 0 to stop."""
        is_slow, is_due = now - before > SLOW_SECS, now >= self.due
        if is_due:
            self.run_due(now)
        if (is_slow or is_due) and self._is_cut():
            return 0
        return 1 if is_slow else CLOCK_EVERY

    def _is_cut(self) -> bool:
        """Whether the message under way ends here, for now or for good. A message of batches does
        so only for good: where it is cut is no number of tuples."""
        is_in_parts = not self._takes_batches and not self._is_attempt
        return self.abandoned() or (is_in_parts and self.overtaken())

    def _count(
        self, rows: list[EngineTuple], anchor_states: list[AnchorState], started: float
    ) -> None:
        now = self.clock()
        if self.outbox.acked:
            self.metrics.process.add(now - started)
            self.outbox.settle_batch(rows, anchor_states)
        self._count_tuples(len(rows), bool(rows and rows[0].roots), started, now)

    def _count_tuples(self, number: int, is_tracked: bool, started: float, now: float) -> None:
        """So many tuples were run; `is_tracked`: whether their acks are waited for."""
        if now >= self._acks_due:
            self._check_for_acks(is_tracked, now)
        elapsed = now - started
        metrics = self.metrics
        metrics.busy_secs += elapsed
        metrics.execute.total_secs += elapsed
        metrics.execute.number += number

    def _check_for_acks(self, is_tracked: bool, now: float) -> None:
        """Report once, a message timeout after the first unacked tuple: a bolt may have
        forgotten its acks."""
        if self._acks_due == 0.0:
            if is_tracked:
                self._acks_due = now + self.options.message_timeout_secs
            return
        self._acks_due = NEVER
        if self.outbox.acks_counted == 0 and self.collector.failed == 0:
            self.record_error(
                "acks are missing",
                f"none of {self.metrics.executed} tuples was acked in time"
                f" ({self.options.message_timeout_secs:g} s), so they fail: call self.ack(tup), or"
                " set auto_ack = True in the class",
            )

    def go_on_counting(self, before: ComponentDriver) -> None:
        """See ComponentDriver."""
        super().go_on_counting(before)
        assert isinstance(before, BoltDriver)
        self.collector.go_on_counting(before.collector)
        self._inputs = before._inputs

    def run_due(self, now: float) -> None:
        """Between two tuples, when `due`: look for questions, send what lingers, run a tick whose
        turn it is."""
        if now >= self.poll_at:
            self.poll()
            self.poll_at = now + POLL_SECS
        if now >= self._ticks.next_at:
            self.tick(now)
            now = self.clock()
        if now >= self._send_due:
            self.outbox.flush()
            self._send_due = now + self.options.linger_secs
        self.due = min(self._send_due, self._ticks.next_at, self.poll_at)

    def tick(self, now: float) -> None:
        """Give the bolt a tick if one is due."""
        if self.take_tick(now):
            self.run_tick(now)

    def run_tick(self, now: float) -> None:
        """Give the bolt a tick, due or not."""
        if self.recorder is not None:
            self.recorder.step(RecordKind.TICK, now)
        self.metrics.ticks += 1
        started = self.clock()
        try:
            with self.calling("process_tick"):
                self.component.process_tick(tick_tuple(now))
        finally:
            self._tick_ran(started, self.clock())

    def _tick_ran(self, started: float, ended: float) -> None:
        is_slow = self._ticks.ran(started, ended)
        if is_slow and not self._is_slow_tick_reported:
            self._is_slow_tick_reported = True
            self.report(
                f"process_tick took {ended - started:.3g} s, and ticks are to come every"
                f" {self._ticks.interval_secs:g} s: those that fall due meanwhile are left out"
                " (ticks_left_out)"
            )

    def finish(self) -> None:
        """End of a finite run: call the bolt's on_finish, once for any number of requests."""
        if self._finished:
            return
        self._finished = True
        if self.recorder is not None:
            self.recorder.step(RecordKind.FINISH)
        self.stop_ticks()
        if self.source_watermarks.lowest_ms < END_OF_TIME:  # the last ones may be lost, or late
            self._tell_component(END_OF_TIME)
        with self.calling("on_finish"):
            self.component.on_finish()
        if self.collector.foreign is not None:  # it may have waited for its threads
            self.collector.foreign.make_now()
        self.outbox.flush()

    def _make_run(self, hooks: Any) -> Run:
        run: Run = self.component.tuple_loop()
        if self._takes_batches:
            run = self._one_by_one(run)
        if hooks is None:
            return run
        execute = hooks.around_execute(lambda tup: run((tup,)))

        def hooked(some: Iterable[EngineTuple]) -> None:
            for tup in some:
                execute(tup)

        return hooked

    def stop_ticks(self) -> None:
        """The topology ends and is drained: emits of a tick have no receiver any more."""
        self._ticks.stop()

    def take_tick(self, now: float) -> bool:
        """Whether a tick is due, which is to be run then; the next one comes an interval later."""
        if not self._ticks.take(now):
            return False
        self.metrics.ticks_left_out += self._ticks.left_out
        return True

    def counts(self) -> tuple[int, int, bool]:
        """Processed first: what a tuple's processing sent is then counted for certain."""
        processed = self.metrics.executed - self._discarded_processed
        is_at_work = self._takes or self._busy or self._in_call or bool(self.again)
        is_at_work = is_at_work or self.awaits_restore or self.is_trying
        idle = self.outbox.empty and not is_at_work and self._is_idle()
        return self.outbox.deliveries - self._discarded_sent, processed, idle

    @property
    def holds(self) -> bool:
        """See ComponentDriver: tuples are neither acked nor failed."""
        return self.options.tracked and self.counts()[2] and self._keeps_tuples

    @property
    def retains(self) -> bool:
        """See ComponentDriver. The counts are partial amid a message: there the answer is of the
        beginning."""
        return self._retained_before if self._busy else self.options.tracked and self._keeps_tuples

    @property
    def _keeps_tuples(self) -> bool:
        """Whether received tuples are neither acked nor failed."""
        outbox = self.outbox
        settled = outbox.acks_counted + len(outbox.acked) + self.collector.failed
        return self.metrics.executed > settled

    def _clock_state(self) -> ClockState | None:
        """By the component's own clock, or by what its sources have said."""
        own: ClockState | None = self.component.clock_state()
        if own is not None or not self.source_watermarks.has_any:
            return own
        slowest = self.source_watermarks.slowest()
        source = None if slowest is None else (self._sources[slowest][0], slowest)
        return clock_state(self.source_watermarks.lowest_ms, source, 0.0, ())

    def validate(self) -> None:
        """AssertionError with a text if an invariant does not hold; between two calls."""
        super().validate()
        assert not self._busy, "busy between two messages"
        assert not self._in_call, "in a call between two messages"
        has_ticks = self._ticks.interval_secs is not None
        assert self._ticks.next_at == NEVER or has_ticks, "a tick that nobody wants"

    def statistics(self) -> InstanceReport:
        """See ComponentDriver; the batch under way counts as busy up to now."""
        totals, metrics = self.certain_totals(), self.metrics
        under_way = self.clock() - self._busy_since if self._busy else 0.0
        return metrics.report(
            executed=totals.executed,
            acked=totals.acked,
            failed=totals.failed,
            failed_for_good=totals.failed_for_good,
            ticks=totals.ticks,
            undeclared=totals.undeclared,
            late=self.outbox.late,
            busy_secs=metrics.busy_secs + under_way,
            emitted_by_stream=totals.emits,
            executed_by_input=self._inputs.by_name(),
            finished=totals.is_finished,
            waited_secs=self.outbox.waited_secs,
            fixed_state=self.has_fixed_state(),
            hot_keys=self._key_samples.snapshot,
            clock=self._clock_state(),
        )
