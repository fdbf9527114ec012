"""Runs an incident again: the recorded input through the real core of the instance, on a clock with
the recorded times.

The component begins with the recorded state. Each record then is a step: a message is run up to the
position of the next record, so a tick, a checkpoint or a watermark comes between the recorded
two tuples. Sent messages are only compared with the recorded messages.

The incident happened in the last step. There the replay ends when user code has raised as often as
recorded; corrected code, which does not raise, runs to the end of the message.
"""

import json
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from heron_core.errors import HeronError, UsageError
from heron_core.flight_records import BASES, Failure, FlightRecord, RecordKind, decode_records
from heron_core.incidents import RAISED, Incident
from heron_core.plans import PhysicalPlan, TopologyState, packing_from_json, physical_to_json
from heron_core.topology import TopologySpec, topology_from_json
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.messages import FromInstance, Plan
from heron_core.wire.packets import decode_roots, encode_roots
from heron_instance.input.raised import UserCodeRaised, line_of
from heron_tester.clock import START_MONOTONIC, PatchedTime, VirtualClock
from heron_tester.cluster import ADDRESS
from heron_tester.faults import Faults
from heron_tester.instance import SharedContext, TesterInstance
from heron_tester.records import Journal
from heron_tester.replay_result import ReplayFailure, ReplayResult
from heron_tester.replayed_output import OutputDifference, SentRows

VALUES_CHARACTERS_MAX = 500
"""Length of a failing tuple's values, as in the recorder."""
NOT_STEPS = (RecordKind.OUTPUT, RecordKind.FAILED)


class ReplayEnds(BaseException):
    """End of the replay within a call. Not a subclass of Exception, so that `except
    Exception` of user code does not catch it."""


@dataclass(slots=True)
class ReplayHooks:
    """Callbacks of a replay."""

    began: Callable[[int], object] = lambda number: None
    """Called before each tuple, or call of next_tuple, with the number."""
    raised: Callable[[BaseException], object] = lambda error: None
    """Called within the handler of an exception of user code."""
    until: int | None = None
    """Number of the tuple before which the replay ends."""


class _Counter(list[Any]):
    """Counts appended items without keeping them: a recording may have a million tuples."""

    def __init__(self, hooks: ReplayHooks) -> None:
        super().__init__()
        self.number = 0
        self._hooks = hooks

    def append(self, item: object) -> None:
        """Count an item."""
        self.number += 1
        if self.number == self._hooks.until:
            raise ReplayEnds
        self._hooks.began(self.number)


class _Alone:
    """Cluster of a single instance: messages end here, and timers do not run."""

    def __init__(self) -> None:
        self.sent_rows = SentRows()
        self.calls: deque[Callable[[], None]] = deque()
        self.timers = 0

    def sent(self, instance: TesterInstance, messages: list[Frames]) -> None:
        """See ClusterCallbacks."""
        self.sent_rows.add(messages)

    def reported(self, instance: TesterInstance, message: FromInstance) -> None:
        """See ClusterCallbacks."""

    def save(self, instance: TesterInstance, checkpoint: int, state: bytes) -> None:
        """See ClusterCallbacks."""

    def load(self, checkpoint: int, task: int) -> bytes:
        """See ClusterCallbacks."""
        raise HeronError("a replay restores nothing but the recorded state")

    def call_soon(self, instance: TesterInstance, function: Callable[[], None]) -> None:
        """See ClusterCallbacks."""
        self.calls.append(function)

    def call_later(
        self, instance: TesterInstance, secs: float, function: Callable[[], None]
    ) -> None:
        """See ClusterCallbacks."""
        self.timers += 1


class _Observer:
    """Stands in for the flight recorder, and collects exceptions of user code."""

    def __init__(self, result: ReplayResult, began: _Counter, hooks: ReplayHooks) -> None:
        self._result = result
        self._began = began
        self._hooks = hooks
        self.failing: object = None
        self.left: int | None = None
        """Failures until the end; None before the last step."""

    def failed(self, where: str, error: BaseException | None) -> str:
        """See FlightRecorder."""
        values, self.failing = self.failing, None
        text = "" if values is None else repr(values)[:VALUES_CHARACTERS_MAX]
        failure = Failure(where, line_of(error), text)
        self._result.failures.append(ReplayFailure(failure, self._began.number))
        if error is not None:
            self._hooks.raised(error)
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                raise ReplayEnds
        return ""

    def inputs(self, messages: Sequence[Frames], first: int, started: float) -> None:
        """See FlightRecorder."""

    def results(self, frames: Frames) -> None:
        """See FlightRecorder."""

    def calls(self, most: int, now: float) -> None:
        """See FlightRecorder."""

    def step(self, kind: RecordKind, now: float | None = None, number: int = 0) -> None:
        """See FlightRecorder."""


class Replay:
    """One incident, run once with a topology's code."""

    def __init__(
        self, incident: Incident, topology: TopologySpec, hooks: ReplayHooks | None = None
    ) -> None:
        """`topology`: as recorded, or with other code. DamagedRecording for damaged records."""
        self._summary = summary = incident.summary
        self._records = list(decode_records(incident.records))
        self._hooks = hooks or ReplayHooks()
        self.result = ReplayResult()
        self._cluster = _Alone()
        self._clock = VirtualClock(START_MONOTONIC + summary.ahead_secs)
        self._begun = _Counter(self._hooks)
        self._journal = Journal()
        self._recorded = SentRows()
        self._older_outcomes = 0
        packing = packing_from_json(json.loads(incident.packing))
        self._packing = packing
        self._name = topology.name
        self._is_spout = topology.by_name[summary.component].is_spout
        if not self._is_spout:
            self._journal.received = self._begun
        self._emitted = self._journal.emitted = _Counter(ReplayHooks())
        self._patched = PatchedTime(self._clock)
        self._shared = SharedContext(
            topology, packing, self._clock, self._patched, self._journal, Faults()
        )
        self._state = incident.state
        self._input: deque[Frames] = deque()
        """Remaining messages of the newest INPUT record."""
        self._row = 0
        """Row of the first message: earlier tuples are processed."""
        self._executed = 0
        self._observer = _Observer(self.result, self._begun, self._hooks)
        self.result.recorded = [each.failure for each in self._records if each.failure is not None]

    def run(self) -> ReplayResult:
        """Run all steps; returns the result. Exceptions of the component's start pass through."""
        with self._patched.patched():
            try:
                self._begin()
                self._run_steps()
            except ReplayEnds:
                pass
            self._flush()
        result = self.result
        result.tuples = self._begun.number
        result.emitted = self._emitted.number
        result.output = OutputDifference.between(self._recorded, self._cluster.sent_rows)
        result.notes += self._notes()
        return result

    def _begin(self) -> None:
        if self._records:
            self._clock.now = self._records[0].clock
            self._executed = self._records[0].executed
        self._instance = TesterInstance(
            self._shared, self._cluster, self._summary.task, 1, Random(0), self._state
        )
        driver = self._instance.driver
        driver.recorder = self._observer
        states = [each.first for each in self._records if each.kind == RecordKind.ACTIVE]
        is_paused = self._is_spout and states[:1] == [1]
        state = TopologyState.PAUSED if is_paused else TopologyState.RUNNING
        addresses = {each.id: ADDRESS for each in self._packing.containers}
        plan = PhysicalPlan(self._name, 1, state, self._packing, addresses)
        self._instance.order(Plan(physical_to_json(plan)))
        if self._is_spout:
            user = self._instance.component.driven_object
            user.next_tuple = self._counted(user.next_tuple)
        else:
            driver.stop_ticks()
            self._tell_watermarks()

    def _counted(self, next_tuple: Callable[[], Any]) -> Callable[[], Any]:
        def counted() -> Any:
            self._begun.append(None)
            return next_tuple()

        return counted

    def _tell_watermarks(self) -> None:
        """Watermarks of the sources before the first record."""
        driver = self._instance.driver
        for task, watermark_ms in self._records[0].sources if self._records else ():
            driver.source_watermarks.take(task, watermark_ms)
        driver.tell_again(driver.source_watermarks)
        driver.outbox.discard()  # sent before the first record

    def _run_steps(self) -> None:
        records, kinds = self._records, [each.kind for each in self._records]
        last = max((at for at, kind in enumerate(kinds) if kind not in NOT_STEPS), default=0)
        is_raised = self._summary.cause == RAISED
        failures = kinds[last:].count(RecordKind.FAILED) if is_raised else 0
        first = 1 if kinds and kinds[0] in BASES else 0
        for at, record in enumerate(records[first:], first):
            if record.kind == RecordKind.OUTPUT:
                self._recorded.add(record.messages)
            elif record.kind != RecordKind.FAILED:
                self._advance(record.executed)
                if at == last and failures:
                    self._observer.left = failures
                self._clock.now = record.clock
                self._step(record)
        self._advance(self._summary.executed)

    # --- steps --------------------------------------------------------------------------------

    def _step(self, record: FlightRecord) -> None:
        instance, driver = self._instance, self._instance.driver
        match record.kind:
            case RecordKind.INPUT:
                self._take(record)
            case RecordKind.TICK:
                self._guarded(lambda: driver.run_tick(record.clock))
            case RecordKind.FINISH:
                self._guarded(driver.finish)
            case RecordKind.SAVED:
                self._guarded(lambda: instance.component.pre_save(str(record.first)))
            case RecordKind.COMPLETED:
                self._guarded(lambda: instance.component.post_save(str(record.first)))
            case RecordKind.SKIPPED:
                self._skip(record.first)
            case RecordKind.CALLS:
                self._call(record.first)
            case RecordKind.RESULTS:
                self._settle(record.messages[0])
            case RecordKind.ACTIVE:
                self._guarded(lambda: driver.set_active(bool(record.first)))
        self._run_calls()

    def _guarded(self, call: Callable[[], object]) -> None:
        """Make a call; the driver counts failures, which do not end the replay."""
        try:
            self._instance.guarded(call)
        except UserCodeRaised:
            pass
        except HeronError as error:
            self.result.notes.append(f"the process would have ended here: {error}")
            raise ReplayEnds from None

    def _run_calls(self) -> None:
        """Calls by threads and coroutines for the main thread."""
        while self._cluster.calls:
            self._guarded(self._cluster.calls.popleft())

    def _take(self, record: FlightRecord) -> None:
        """Start the messages of a record. Remaining earlier messages were undone."""
        self._input = deque(record.messages)
        self._row, self._executed = record.first, record.executed
        if header_of(record.messages[0]).kind != FrameKind.DATA:
            self._guarded(lambda: self._instance.driver.deliver(self._input.popleft()))

    def _advance(self, executed: int | None) -> None:
        """Run input up to a position; None: all input."""
        while self._input and (executed is None or self._executed < executed):
            frames = self._input[0]
            items = header_of(frames).items
            left = items - self._row
            number = left if executed is None else min(left, executed - self._executed)
            self._run(frames, self._row, self._row + number)
            self._row += number
            self._executed += number
            if self._row >= items:
                self._input.popleft()
                self._row = 0

    def _run(self, frames: Frames, first: int, last: int) -> None:
        instance, driver = self._instance, self._instance.driver
        driver.reopen(header_of(frames).source)
        if instance.component.is_async:
            self._guarded(lambda: instance.deliver(frames))
        else:
            self._guarded(lambda: driver.run_rows(frames, first, last))
        self._run_calls()
        if driver.works_on:
            self._guarded(lambda: driver.work_on(self._clock()))

    def _skip(self, number: int) -> None:
        """Leave out tuples at the front."""
        self._executed += number
        self._row += number
        if self._input and self._row >= header_of(self._input[0]).items:
            self._input.popleft()
            self._row = 0

    # --- spouts -------------------------------------------------------------------------------

    def _call(self, most: int) -> None:
        driver = self._instance.driver
        self._guarded(lambda: driver.some_calls(most, self._clock()))
        driver.flush()

    def _settle(self, frames: Frames) -> None:
        """Tell the spout the outcome of the tuples in the positions of the recorded tuples."""
        head = header_of(frames)
        positions, roots = self._recorded.positions, self._cluster.sent_rows.roots
        known = [positions[root] for root in decode_roots(head, frames) if root in positions]
        self._older_outcomes += head.items - len(known)
        mine = array("Q", (roots[at] for at in known if at < len(roots)))
        packet = encode_roots(FrameKind(head.kind), head.epoch, head.source, head.destination, mine)
        self._guarded(lambda: self._instance.driver.deliver(packet))

    # --- the end ------------------------------------------------------------------------------

    def _flush(self) -> None:
        instance = getattr(self, "_instance", None)
        if instance is None:
            return
        self._observer.left = None
        instance.driver.outbox.flush()

    def _notes(self) -> Iterator[str]:
        summary, instance = self._summary, getattr(self, "_instance", None)
        if not summary.is_complete:
            yield (
                f"the records do not reach back to state {summary.state_number}: some tuples are"
                " missing in between (topology.flight.recorder.mib)"
            )
        if summary.left_out:
            yield f"{summary.left_out} records were larger than topology.flight.recorder.mib"
        if self._older_outcomes:
            yield f"{self._older_outcomes} acks and fails are of tuples from before the records"
        if self._cluster.timers:
            yield f"{self._cluster.timers} timers of the component's own did not come"
        if self.result.output.columns:
            yield f"{self.result.output.columns} messages of columns are not compared"
        if instance is not None and instance.is_real:
            yield "the component is a child process: its own clock is the real one"
        if instance is not None and getattr(instance.component, "is_async", False):
            yield "its coroutines ran to the end of each message; recorded ones may have overlapped"


def recorded_topology(incident: Incident) -> TopologySpec:
    """The recorded topology."""
    return topology_from_json(json.loads(incident.topology))


def with_code_of(recorded: TopologySpec, other: TopologySpec, component: str) -> TopologySpec:
    """The recorded topology with a component's class of `other`; UsageError if `other` lacks the
    component, or has a component of another kind by the name."""
    names = sorted(other.by_name)
    if component not in other.by_name:
        raise UsageError(
            f"topology {other.name} has no component {component!r}, of which the incident is; it"
            f" has {', '.join(names)}"
        )
    if other.by_name[component].is_spout is not recorded.by_name[component].is_spout:
        raise UsageError(f"component {component!r} was a spout in one and a bolt in the other")
    return recorded.with_class(component, other.by_name[component].class_path)
