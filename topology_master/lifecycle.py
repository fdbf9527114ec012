"""The life of one topology: state, plan, updates and end.

The module joins membership, physical plan, measurements, updates and termination: changes of one
part with effects on another go through here. core.py maps messages to changes.
"""

from collections.abc import Iterable, Set
from typing import Any, assert_never

from heron_core.exit_codes import ENDED_IN_ORDER
from heron_core.plans import PackingPlan, Phase, PhysicalPlan, TopologyState, instance_name, leaving
from heron_core.topology import TopologySpec
from heron_core.topology_events import EventKind
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.checkpoints import Step
from heron_engine.topology_master.effectively_once import (
    ANOTHER_TRY,
    ROLLED_BACK,
    SWITCHED,
    EffectivelyOnce,
    Troubles,
)
from heron_engine.topology_master.ending import end_of
from heron_engine.topology_master.incidents import LOST_QUEUES, Incidents
from heron_engine.topology_master.measurements import Measurements
from heron_engine.topology_master.membership import Membership, RegisteredStreamManager
from heron_engine.topology_master.options import MasterOptions, first_state
from heron_engine.topology_master.physical_plan import CurrentPlan, changes_between, containers_of
from heron_engine.topology_master.recovery import RestoreProgress
from heron_engine.topology_master.termination import (
    Ended,
    Finish,
    Save,
    StopTicks,
    Termination,
)
from heron_engine.topology_master.update import decisions
from heron_engine.topology_master.update.machine import UpdateMachine
from heron_engine.topology_master.update.record import MasterView
from heron_engine.topology_master.visible_states import why_late, why_not_stored, why_unseen

Out = list[events.Instruction]


class Lifecycle:
    """The parts of a topology master's state, and cross-cutting changes."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        options: MasterOptions,
        previous: PhysicalPlan | None,
        stored: messages.Json,
        incidents: Incidents,
        effectively_once: EffectivelyOnce | None = None,
    ) -> None:
        """`packing`, `previous` and `stored` are from the state store: the target packing plan,
        the plan published by a previous master, and the execution state. `effectively_once`: for
        a topology with checkpoints."""
        update = stored.get("update") or {}
        self._submitted = topology
        self.state = first_state(options, previous, stored)
        """RUNNING or PAUSED, as the user wants it; an update may pause the spouts besides."""
        self.draining = bool(stored.get("draining"))
        """Whether the topology is being killed: its spouts are paused for good."""
        self.incidents = incidents
        self.members = Membership(options.takeover_secs)
        self.plan = CurrentPlan(packing, previous)
        if effectively_once is not None:
            self.plan.restore = effectively_once.restore
        self.measurements = Measurements(topology, self.plan.packing, options.tracked)
        uncounted = int(update.get("uncounted", 0))
        self.termination = Termination(topology, self.plan.packing, options, uncounted)
        takes_checkpoints = effectively_once is not None
        self.updates = UpdateMachine(options, packing, self.plan, update, takes_checkpoints)
        self.effectively_once = effectively_once
        self._options = options
        self._withheld = False
        """Whether the active plan is not in the state store yet. Stream managers must not have the
        plan before, because a new master would know neither the counts of ended instances nor the
        restored processes and checkpoints."""
        if self.draining:
            self.termination.detector.restart()

    @property
    def topology(self) -> TopologySpec:
        """The topology of the plan: its code may have changed."""
        return self.plan.packing.topology_of(self._submitted)

    @property
    def packings(self) -> tuple[PackingPlan, ...]:
        """The packing plans whose instances may send something now."""
        return self.plan.packing, self.updates.target or self.plan.packing, self.plan.previous

    @property
    def tasks(self) -> set[int]:
        """The tasks of all these plans."""
        return {task for packing in self.packings for task in packing.instances}

    @property
    def expected(self) -> set[int]:
        """Containers of the plan, and containers added by an update."""
        return self.plan.containers | containers_of(self.updates.target or self.plan.packing)

    @property
    def is_complete(self) -> bool:
        """Whether the stream managers of all containers of the plan are registered."""
        return self.members.registered.keys() >= self.plan.containers

    # --- stream managers and the physical plan ------------------------------------------------

    def register(self, newcomer: RegisteredStreamManager, now: float, out: Out) -> None:
        """A stream manager registers for a container that is expected."""
        was_complete = self.is_complete
        if self.members.offer(newcomer, out):
            self._joined(newcomer.registration, was_complete, now, out)

    def take_over(self, now: float, out: Out) -> None:
        """Candidates replace the stream managers that do not answer."""
        was_complete = self.is_complete
        while candidate := self.members.take_over(now, out):
            self._joined(candidate.registration, was_complete, now, out)

    def _joined(
        self, who: messages.RegisterStreamManager, was_complete: bool, now: float, out: Out
    ) -> None:
        """A stream manager serves its container from now on."""
        if who.predecessor:
            if not who.predecessor.startswith(ENDED_IN_ORDER):
                self.measurements.losses.stream_managers += 1
            cost = LOST_QUEUES if self.effectively_once is None else ""
            self.incidents.container_replaced(who.container, who.predecessor, now, cost)
        self.plan.follow(who.epoch)
        epoch, planned = self.plan.epoch, self.plan.containers
        if who.container in planned and self.is_complete:
            self._plan_for(who.container if was_complete else None, now, out)
        once = self.effectively_once
        is_new = once is not None and once.is_new_process(who) and who.container in planned
        if once is not None and is_new and self.plan.epoch == epoch > 0:
            # Its address may equal its predecessor's, whose queues are lost nevertheless.
            self._restore(once, f"another process serves container {who.container}", now, out)
        self.advance_update(now, out)
        if self.termination.finishing:
            # Its predecessor may have died with the order, or with the answers.
            tasks = tuple(sorted(self.termination.finishing))
            self.members.send(who.container, messages.FinishBolts(tasks), out)

    def _plan_for(self, newest: int | None, now: float, out: Out) -> None:
        """All are registered: publish a new plan. An unchanged plan is for the `newest`
        container; None: for all."""
        if self.plan.renew(self.members.addresses(self.plan.containers)):
            if self.effectively_once is None:
                self._publish(out)
            else:
                self._begin_epoch(self.effectively_once, "", now, out)
        elif newest is not None:
            self._send_plan({newest}, out)
        elif self._plan_state == self.plan.stored_state:
            # A master took over; its predecessor may have died before sending the plan to all.
            self._send_plan(self.plan.containers, out)
        else:
            self._publish(out)  # it died in the middle of an update

    @property
    def _plan_state(self) -> str:
        # A spout restored from the last checkpoint must not emit any more.
        is_over = self.termination.phase in (Phase.COMMITTING, Phase.ENDED)
        return TopologyState.PAUSED if self.updates.spouts_paused or is_over else self.state

    def _plan_json(self) -> dict[str, Any]:
        self.plan.moved = self.updates.moved
        is_updated = self.updates.spouts_paused and not self.draining
        has_ticks = self.termination.has_ticks
        return self.plan.to_json(self.topology.name, self._plan_state, is_updated, has_ticks)

    def _publish(self, out: Out) -> None:
        """Store the physical plan and send it to all its stream managers."""
        if self.effectively_once is not None:
            self._withheld = True
        out.append(events.StorePlan(self._plan_json()))
        self._send_plan(self.plan.containers, out)

    def _send_plan(self, containers: Set[int], out: Out) -> None:
        if not self._withheld:
            self.members.send_all(containers, messages.Plan(self._plan_json()), out)

    def stored(self, out: Out) -> None:
        """The state store has all that was to be stored."""
        if self._withheld:
            self._withheld = False
            self._send_plan(self.plan.containers, out)
        if self.effectively_once is not None:
            self._take_steps(self.effectively_once.checkpoints.stored(self.plan.epoch), out)

    # --- checkpoints --------------------------------------------------------------------------

    def _take_steps(self, steps: Iterable[Step], out: Out) -> None:
        for step in steps:
            if isinstance(step, messages.TriggerCheckpoint | messages.CheckpointCompleted):
                self.send_all(step, out)
            else:
                out.append(step)
            if isinstance(step, messages.CheckpointCompleted):
                self.termination.checkpoint_completed(step.checkpoint)

    def _begin_epoch(self, once: EffectivelyOnce, why: str, now: float, out: Out) -> None:
        """All are restored from a checkpoint, by a plan with an epoch that is new."""
        before, self.plan.restore = once.restore.checkpoint, once.begin_epoch()
        number = self.plan.restore.checkpoint
        # What is killed takes no further checkpoint.
        awaited = None if self.draining else once.awaited_at_end(number, now)
        self.termination.restore(self.plan.packing, awaited)
        if why != SWITCHED and self.plan.epoch > 1 and (why != ANOTHER_TRY or number != before):
            self.incidents.record(now, EventKind.RESTORE, once.restore_text, why)
        self._publish(out)

    def _restore(self, once: EffectivelyOnce, why: str, now: float, out: Out) -> None:
        """As `_begin_epoch`, now or as soon as all stream managers are registered."""
        once.recovery.wanted = why
        self._restore_if_wanted(once, now, out)

    def _restore_if_wanted(self, once: EffectivelyOnce, now: float, out: Out) -> None:
        why = once.recovery.wanted
        if why and self.is_complete and self.termination.phase is not Phase.ENDED:
            self.plan.next_epoch()
            self._begin_epoch(once, why, now, out)

    def take_checkpoint_message(
        self, once: EffectivelyOnce, message: messages.StateMessage, now: float, out: Out
    ) -> None:
        """An instance has stored or restored its state, or could not."""
        tasks, packing = self.plan.packing.instances.keys(), self.plan.packing
        match message:
            case messages.Restored(task) | messages.RestoreFailed(task):
                step = once.recovery.take(message, self.plan.epoch, tasks, now)
                if step is RestoreProgress.RELEASED:
                    self._release(once, now, out)
                elif step is RestoreProgress.REPLACED:
                    who = instance_name(packing, task)
                    self._restore(once, f"another process serves {who}", now, out)
                elif step is RestoreProgress.FAILED and isinstance(message, messages.RestoreFailed):
                    said = once.failure_text(message.reason, packing.topology)
                    self.incidents.record(now, EventKind.RESTORE, *said, instance=(task, packing))
                    if once.is_lost:
                        self._take_steps([once.checkpoints.roll_back()], out)
                        self._restore(once, ROLLED_BACK, now, out)
            case messages.RestoreWanted(task, epoch, reason):
                if epoch == self.plan.epoch and once.recovery.is_released:
                    self._restore(once, f"{instance_name(packing, task)}: {reason}", now, out)
            case messages.CheckpointStored():
                before = once.troubles
                self._take_steps(once.checkpoints.take(message, now), out)
                self._note_completion(once, before, now)
            case messages.TuplesAbandoned():
                once.note_abandoned(message)
            case messages.CheckpointFailed(task, number, why):
                where = why_not_stored(task, why, packing, self.members.hosts)
                self._checkpoint_failed(once, number, where, now)

    def take_states_sought(
        self, once: EffectivelyOnce, sought: events.StatesSought, now: float, out: Out
    ) -> None:
        """The checkpoint store was looked at: the checkpoint is complete, or has failed."""
        if not once.checkpoints.is_checking(sought.checkpoint):
            return  # aborted meanwhile
        if why := why_unseen(sought, self.topology, self.plan.packing, self.members.hosts):
            self._checkpoint_failed(once, sought.checkpoint, why, now)
            return
        before = once.troubles
        self._take_steps(once.checkpoints.seen(now), out)
        self._note_completion(once, before, now)

    def _note_completion(self, once: EffectivelyOnce, before: Troubles, now: float) -> None:
        for said in once.news_since(before, self.plan.packing):
            self.incidents.record(now, EventKind.CHECKPOINT, *said)

    def _release(self, once: EffectivelyOnce, now: float, out: Out) -> None:
        """All instances have their state: they may go on."""
        self.plan.restore = once.recovery.restore
        once.checkpoints.released(once.restore.checkpoint, now)
        if said := once.recovered_text():
            self.incidents.record(now, EventKind.RESTORE, *said)
        self.termination.detector.restart()
        self._publish(out)

    def _checkpoint_failed(self, once: EffectivelyOnce, number: int, why: str, now: float) -> None:
        before = once.checkpoints.failure
        if once.checkpoints.fail(number, why, now) and before != why:
            self.incidents.record(now, EventKind.CHECKPOINT, f"checkpoint {number} failed", why)

    def advance_checkpoints(self, now: float, out: Out) -> None:
        """Due work: a checkpoint or its timeout, or another restore attempt."""
        once = self.effectively_once
        if once is None:
            return
        if once.recovery.is_retry_due(now):
            self._restore(once, ANOTHER_TRY, now, out)
        self._restore_if_wanted(once, now, out)
        if (late := once.checkpoints.late(now)) is not None:
            why = why_late(late.left, self.plan.packing)
            self._checkpoint_failed(once, late.number, why, now)
        if self._may_begin_checkpoint(once) and once.checkpoints.is_due(now):
            tasks, at_end = self.plan.packing.instances.keys(), self.termination.at_end
            self._take_steps(once.checkpoints.begin(tasks, now, at_end), out)

    def _may_begin_checkpoint(self, once: EffectivelyOnce) -> bool:
        # Of an incomplete topology not all spouts would get the trigger.
        is_ready = self.is_complete and not self._withheld and not self.draining
        return is_ready and once.may_begin(self.state, self.termination)

    def restore_older(self, once: EffectivelyOnce, number: int, now: float, out: Out) -> None:
        """Restore all from an older checkpoint; HeronError if that cannot be."""
        self._take_steps([once.checkpoints.drop_newer(number)], out)
        self._restore(once, "requested by `heronpy restore`", now, out)

    @property
    def may_probe(self) -> bool:
        """Whether instances count what is in flight."""
        once = self.effectively_once
        return once is None or (once.recovery.is_released and not self._withheld)

    def send_all(self, message: messages.ToStreamManager, out: Out) -> None:
        """Send a message to the stream managers in the plan."""
        self.members.send_all(self.plan.containers, message, out)

    @property
    def is_probing(self) -> bool:
        """Whether rounds of probes count what is in flight."""
        return self.may_probe and (
            self.draining or self.updates.spouts_paused or self.termination.is_near
        )

    @property
    def is_waiting(self) -> bool:
        """Whether a step under way waits for the timer alone, without a message to resume it."""
        return (
            self.draining
            or self.termination.is_near
            or self.members.has_candidates
            or self.updates.stage is not None
            or self.effectively_once is not None
        )

    # --- what the user wants ------------------------------------------------------------------

    def set_state(self, state: str, now: float, out: Out) -> bool:
        """Activate or pause the spouts; whether the state changed."""
        if state == self.state:
            return False
        self.state = state
        self.incidents.record(now, EventKind.STATE, f"the topology is {state}")
        self._store_execution(out)
        if self.plan.epoch:
            self._publish(out)
        return True

    def drain(self, now: float, out: Out) -> None:
        """Pause the spouts for good, and watch what is in flight."""
        if self.draining:
            return
        if self.updates.may_cancel:
            self.cancel_update("the topology is being killed", now, out)
        self.draining = True
        self.termination.awaited = None
        if not self.set_state(TopologyState.PAUSED, now, out):
            self._store_execution(out)
            if self.updates.spouts_paused:
                self._publish(out)  # spouts that defer `fail` for the update do so no longer
        self.termination.detector.restart()

    def start_update(self, target: PackingPlan, now: float, out: Out) -> int:
        """Start an update to a new plan; its number, or HeronError if impossible."""
        self._carry_out(self.updates.start(target, self.view, now), now, out)
        what = f"update {self.updates.number} starts"
        why = changes_between(self.plan.packing, target)
        self.incidents.record(now, EventKind.RESCALE, what, why)
        return self.updates.number

    def cancel_update(self, reason: str, now: float, out: Out) -> None:
        """Abort the update or start its rollback; HeronError if impossible."""
        self._carry_out(self.updates.cancel(reason, self.view, now), now, out)
        if self.updates.update is None:
            self._update_is_over(now)

    def _update_is_over(self, now: float) -> None:
        self.incidents.record(now, EventKind.RESCALE, *self.updates.outcome)

    # --- updates and the end ------------------------------------------------------------------

    @property
    def view(self) -> MasterView:
        """What an update sees of the rest."""
        once = self.effectively_once
        return MasterView(
            self.topology,
            self.plan.packing,
            self.plan.epoch,
            self.members.registered.keys(),
            self.draining,
            self.termination.phase,
            self.termination.detector,
            None if once is None else once.view(self.plan.packing.instances.keys()),
        )

    def advance(self, now: float, out: Out) -> None:
        """One step of the current update, or else towards the end."""
        if self.updates.update is not None:
            self.advance_update(now, out)
        else:
            match self.termination.advance(self.draining):
                case StopTicks():
                    self._publish(out)
                case Save() if (once := self.effectively_once) is not None:
                    self.termination.await_checkpoint(once.checkpoints.request(now))
                case Finish(tasks):
                    self.send_all(messages.FinishBolts(tuple(sorted(tasks))), out)
                case Ended(lost):
                    end = end_of(lost, self._options, self.measurements.losses.instances)
                    self.incidents.record(now, EventKind.STATE, end.what, end.reason)
                    out.append(events.StoreState(end.state, end.reason))

    def instance_failed(self, task: int, error: str, now: float, out: Out) -> None:
        """A process cannot start: an update waiting for the process fails."""
        once = self.effectively_once
        if once is None or not once.recovery.is_released:
            self.updates.instance_failed(task, error)
            self.advance_update(now, out)

    def advance_update(self, now: float, out: Out) -> None:
        """One step of the current update, if any."""
        if self.updates.update is not None:
            self._carry_out(self.updates.advance(self.view, now), now, out)
            if self.updates.update is None:
                self._update_is_over(now)

    def _carry_out(self, decided: Iterable[decisions.Decision], now: float, out: Out) -> None:
        for decision in decided:
            match decision:
                case decisions.PublishPlan():
                    self._publish(out)
                case decisions.SwitchPlan(packing):
                    self._switch(packing, now, out)
                case decisions.Dismiss(containers):
                    self.members.dismiss(containers)
                    self.measurements.dismiss(containers)
                case decisions.StoreExecution():
                    self._store_execution(out)
                case decisions.RestartProbes():
                    self.termination.detector.restart()
                case messages.SaveForUpdate() | messages.DeferFails():
                    self.send_all(decision, out)
                case decisions.RequestCheckpoint():
                    assert self.effectively_once is not None
                    self.effectively_once.checkpoints.request(now)
                case events.StorePacking() | events.MasterLog():
                    out.append(decision)
                case _:
                    assert_never(decision)

    def _switch(self, packing: PackingPlan, now: float, out: Out) -> None:
        """Activate a new packing plan with all stream managers registered. They receive the plan
        once stored. In a topology with checkpoints all instances restore the newest."""
        once = self.effectively_once
        if once is not None:
            out.append(once.checkpoints.rescaled(self.plan.packing, packing))
        self.termination.rescale(packing, leaving(self.plan.packing, packing))
        self.measurements.rescale(packing, now)
        removed = self.members.registered.keys() - containers_of(packing)
        self.members.dismiss(removed)
        self.measurements.dismiss(removed)
        self.plan.switch(packing, self.members.addresses(containers_of(packing)))
        self._withheld = True
        if once is None:
            self._publish(out)
        else:
            self._begin_epoch(once, SWITCHED, now, out)

    def _store_execution(self, out: Out) -> None:
        uncounted = self.termination.detector.uncounted
        updates = self.updates
        update = updates.to_json(uncounted) | updates.rollback_json if updates.number else {}
        out.append(events.StoreState(self.state, "", self.draining, update))

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        expected, tasks = self.expected, self.tasks
        self.members.validate(expected)
        self.plan.validate()
        self.measurements.validate(expected, tasks)
        self.updates.validate()
        self.termination.validate(tasks)
        assert self.termination.detector.tasks == self.plan.packing.instances.keys()
        assert self.state in (TopologyState.RUNNING, TopologyState.PAUSED)
        assert not (self.draining and self.updates.may_cancel), "killed in the middle of an update"
        if self.effectively_once is not None:
            planned = self.plan.packing.instances.keys()
            self.effectively_once.validate(planned)
            assert not self.plan.epoch or self.plan.restore == self.effectively_once.restore
