"""Registration, heartbeats, probes and plans: what instances and the master have to say."""

from collections import deque
from collections.abc import Sequence
from typing import Any, assert_never

from heron_core.config import OFF, RUN_ON_ALL
from heron_core.errors import ProtocolError
from heron_core.exit_codes import ExitCode, describe_end
from heron_core.log_levels import SetLevel
from heron_core.records import replace
from heron_core.wire import messages
from heron_core.wire.batch import roots_of
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_engine.stream_manager import events
from heron_engine.stream_manager.ack_results import AckResults
from heron_engine.stream_manager.acks import Trees
from heron_engine.stream_manager.ages import Ages
from heron_engine.stream_manager.backpressure import BackPressure
from heron_engine.stream_manager.backups import Backups
from heron_engine.stream_manager.client_queries import ClientQueries
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.data_plane import DataPlane
from heron_engine.stream_manager.flow_control import FlowControl
from heron_engine.stream_manager.gates import Gates
from heron_engine.stream_manager.plan_update import PlanUpdate
from heron_engine.stream_manager.watermarks import Watermarks

Out = list[events.Instruction]
ForSome = (
    messages.FinishBolts
    | messages.SampleTuples
    | messages.RecordIncident
    | messages.QueryState
    | messages.SaveForUpdate
    | messages.DeferFails
)
"""Master messages that name their target instances."""

UNSENT_MAX = 100
"""Replaced instances that are remembered while there is no master; the newest count."""

REFUSED = describe_end(ExitCode.UNSTARTED)
"""End of a refused stream manager."""


def replaced(who: messages.RegisterInstance, gone: Sequence[Frames]) -> messages.InstanceReplaced:
    """Report to the master about a replaced process; `gone`: messages lost with the process."""
    lost, roots = 0, set[int]()
    for frames in gone:
        head = header_of(frames)
        if head.kind == FrameKind.DATA:
            tracked = roots_of(head, frames)
            roots |= tracked
            lost += 0 if tracked else head.items
    return messages.InstanceReplaced(who.task, who.predecessor, lost, len(roots), who.next_try_ms)


class ControlPlane:
    """Registered processes of tasks, and the master's requests."""

    def __init__(
        self,
        state: ContainerState,
        pressure: BackPressure,
        flow: FlowControl,
        data: DataPlane,
        results: AckResults,
        gates: Gates | None,
        watermarks: Watermarks,
        queries: ClientQueries,
        identity: messages.RegisterStreamManager,
    ) -> None:
        self.identity = identity
        self.plans = PlanUpdate(state, data, flow, results, gates)
        self._gates = gates
        self._ages = Ages(state, gates)
        self._watermarks = watermarks
        self._queries = queries
        self.backups = Backups(state.container, state.options.backup)
        self._state = state
        self._pressure = pressure
        self._levels_until: list[tuple[SetLevel, float]] = []
        """The master's newest table of log levels, each with its end."""
        self._flow = flow
        self._data = data
        self._results = results
        self._snapshots: dict[int, messages.Json] = {}
        """Of each instance here the newest metrics."""
        self._unreported: set[int] = set()
        """Restarts not yet reported to the master."""
        self._next_heartbeat = 0.0
        self._master_seen: float | None = None
        """Time of the last message from the master; None without a master."""
        before = identity.predecessor
        self._was_accepted = bool(before) and not before.startswith(REFUSED)
        """Whether any master has registered the process, or its predecessor, for the container."""
        self._probe: messages.QuiescenceProbe | None = None
        """The newest probe: an instance that registers later still answers the probe."""
        self._finishing: set[int] = set()
        """Local bolts told to finish and not finished yet."""
        self._restored: dict[
            int, messages.Restored | messages.RestoreFailed | messages.RestoreWanted
        ] = {}
        """State reports of local instances, for a master that takes over."""
        self._unsent: deque[messages.InstanceReplaced] = deque(maxlen=UNSENT_MAX)
        """Messages for the next master."""
        self._answers: list[messages.QuiescenceReport] = []
        """To its newest probe, since `send`."""

    # --- instances ----------------------------------------------------------------------------

    def from_instance(self, event: events.FromInstanceControl, out: Out) -> None:
        """A control message of a local instance; ProtocolError if it is for another's task."""
        message: Any = event.message
        if getattr(message, "task", None) != event.task:
            raise ProtocolError(f"task {event.task} speaks for another: {message!r:.100}")
        if not isinstance(message, messages.QuiescenceReport | messages.InstanceHeartbeat):
            self.send(out)  # what the instance has said before
        match message:
            case messages.RegisterInstance():
                self._register(message, out)
            case messages.InstanceHeartbeat(task, metrics, live_queries):
                self._heartbeat(task, event.incarnation, metrics, out)
                self._queries.reported(task, event.incarnation, live_queries)
            case messages.QuiescenceReport():
                self._answers.append(self._with_links(message))
            case messages.BoltFinished(task):
                self._finishing.discard(task)
                out.append(events.ToMaster(message))
            case (
                messages.Restored(task)
                | messages.RestoreFailed(task)
                | messages.RestoreWanted(task)
            ):
                self._restored[task] = message
                out.append(events.ToMaster(message))
            case messages.CheckpointStored(task, number):
                aligned_ms = 0 if self._gates is None else self._gates.aligned_ms(task, number)
                out.append(events.ToMaster(replace(message, aligned_ms=aligned_ms)))
            case messages.StateAnswered():
                if not self._queries.take(message, out):
                    out.append(events.ToMaster(message))
            case (
                messages.SpoutFinished()
                | messages.InstanceFailed()
                | messages.TuplesAbandoned()
                | messages.CheckpointFailed()
                | messages.SavedForUpdate()
                | messages.NotSavedForUpdate()
                | messages.FailsDeferred()
                | messages.TraceReport()
                | messages.TuplesSampled()
                | messages.IncidentRecorded()
            ):
                out.append(events.ToMaster(message))

    def send(self, out: Out) -> None:
        """Probe answers are sent after a heartbeat with all numbers: the master's final display
        then equals the counts."""
        answers, self._answers = self._answers, []
        if not answers:
            return
        tasks = {report.task for report in answers} & self._snapshots.keys()
        out.append(
            events.ToMaster(self._heartbeat_of({task: self._snapshots[task] for task in tasks}))
        )
        out.extend(map(events.ToMaster, answers))

    def _with_links(self, report: messages.QuiescenceReport) -> messages.QuiescenceReport:
        """An instance behind a broken connection is not idle: input waiting there is not lost."""
        now = self._state.now
        is_stuck = any(peer.is_stuck(now) for peer in self._state.peers.values())
        if is_stuck:
            return replace(report, idle=False, is_waiting=False)
        return report

    def _heartbeat(self, task: int, incarnation: int, metrics: messages.Json, out: Out) -> None:
        if task not in self._snapshots:
            self._next_heartbeat = 0.0  # the master needs the registration at once
        self._snapshots[task] = metrics
        self._unreported.add(task)
        if self._state.queues[task].incarnation != incarnation:
            # The process was served by the failed predecessor. So was the registered process, if
            # any: the later-born process stays, the earlier ends.
            out.append(events.ToLocalControl(task, incarnation, messages.Resync()))

    def _register(self, message: messages.RegisterInstance, out: Out) -> None:
        task, state = message.task, self._state
        queue = state.queues[task]
        if queue.incarnation == message.incarnation:
            return
        if queue.incarnation is not None and message.born_ms < queue.born_ms:
            queue.superseded.add(message.incarnation)
            state.refuse(task, message.incarnation, out)
            return
        state.note("registered", task=task, incarnation=message.incarnation)
        if task in state.trees and queue.incarnation is not None:
            # Emits under the predecessor have no tracker any more. Trees older than a first
            # registration belong to the process: data and control use two connections.
            state.trees[task] = Trees(state.options.expiry_buckets)
        had_predecessor = queue.incarnation is not None
        has_retained = queue.retains and self._gates is None
        gone = queue.replaced(message.incarnation, message.born_ms)
        self._restored.pop(task, None)
        if self._gates is not None:
            gone = []  # the topology is restored from a checkpoint, and nothing of it is lost
        if message.predecessor:
            self._unsent.append(replaced(message, gone))
            self._report(out)
        self._data.lost(gone, out)
        if has_retained:
            self._data.retained_lost(task, out)
        self._pressure.seen(task, state.now)
        self._queries.replaced(task, out)
        # Before the plan, which allows emits. The predecessor may have paused the instance for a
        # cause that no longer exists.
        state.send_control(task, messages.Pause(self._pressure.is_paused(task)), out)
        self._send_orders(task, out)
        if had_predecessor:
            self._watermarks.instance_replaced(task, out)
        self._flow.hand_over(task, out)

    def _send_orders(self, task: int, out: Out) -> None:
        """Messages sent to the other instances before the new instance registered."""
        if self.plans.plan is not None:
            self._state.send_control(task, self.plans.message, out)
        if self._probe is not None:
            self._state.send_control(task, self._probe, out)
        if task in self._finishing:
            self._state.send_control(task, messages.FinishBolts((task,)), out)
        if self._levels_until:
            self._state.send_control(task, self._log_levels(), out)

    def _log_levels(self) -> messages.LogLevels:
        """The master's table, with the time that is left."""
        now = self._state.now
        return messages.LogLevels(
            tuple(
                level._replace(secs=until - now)
                for level, until in self._levels_until
                if until > now
            )
        )

    # --- master -------------------------------------------------------------------------------

    def of_master(
        self,
        event: events.MasterConnected | events.MasterReplaced | events.ShellEnded,
        out: Out,
    ) -> None:
        """The connection to the topology master has changed, or a result is for the master."""
        match event:
            case events.MasterConnected(registers):
                self.master_connected(registers, out)
            case events.MasterReplaced():
                self.find_master("replaced", out)
            case events.ShellEnded(result):
                out.append(events.ToMaster(result))

    def master_connected(self, registers: bool, out: Out) -> None:
        """A connection to a topology master was opened."""
        self._state.note("master connected")
        self._master_seen = self._state.now
        if not registers:
            self._report(out)
            return
        self._unreported.update(self._snapshots)
        out.append(events.ToMaster(replace(self.identity, epoch=self._state.epoch)))
        self.identity = replace(self.identity, predecessor="")  # said once
        self._report(out)
        out.extend(map(events.ToMaster, self._restored.values()))

    def _report(self, out: Out) -> None:
        """Report replaced instances to the master, if connected."""
        while self._unsent and self._master_seen is not None:
            out.append(events.ToMaster(self._unsent.popleft()))

    def from_master(self, message: messages.ToStreamManager, out: Out) -> None:
        """A control message of the topology master."""
        self._master_seen = self._state.now
        match message:
            case messages.Plan(plan):
                self._was_accepted = True
                epoch = self._state.epoch
                removed = self.plans.take(plan, out)
                self._watermarks.packing_applied()
                if self._gates is not None and self._state.epoch > epoch:
                    self._finishing.clear()  # the bolts are restored, too
                for task in removed:
                    self._snapshots.pop(task, None)
                    self._finishing.discard(task)
                    self._restored.pop(task, None)
                # The master rejects numbers of instances outside of its plan.
                self._unreported = set(self._snapshots)
            case messages.QuiescenceProbe() as probe:
                self._probe = probe
                self._send_to_all(probe, out)
            case messages.TriggerCheckpoint() as trigger:
                for task in () if self._gates is None else self._gates.without_sources:
                    self._state.send_control(task, trigger, out)
            case messages.CheckpointCompleted() | messages.LogLevels():
                self._for_all(message, out)
            case (
                messages.FinishBolts()
                | messages.SampleTuples()
                | messages.RecordIncident()
                | messages.QueryState()
                | messages.SaveForUpdate()
                | messages.DeferFails()
            ):
                self._for_some(message, set(message.tasks) & self._state.queues.keys(), out)
            case messages.RunShell():
                self._run_shell(message, out)
            case messages.Ping() | messages.RegistrationRejected() | messages.HeartbeatAck():
                self._of_registration(message, out)
            case _:
                assert_never(message)

    def _of_registration(
        self,
        message: messages.Ping | messages.RegistrationRejected | messages.HeartbeatAck,
        out: Out,
    ) -> None:
        match message:
            case messages.Ping():
                out.append(events.ToMaster(messages.Pong(self._state.container)))
            case messages.RegistrationRejected(reason):
                self._rejected(reason, out)
            case messages.HeartbeatAck():
                self._was_accepted = True

    def _run_shell(self, request: messages.RunShell, out: Out) -> None:
        """The topology master has checked the key already; the key of the container's own config
        decides here as well, because the command has the rights of the container's user."""
        state = self._state
        state.note("run-on-all", run=request.run)
        if state.options.runs_commands:
            out.append(events.StreamManagerLog(f"runs a command: {request.command!r:.200}"))
            out.append(events.StartShell(request))
            return
        refused = messages.ShellRan(
            state.container, request.run, "?", error=f"{RUN_ON_ALL} is {OFF} here"
        )
        out.append(events.ToMaster(refused))

    def _for_all(
        self, message: messages.CheckpointCompleted | messages.LogLevels, out: Out
    ) -> None:
        """Log levels are for this process, too, and for instances that register later."""
        if isinstance(message, messages.LogLevels):
            now = self._state.now
            self._levels_until = [(level, now + level.secs) for level in message.levels]
            out.append(events.StreamManagerLogLevels(message))
        else:
            self.backups.completed(message.checkpoint)
        self._send_to_all(message, out)

    def _rejected(self, reason: str, out: Out) -> None:
        """Another one has the container, or the container is gone. Before this process was ever
        accepted the other one may be about to end, and the next try succeeds; afterwards this
        container was replaced while it stood still or was cut off, and ends."""
        code = ExitCode.SUPERSEDED if self._was_accepted else ExitCode.UNSTARTED
        out.append(events.StreamManagerExit(f"the topology master refused us: {reason}", code))

    def _for_some(self, message: ForSome, tasks: set[int], out: Out) -> None:
        if isinstance(message, messages.FinishBolts):
            self._finish(tasks, out)
            return
        if isinstance(message, messages.QueryState):
            self._ask(tasks, message, out)
            return
        for task in sorted(tasks):
            self._state.send_control(task, message, out)

    def _ask(self, tasks: set[int], query: messages.QueryState, out: Out) -> None:
        """Pass a question on; of an instance that is not there the master hears so at once."""
        for task in sorted(tasks):
            if self._state.queues[task].incarnation is None:
                absent = messages.QueryOutcome.RESTARTING
                out.append(events.ToMaster(messages.StateAnswered(task, query.query, absent)))
            else:
                self._state.send_control(task, query, out)

    def _finish(self, tasks: set[int], out: Out) -> None:
        for task in tasks:
            self._state.note("finish", task=task)
            self._finishing.add(task)
            self._state.send_control(task, messages.FinishBolts((task,)), out)

    def _send_to_all(self, message: messages.ToInstance, out: Out) -> None:
        for task in self._state.queues:
            self._state.send_control(task, message, out)

    def timer(self, out: Out) -> None:
        """A heartbeat when one is due; a look for the master when it has been silent, and for
        barriers that have waited too long."""
        if self._gates is not None:
            self._gates.timer(out)
        now, options = self._state.now, self._state.options
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + options.heartbeat_secs
            self._ages.observe()
            if self._master_seen is not None:
                out.append(events.ToMaster(self._news()))
        seen = self._master_seen
        if seen is not None and now - seen > options.master_silent_secs:
            self.find_master("silent", out)

    def find_master(self, cause: str, out: Out) -> None:
        """The master that we are connected to is gone."""
        if self._master_seen is not None:
            self._state.note(f"master {cause}")
            self._master_seen = None
            out.append(events.FindMaster())

    def _news(self) -> messages.Heartbeat:
        """Periodic report to the master: counters, and snapshots unknown to the master."""
        unreported, self._unreported = self._unreported, set()
        return self._heartbeat_of({task: self._snapshots[task] for task in unreported})

    def heartbeat(self) -> messages.Heartbeat:
        """Our counters, our instances' newest snapshots."""
        return self._heartbeat_of(dict(self._snapshots))

    def _heartbeat_of(self, snapshots: dict[int, messages.Json]) -> messages.Heartbeat:
        paused = self._pressure.statistics(self._state.now)
        return messages.Heartbeat(self._state.container, self.statistics(), snapshots, paused)

    def statistics(self) -> dict[str, Any]:
        """Counters and sizes as they are now."""
        state = self._state
        return {
            **state.counters,
            "trees": sum(map(len, state.trees.values())),
            "unknown_roots": sum(trees.unknown for trees in state.trees.values()),
            "waiting_bytes": self._waiting_bytes(),
            "waiting_tuples": self._waiting_tuples(),
            "waiting_secs": {
                task: queue.pending_secs(state.now) for task, queue in state.queues.items()
            },
            "peer_bytes": {each: queue.waiting_bytes for each, queue in state.peers.items()},
            "causes": sorted(self._pressure.named_by(state.container)),
            "caused_ms": self._pressure.caused_ms(state.now),
            **self._pressure.times_ms(state.now),
            "live_queries": self._queries.totals().by_name(),
            "backup_bytes": self.backups.total_bytes,
            "backup_refused": self.backups.refused,
            **self._ages.statistics(),
        }

    def _waiting_bytes(self) -> dict[int, int]:
        waiting = {task: queue.pending_bytes for task, queue in self._state.queues.items()}
        if self._gates is not None:
            waiting = {
                task: each + self._gates.blocked_bytes(task) for task, each in waiting.items()
            }
        return waiting

    def _waiting_tuples(self) -> dict[int, int]:
        waiting = {task: queue.pending_tuples for task, queue in self._state.queues.items()}
        if self._gates is not None:
            waiting = {
                task: each + self._gates.blocked_tuples(task) for task, each in waiting.items()
            }
        return waiting

    def validate(self) -> None:
        """AssertionError unless what is kept is of instances here."""
        assert self._restored.keys() <= self._state.queues.keys()
        self.plans.validate()
        assert self._unreported <= self._snapshots.keys() <= self._state.queues.keys()
        assert self._finishing <= self._state.queues.keys()
