"""The control thread's decisions: what messages of the stream manager mean, and the heartbeat.

All of it runs in the control thread, so it answers at once however long user code takes. What is to
happen in the main thread becomes a pending call. Of the driver it uses only what any thread may:
`plan_changed`, `counts`, `statistics` and the metrics' last error.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from heron_core.instance_report import InstanceReport, to_wire
from heron_core.plans import PhysicalPlan, Restore, TopologyState, physical_from_json
from heron_core.records import replace
from heron_core.traces import report_of
from heron_core.wire import messages
from heron_instance.events import (
    ControlReceived,
    InstanceExit,
    InstanceLogLevels,
    Instruction,
    ReportLongCall,
    SendControl,
    Wake,
)
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.driver import ComponentDriver
from heron_instance.runtime.context import UserMetrics
from heron_instance.runtime.report_pace import ReportPace
from heron_instance.runtime.watchdog import Watchdog
from heron_instance.shared_state import SharedState

Out = list[Instruction]


class Identity(Struct, frozen=True):
    """Identity of the process."""

    task: int
    incarnation: int
    """Unique id of the process among all processes of its task."""
    pid: int
    predecessor: str = ""
    """End reason of the replaced process; empty for the first process."""
    born_ms: int = 0
    """Start of the process, by its host's monotonic clock."""
    next_try_ms: int = 0
    """Restart delay if the process ends immediately."""


class MainThreadCalls(Struct, frozen=True):
    """What the control thread asks of the main thread; each takes the name of the cause."""

    take_plan: Callable[[str], None]
    fail_pending: Callable[[str], None]
    finish_bolt: Callable[[str], None]
    trigger: Callable[[messages.TriggerCheckpoint], None]
    prepare_update: Callable[[messages.SaveForUpdate | messages.DeferFails], None]
    checkpoint_completed: Callable[[messages.CheckpointCompleted], None]
    sample: Callable[[messages.SampleTuples], None]
    query: Callable[[messages.QueryState], None]
    record: Callable[[messages.RecordIncident], None]


def is_replaced(before: Mapping[int, str], now: Mapping[int, str]) -> bool:
    """Whether a stream manager is another one now; containers that come or go do not count.

    Both: container -> address of its stream manager.
    """
    return any(now.get(container, address) != address for container, address in before.items())


class ControlCore:
    """The control thread's part of an instance; core.py joins it with the main thread's."""

    def __init__(
        self,
        identity: Identity,
        driver: ComponentDriver,
        shared: SharedState,
        calls: MainThreadCalls,
        user_metrics: UserMetrics,
        poll: Callable[[], None] | None = None,
    ) -> None:
        """`poll`: see InstanceEnvironment."""
        self.identity = identity
        self.watchdog = Watchdog(driver.options.stuck_secs)
        self.pace = ReportPace(
            driver.options.metrics_interval_secs, may_rest=isinstance(driver, BoltDriver)
        )
        self._predecessor = identity.predecessor
        self._shared = shared
        self._poll = poll
        self._driver = self._interrupting(driver)
        self._calls = calls
        self._user_metrics = user_metrics
        self._addresses: Mapping[int, str] | None = None
        """Of the stream managers, by the newest plan."""
        self._packed_since = 0
        """The epoch of the first plan with its packing plan."""

    def attach(self, driver: ComponentDriver, metrics: Mapping[str, tuple[Any, float]]) -> None:
        """From the main thread: another driver runs the component from now on, and these are the
        metrics that user code has registered."""
        self._driver = self._interrupting(driver)
        self._user_metrics.follow(metrics)

    def count_malformed(self) -> None:
        """Count an unreadable control message; the control thread logs its error."""
        self._driver.metrics.malformed += 1

    def _interrupting(self, driver: ComponentDriver) -> ComponentDriver:
        """The driver, set up to check within a message for interrupts and for calls that precede
        further input."""
        shared = self._shared
        driver.overtaken, driver.abandoned = lambda: shared.interrupts, shared.abandons
        if self._poll is not None:
            driver.poll_by(self._poll)
        driver.preceded = lambda: shared.comes_first
        return driver

    def connected(self) -> Out:
        """The first message of a connection identifies the instance."""
        return [SendControl(self._register())]

    def timer(self, now: float) -> Out:
        """Send a heartbeat when it is due."""
        return self._heartbeat(now) if now >= self.pace.due_at else []

    def received(self, event: ControlReceived, now: float) -> Out:
        """Reaction to a message of the stream manager; ProtocolError for an invalid plan."""
        match event.message:
            case messages.Plan(plan):
                return self._plan(physical_from_json(plan))
            case messages.Pause(on):
                self._shared.paused = on
                return self._changed()
            case messages.Resync():
                return [SendControl(self._register()), *self._call(self._calls.fail_pending, event)]
            case messages.QuiescenceProbe(round_number):
                # First: a call finished by now has counted its output.
                is_free = not self._shared.pending_calls
                sent, processed, idle = self._driver.counts()
                report = messages.QuiescenceReport(
                    self.identity.task, round_number, sent, processed, idle and is_free,
                    self._shared.epoch_taken, is_free and self._driver.holds,
                    self._driver.may_fail_retained, self._shared.paused,
                )  # fmt: skip
                return [*self._heartbeat(now), SendControl(report)]
            case messages.FinishBolts():
                return self._call(self._calls.finish_bolt, event)
            case messages.TriggerCheckpoint() as trigger:
                self._shared.call_first(partial(self._calls.trigger, trigger))
                return self._want_barrier(trigger.epoch, trigger.checkpoint)
            case messages.SaveForUpdate() | messages.DeferFails() as wanted:
                self._shared.call_first(partial(self._calls.prepare_update, wanted))
                return [Wake()]
            case messages.OvertakeInput(checkpoint, epoch):
                return self._want_barrier(epoch, checkpoint)
            case messages.CheckpointCompleted() as completed:
                self._shared.call(partial(self._calls.checkpoint_completed, completed))
                return [Wake()]
            case (
                messages.SampleTuples()
                | messages.QueryState()
                | messages.RecordIncident()
                | messages.LogLevels()
            ) as wanted:
                return self._observe(wanted)
            case messages.Superseded(reason):
                # Nothing done by the process counts any more, so nothing is worth finishing.
                return [InstanceExit(reason)]
        return []

    def _observe(
        self,
        wanted: (
            messages.SampleTuples
            | messages.QueryState
            | messages.RecordIncident
            | messages.LogLevels
        ),
    ) -> Out:
        """A request for a sample of the output, for state, for an incident, or for other lines in
        the log."""
        if isinstance(wanted, messages.LogLevels):
            return [InstanceLogLevels(wanted)]
        if isinstance(wanted, messages.SampleTuples):
            self._shared.call(partial(self._calls.sample, wanted))
        elif isinstance(wanted, messages.RecordIncident):
            self._shared.call_between(partial(self._calls.record, wanted))
        else:
            self._shared.call_between(partial(self._calls.query, wanted))
        return [Wake()]

    def _plan(self, plan: PhysicalPlan) -> Out:
        shared, addresses = self._shared, plan.stream_managers
        before, self._addresses = self._addresses, addresses
        replaced = before is not None and is_replaced(before, addresses)
        if replaced:
            # The new stream manager also asks for identification, unless a registration was still
            # in transit; in any case trees are lost.
            shared.call_first(partial(self._calls.fail_pending, "Plan"))
        if shared.plan is None or plan.packing != shared.plan.packing:
            self._packed_since = plan.epoch
        shared.epoch = plan.epoch
        shared.active = plan.state == TopologyState.RUNNING
        shared.plan = plan
        self.pace.follow_size(len(plan.packing.instances))
        if shared.takes_checkpoints:
            # The main thread passes the epoch to the driver after dropping older input.
            shared.is_restoring = not self._is_member(plan.restore)
        else:
            # What is emitted by the routes of a packing plan before carries the epoch of then: the
            # main thread gives the driver this one, when it has the new routes.
            has_routes = before is None or shared.epoch_taken >= self._packed_since
            is_fenced = before is None or replaced
            self._driver.plan_changed(shared.epoch, is_fenced, has_routes)
        shared.call_first(partial(self._calls.take_plan, "Plan"))
        return self._changed()

    def _is_member(self, restore: Restore | None) -> bool:
        """Whether all instances have their initial state, the own included."""
        members = None if restore is None else restore.members
        who = self.identity
        return members is not None and members.get(who.task) == who.incarnation

    def _want_barrier(self, epoch: int, checkpoint: int) -> Out:
        if self._shared.takes_checkpoints and self._driver.options.overtakes:
            self._shared.want_barrier(epoch, checkpoint)
        return [Wake()]

    def _changed(self) -> Out:
        self._shared.update()
        return [Wake()]

    def _call(self, call: Callable[[str], None], event: ControlReceived) -> Out:
        self._shared.call_first(partial(call, type(event.message).__name__))
        return [Wake()]

    def _register(self) -> messages.RegisterInstance:
        who, predecessor = self.identity, self._predecessor
        self._predecessor = ""  # logged once: the receiver reports the event
        return messages.RegisterInstance(
            task=who.task,
            incarnation=who.incarnation,
            pid=who.pid,
            predecessor=predecessor,
            born_ms=who.born_ms,
            next_try_ms=who.next_try_ms,
        )

    def traces(self) -> Out:
        """A report of executed traced trees, if any."""
        executions = self._driver.take_executions()
        if not executions:
            return []
        report = messages.TraceReport(self.identity.task, report_of(executions))
        return [SendControl(report)]

    def _heartbeat(self, now: float) -> Out:
        report = self.report(now)
        self.pace.reported(report, now, self.watchdog.waiting)
        calls, is_blocked = report.executed + report.ticks, not self._shared.may_send
        secs = self.watchdog.check(calls, is_blocked, now, report.waited_secs)
        out = self.traces()
        report = replace(report, stuck_secs=self.watchdog.stuck_secs)
        if secs is not None:
            out.append(ReportLongCall(secs))
        out.append(SendControl(messages.InstanceHeartbeat(self.identity.task, to_wire(report))))
        return out

    def report(self, now: float) -> InstanceReport:
        """Counts of the driver, and summary about the process."""
        sent, processed, _ = self._driver.counts()
        return replace(
            self._driver.statistics(),
            sent=sent,
            processed=processed,
            settle_secs_max=self._driver.settle_secs_max,
            user=self._user_metrics.read(now),
            user_totals=self._user_metrics.totals(),
            tuple_counts=self._user_metrics.tuple_counts(),
            at=now,
            incarnation=self.identity.incarnation,
            pid=self.identity.pid,
        )

    def validate(self) -> None:
        """AssertionError if what was heard of the plan does not fit."""
        assert (self._addresses is None) == (self._shared.epoch == 0), "a plan without addresses"
        plan = self._shared.plan
        running = plan is not None and plan.state == TopologyState.RUNNING
        assert self._shared.active == running, f"active is {self._shared.active}, not the plan's"
