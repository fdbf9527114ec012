"""The topology master's decisions: `handle(event, now)` returns what to do and does nothing else.

It joins the stream managers' registrations and the packing plan to a physical plan, keeps the
topology's state, rolls up metrics, answers commands, and finds out when a finite topology is done.
Data never passes here, so losing the master stops nothing. Here stands which message changes what;
lifecycle.py composes the parts that are changed.
"""

from typing import assert_never

from heron_core.errors import HeronError, ProtocolError
from heron_core.exit_codes import ENDED_IN_ORDER
from heron_core.operations import REQUESTER
from heron_core.plans import (
    MASTER_CONTAINER,
    PackingPlan,
    Phase,
    PhysicalPlan,
    Restore,
    UpdateStage,
)
from heron_core.records import replace
from heron_core.stats import TopologyStats
from heron_core.topology import TopologySpec
from heron_core.topology_events import EventKind
from heron_core.traces import executions_of
from heron_core.transition_log import TransitionLog
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.commands import Commands, send_levels
from heron_engine.topology_master.effectively_once import EffectivelyOnce
from heron_engine.topology_master.incident_requests import IncidentRequests
from heron_engine.topology_master.incidents import Incidents
from heron_engine.topology_master.lifecycle import Lifecycle
from heron_engine.topology_master.log_levels import LogLevelTable
from heron_engine.topology_master.membership import RegisteredStreamManager
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.queries import QUERY, Queries, refused
from heron_engine.topology_master.samples import Samples
from heron_engine.topology_master.shell_runs import ShellRuns
from heron_engine.topology_master.statistics import topology_stats
from heron_engine.topology_master.termination import spouts_of

Out = list[events.Instruction]

TIMER_SECS = 0.02
"""While something is under way."""
IDLE_TIMER_SECS = 0.2
"""Else: a silent container is noticed after seconds, and fifty timers a second were half of what an
idle topology's master cost."""
LOGGED_EVERY_SECS = 60.0
"""Malformed messages are counted each, and logged once a minute."""


class TopologyMaster:
    """State of one topology's master."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        options: MasterOptions,
        previous: PhysicalPlan | None = None,
        execution: messages.Json | None = None,
        statistics: messages.Json | None = None,
        wall_clock_secs: float = 0.0,
        checkpoints: messages.Json | None = None,
    ) -> None:
        """`packing`, `previous` and `execution` are from the state store: the target packing
        plan, the plan published by a previous master, and the execution state. `statistics`: the
        previous master's counts (StoreStatistics). `wall_clock_secs` plus the times passed to
        `handle` are seconds since 1970. `checkpoints`: checkpoint data of the state store
        (StoreCheckpoints), in a topology with checkpoints."""
        self._submitted = topology
        self.options = options
        self.counters = {"malformed": 0, "refused": 0, "disconnected": 0}
        """Counts of dropped messages and, counted by the server (CurveAuthenticator), of
        connections without the key, and of ended connections."""
        self._wall_clock_secs = wall_clock_secs
        kept = statistics or {}
        incidents = Incidents(wall_clock_secs, kept.get("events", ()))
        once = (
            EffectivelyOnce(options, checkpoints or {}, previous, wall_clock_secs)
            if options.checkpoints
            else None
        )
        self._life = Lifecycle(
            topology, packing, options, previous, execution or {}, incidents, once
        )
        if kept:
            self._life.measurements.remember(kept)
        self._submitter = None if kept else (execution or {}).get(REQUESTER)
        """Of the submit, if this is the first master: a later one has the event already."""
        self._keep_at = float("-inf")
        self._kept: messages.Json = kept
        self._samples = Samples(topology)
        self._recordings = IncidentRequests(topology)
        self._queries = Queries(topology)
        self._shell_runs = ShellRuns(topology)
        self._levels = LogLevelTable(topology, wall_clock_secs, kept.get("log_levels", ()))
        self._commands = Commands(
            self._life, self, self._samples, self._shell_runs, self._levels, self._recordings
        )
        self._transition_log = TransitionLog()
        self._log_malformed_at = float("-inf")

    @property
    def state(self) -> str:
        """RUNNING or PAUSED, as the user wants it."""
        return self._life.state

    @property
    def draining(self) -> bool:
        """Whether the topology is being killed."""
        return self._life.draining

    @property
    def packing(self) -> PackingPlan:
        """The packing plan that the topology runs by."""
        return self._life.plan.packing

    @property
    def epoch(self) -> int:
        """Number of the physical plan; 0 without a plan."""
        return self._life.plan.epoch

    @property
    def plan_restore(self) -> Restore | None:
        """Initial states of the plan; None in a topology without checkpoints."""
        return self._life.plan.restore

    @property
    def has_checkpoint(self) -> bool:
        """Whether a checkpoint is complete."""
        once = self._life.effectively_once
        return once is not None and bool(once.checkpoints.completed)

    @property
    def phase(self) -> Phase:
        """How far the end of a finite topology has come."""
        return self._life.termination.phase

    @property
    def lost(self) -> int:
        """See heron_core.algorithms.termination.TerminationDetector."""
        return self._life.termination.detector.lost

    @property
    def probe_round(self) -> int:
        """Number of the newest round of probes."""
        return self._life.termination.detector.round_number

    @property
    def update_stage(self) -> UpdateStage | None:
        """Progress of an update; None without an update."""
        return self._life.updates.stage

    @property
    def timer_secs(self) -> float:
        """How soon the next MasterTimer is to come."""
        is_waiting = self._life.is_waiting or self._queries.pending > 0
        return TIMER_SECS if is_waiting else IDLE_TIMER_SECS

    def stats(self, component: str | None, now: float) -> TopologyStats:
        """All statistics, including instances of the given component."""
        statistics = topology_stats(
            self._life, self.counters, self.options, component, now, self._wall_clock_secs
        )
        by_managers = [each.live_queries for each in statistics.stream_managers.values()]
        return replace(
            statistics,
            live_queries=self._queries.counts.with_those_of(by_managers).by_name(),
            log_levels=self._levels.stats(now),
        )

    def handle(self, event: events.Event, now: float) -> Out:
        """What to do about `event`; `now` in seconds of any monotonic clock."""
        out: Out = []
        match event:
            case events.MasterTimer(stored):
                if stored:
                    self._life.stored(out)
                self._timer(now, out)
            case events.MasterMalformed(reason):
                self._malformed(reason, now, out)
            case events.MasterOtherEngine(sender, reason):
                refusal = messages.RegistrationRejected(reason)
                out += [events.Send(sender, refusal), events.MasterLog(f"refused: {reason}")]
            case events.MasterShellEnded(result):
                self._shell_runs.take(result)
            case events.StatesSought():
                if (once := self._life.effectively_once) is not None:
                    self._life.take_states_sought(once, event, now, out)
            case events.MasterReceived(sender, message):
                try:
                    self._received(sender, message, now, out)
                except ProtocolError as error:
                    self._malformed(str(error), now, out)
            case _:
                assert_never(event)
        out += map(events.WriteEvent, self._life.incidents.take_fresh())
        effects = [text for each in out if (text := events.effect_of(each)) is not None]
        if effects:
            self._transition_log.record(now, events.cause_of(event), effects)
        return out

    def transition_log(self) -> TransitionLog:
        """What was decided lately, and why."""
        return self._transition_log

    def validate(self) -> None:
        """AssertionError, with the transition log, if something holds that never may: for tests,
        between two events."""
        try:
            self._life.validate()
            self._queries.validate()
        except AssertionError as error:
            error.add_note(str(self._transition_log))
            raise

    def _timer(self, now: float, out: Out) -> None:
        life = self._life
        life.take_over(now, out)
        life.advance_update(now, out)
        life.advance_checkpoints(now, out)
        self._detect_incidents(now)
        self._queries.expire(life.plan.packing, now, out)
        self._expire_levels(now, out)
        self._keep(now, out)
        if life.is_probing:
            number = life.termination.next_round(now)
            if number is not None:
                life.send_all(messages.QuiescenceProbe(number), out)

    def _expire_levels(self, now: float, out: Out) -> None:
        over = self._levels.expired(now)
        for what in over:
            self._life.incidents.record(now, EventKind.LOG_LEVEL, what)
        if over:
            send_levels(self._life, self._levels, now, out)

    def _detect_incidents(self, now: float) -> None:
        """Silent containers, and pauses that last."""
        life, limit = self._life, self.options.silent_secs
        packing = life.plan.packing
        silent = life.members.silent(limit, now) & life.plan.containers
        life.incidents.heard_of_containers(silent, limit, packing, now)
        life.incidents.heard_of_pauses(life.measurements.pauses(), packing, now)

    def _keep(self, now: float, out: Out) -> None:
        """Have the counts written down, if it is time and they have changed."""
        if now < self._keep_at:
            return
        life = self._life
        hundreds = max(1.0, len(life.plan.packing.instances) / 100)
        self._keep_at = now + self.options.keep_secs * hundreds
        kept = {
            **life.measurements.to_json(),
            "events": life.incidents.to_json(),
            "log_levels": self._levels.to_json(),
        }
        if kept != self._kept:
            self._kept = kept
            out.append(events.StoreStatistics(kept))

    def master_began(self, predecessor: str, now: float) -> None:
        """This master serves from now on; how the one before ended, if there was one here."""
        if self._submitter is not None:
            try:
                self._life.incidents.acted(now, "submit", self._submitter)
            except ProtocolError as error:  # by hand in the state store: no reason to end
                self._life.incidents.record(now, EventKind.ACTION, "submit", str(error))
        if predecessor:
            what = f"another topology master took over from {predecessor}"
            kind = EventKind.RESTART if predecessor.startswith(ENDED_IN_ORDER) else EventKind.CRASH
            self._life.incidents.record(now, kind, what, container=MASTER_CONTAINER)

    def _malformed(self, reason: str, now: float, out: Out) -> None:
        self.counters["malformed"] += 1
        if now >= self._log_malformed_at:
            self._log_malformed_at = now + LOGGED_EVERY_SECS
            out.append(events.MasterLog(f"dropped a malformed message: {reason}"))

    def _received(
        self,
        sender: bytes,
        message: messages.FromStreamManager | messages.Command,
        now: float,
        out: Out,
    ) -> None:
        life = self._life
        match message:
            case messages.RegisterStreamManager():
                self._register(sender, message, now, out)
            case messages.Heartbeat():
                self._heartbeat(sender, message, now, out)
            case messages.Pong() | messages.ShellRan():
                self._answered(sender, message, out)
            case messages.QuiescenceReport():
                if life.effectively_once is not None and message.epoch != self.epoch:
                    return  # discarded tuples are counted now
                life.termination.take(message, now)
                life.updates.report(message, self.epoch)
                life.advance(now, out)
            case messages.SpoutFinished(task, finished):
                self._spout_finished(task, finished)
                life.advance(now, out)
            case messages.BoltFinished(task):
                life.termination.bolt_finished(task)
                life.advance(now, out)
            case messages.InstanceFailed():
                self._instance_failed(message, now, out)
            case (
                messages.InstanceReplaced()
                | messages.TraceReport()
                | messages.TuplesSampled()
                | messages.IncidentRecorded()
                | messages.StateAnswered()
            ):
                self._check_task(message.task)
                self._of_instance(message, now, out)
            case (
                messages.SavedForUpdate()
                | messages.NotSavedForUpdate()
                | messages.FailsDeferred()
                | messages.CheckpointStored()
                | messages.TuplesAbandoned()
                | messages.CheckpointFailed()
                | messages.Restored()
                | messages.RestoreFailed()
                | messages.RestoreWanted()
            ):
                self._state_message(message, now, out)
            case messages.Command():
                self._command(sender, message, now, out)
            case _:
                # Any client with the key may send any message, regardless of the type.
                raise ProtocolError(f"unexpected message: {message!r:.100}")

    def _answered(self, sender: bytes, answer: messages.Pong | messages.ShellRan, out: Out) -> None:
        if isinstance(answer, messages.Pong):
            self._life.members.pong(sender, answer.container, out)
        else:
            self._shell_runs.take(answer)

    def _register(
        self, sender: bytes, who: messages.RegisterStreamManager, now: float, out: Out
    ) -> None:
        life = self._life
        if who.container in life.expected:
            life.register(RegisteredStreamManager(sender, who, now), now, out)
            self._repeat_completed(sender, out)
            if self._levels:
                out.append(events.Send(sender, self._levels.message(now)))
        elif not life.updates.number:  # else it was removed, and will be ended
            known = ", ".join(map(str, sorted(life.expected)))
            reason = f"container {who.container} is not in the packing plan (containers: {known})"
            out.append(events.Send(sender, messages.RegistrationRejected(reason)))

    def _repeat_completed(self, sender: bytes, out: Out) -> None:
        """A stream manager registers again, perhaps because a master is gone that was about to say
        so: what its sinks have prepared is to be committed."""
        once = self._life.effectively_once
        completed = None if once is None else once.newest_stored(self.epoch)
        if completed is not None and self._life.may_probe:
            out.append(events.Send(sender, completed))

    def _heartbeat(
        self, sender: bytes, heartbeat: messages.Heartbeat, now: float, out: Out
    ) -> None:
        life, container = self._life, heartbeat.container
        if container not in life.members.registered:
            if life.updates.number and container not in life.expected:
                # For a removed container: ignored until the container ends. A container restored by
                # a rollback before its end gets no answer, and so registers again.
                life.updates.removed_heard(container, now)
                out.append(events.Send(sender, messages.HeartbeatAck()))
            return
        if not life.members.heartbeat(sender, container, now, out):
            return
        if container not in life.plan.containers:
            return
        life.measurements.take_stream_manager(heartbeat, life.packings, now)
        for task, report in heartbeat.instances.items():
            try:
                self._take_report(container, task, report, now)
            except ProtocolError as error:
                self._malformed(str(error), now, out)
        life.advance(now, out)

    def _take_report(self, container: int, task: int, data: messages.Json, now: float) -> None:
        life = self._life
        report = life.measurements.take_report(container, task, data, life.plan, now)
        if report is None:
            return
        life.incidents.heard_of_call(task, report.stuck_secs, life.plan.packing, now)
        if report.finished:
            # A master that took over does not know the time of the event.
            life.termination.spout_finished(task, True)

    def _spout_finished(self, task: int, finished: bool) -> None:
        life = self._life
        if not any(task in spouts_of(self._submitted, packing) for packing in life.packings):
            raise ProtocolError(f"task {task} is not a spout: SpoutFinished is rejected")
        life.termination.spout_finished(task, finished)

    def _of_instance(
        self,
        message: (
            messages.InstanceReplaced
            | messages.TraceReport
            | messages.TuplesSampled
            | messages.IncidentRecorded
            | messages.StateAnswered
        ),
        now: float,
        out: Out,
    ) -> None:
        match message:
            case messages.InstanceReplaced():
                self._instance_replaced(message, now)
                self._queries.replaced(message.task, self.packing, out)
            case messages.TraceReport(task, report):
                out.append(events.ExportTrace(task, tuple(executions_of(report))))
            case messages.TuplesSampled():
                self._samples.take(message)
            case messages.IncidentRecorded(task, _, _, text):
                if self._recordings.take(message):
                    at = (task, self.packing)
                    self._life.incidents.record(now, EventKind.RECORDED, text, instance=at)
            case messages.StateAnswered():
                self._queries.take(message, self.packing, out)

    def _command(self, asker: bytes, command: messages.Command, now: float, out: Out) -> None:
        """The reply to a query follows when the instances have answered, to all others at once."""
        if command.name != QUERY:
            out.append(events.Send(asker, self._commands.answer(command, now, out)))
            return
        life = self._life
        packing, there = life.plan.packing, life.members.registered.keys()
        try:
            query, reply = self._queries.begin(asker, command.arguments, packing, now)
        except HeronError as error:
            reply = refused(error)
        if reply is not None:
            out.append(events.Send(asker, reply))
            return
        containers = {packing.container_of[task] for task in query.tasks}
        for task in query.tasks:
            if packing.container_of[task] not in there:
                self._queries.replaced(task, packing, out)
        life.members.send_all(containers, query, out)

    def _check_task(self, task: int) -> None:
        if task not in self._life.tasks:
            raise ProtocolError(f"task {task} is not in the packing plan")

    def _instance_replaced(self, message: messages.InstanceReplaced, now: float) -> None:
        life = self._life
        if not message.reason.startswith(ENDED_IN_ORDER):
            life.measurements.losses.instances += 1
        life.measurements.losses.deliveries += message.lost
        life.measurements.replaced(message, now)
        life.incidents.instance_replaced(message, life.plan.packing, now)

    def _state_message(self, message: messages.StateMessage, now: float, out: Out) -> None:
        """An instance has saved or restored its state, or could not."""
        once = self._life.effectively_once
        if once is None:
            self._life.updates.take(message, self.epoch)
            self._life.advance_update(now, out)
        elif isinstance(message, messages.UpdateAnswer) or message.task not in self._life.tasks:
            raise ProtocolError(f"the state of an unknown task: {message!r:.100}")
        elif message.task in self._life.plan.packing.instances:  # or else it was scaled away
            self._life.take_checkpoint_message(once, message, now, out)

    def _instance_failed(self, message: messages.InstanceFailed, now: float, out: Out) -> None:
        task, error = message.task, message.error
        self._check_task(task)
        packing = self._life.plan.packing
        if task in packing.instances:
            self._life.incidents.record(
                now, EventKind.START_FAILED, "could not start", error, instance=(task, packing)
            )
        self._life.measurements.failed(message, now)
        self._life.instance_failed(task, error, now, out)
        out.append(events.MasterLog(f"task {task} failed: {error}"))
