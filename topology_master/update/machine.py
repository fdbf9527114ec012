"""The update under way: follows the table of `states`, by one of the two strategies."""

from collections.abc import Mapping, Set
from math import inf
from typing import Any, assert_never

from heron_core.errors import HeronError
from heron_core.plans import (
    MovedStates,
    PackingPlan,
    UpdateStage,
    instance_name,
    leaving,
    packing_from_json,
    packing_to_json,
)
from heron_core.wire.messages import QuiescenceReport, StateMessage
from heron_engine.topology_master.events import MasterLog, StorePacking
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.physical_plan import CurrentPlan, containers_of
from heron_engine.topology_master.update.checkpointed import Checkpointed
from heron_engine.topology_master.update.checks import check_may_start, check_target
from heron_engine.topology_master.update.decisions import (
    Decision,
    Dismiss,
    PublishPlan,
    RestartProbes,
    StoreExecution,
    SwitchPlan,
)
from heron_engine.topology_master.update.draining import Draining
from heron_engine.topology_master.update.moved_states import waiting_for_states
from heron_engine.topology_master.update.record import (
    Abort,
    Go,
    MasterView,
    Stay,
    Step,
    UpdateRecord,
    Waited,
)
from heron_engine.topology_master.update.states import (
    CANCELLABLE,
    ROLLING_BACK,
    SWITCHED,
    TRANSITIONS,
    UpdateState,
)

ENDED_AFTER_SECS = 3.0
"""A stream manager sends a heartbeat every second: silence of this length means its end."""


class UpdateMachine:
    """The update under way, and the end of the last update."""

    def __init__(
        self,
        options: MasterOptions,
        wanted: PackingPlan,
        current: CurrentPlan,
        stored: Mapping[str, Any],
        takes_checkpoints: bool,
    ) -> None:
        """`wanted` and `stored` are the packing plan and the update's record left in the state
        store by a previous master; `current`: the physical plan.
        """
        self._limits_secs = {
            UpdateStage.CONTAINERS: options.reactivate_wait_secs,
            UpdateStage.DRAIN: options.deactivate_wait_secs,
            UpdateStage.SAVE: options.deactivate_wait_secs,
            UpdateStage.CHECKPOINT: options.deactivate_wait_secs,
            UpdateStage.INSTANCES: options.reactivate_wait_secs,
        }
        draining = Draining(options.blocked_secs)
        self._strategy = Checkpointed() if takes_checkpoints else draining
        self.number = int(stored.get("number", 0))
        """Updates so far."""
        self.reason = str(stored.get("reason", ""))
        """Reason of the last abort; empty after success."""
        self.note = ""
        """Obstacle that the last update ignored; empty without one."""
        self._end = UpdateState.DONE
        """End of the last update, if observed by this master."""
        self._removed_heard: dict[int, float] = {}
        """container -> last heartbeat of its stream manager, for containers outside of the plan."""
        self.update: UpdateRecord | None = None
        if stored.get("under_way"):
            self.update = self._resumed(wanted, wanted == current.packing, stored, current.moved)
        elif wanted != current.packing:
            self.reason = ""  # of the update before: that this one began is not stored yet
            self.update = UpdateRecord(self.number, wanted)

    def _resumed(
        self,
        wanted: PackingPlan,
        is_switched: bool,
        stored: Mapping[str, Any],
        moved: MovedStates | None,
    ) -> UpdateRecord:
        """Resume a previous master's update. A wait for a drain, states or a checkpoint is
        repeated; states named in the plan belong to this update if its number matches.
        """
        moved = moved if moved is not None and moved.number == self.number else None
        if not is_switched:
            if moved is not None and not self.reason:
                self.reason = "aborted by a previous topology master"
            state = TRANSITIONS.begin(UpdateState.RETURNING if self.reason else UpdateState.ADDING)
            return UpdateRecord(self.number, wanted, state, moved=moved)
        state = TRANSITIONS.begin(UpdateState.RESTARTING if self.reason else UpdateState.STARTING)
        update = UpdateRecord(self.number, wanted, state)
        before = stored.get("before")
        update.before = packing_from_json(before) if before else None
        update.moved, update.unrestored = moved, waiting_for_states(moved, wanted)
        return update

    @property
    def stage(self) -> UpdateStage | None:
        """Stage of the update, for people; None without an update."""
        return None if self.update is None else self.update.state.stage

    @property
    def spouts_paused(self) -> bool:
        """Whether the update needs the spouts to stand still."""
        return self.update is not None and self.update.state is not UpdateState.ADDING

    @property
    def may_cancel(self) -> bool:
        """Whether an update is under way that is not switched yet."""
        return self.update is not None and self.update.state in CANCELLABLE

    @property
    def moved(self) -> MovedStates | None:
        """States moved by the update, for the plan."""
        return None if self.update is None else self.update.moved

    @property
    def target(self) -> PackingPlan | None:
        """The target plan; None without an update."""
        return None if self.update is None else self.update.target

    def to_json(self, uncounted: int) -> dict[str, Any]:
        """For the state store, and for queries; `uncounted`: see TerminationDetector."""
        return {
            "number": self.number,
            "under_way": self.update is not None,
            "reason": self.reason,
            "uncounted": uncounted,
        }

    @property
    def outcome(self) -> tuple[str, str]:
        """Outcome of the last update with its reason, for people."""
        end = self._end.name.lower().replace("_", " ")
        return f"update {self.number} is {end}", self.reason or self.note

    @property
    def rollback_json(self) -> dict[str, Any]:
        """For the state store alone: the plan of a rollback."""
        before = None if self.update is None else self.update.before
        return {} if before is None else {"before": packing_to_json(before)}

    def waiting_for(self, view: MasterView) -> list[str]:
        """The containers or instances that the present state waits for."""
        return [] if self.update is None else self._strategy.waiting_for(self.update, view)

    # --- commands -----------------------------------------------------------------------------

    def start(self, target: PackingPlan, view: MasterView, now: float) -> list[Decision]:
        """Start an update to the packing plan `target`; HeronError if impossible."""
        check_may_start(view, self.update is not None)
        check_target(view.topology, view.packing, target)
        self._check_ended(containers_of(target) - view.registered, now)
        self.number += 1
        self.reason = self.note = ""
        self.update = UpdateRecord(self.number, target, since=now)
        stored: list[Decision] = [StorePacking(packing_to_json(target)), StoreExecution()]
        return stored + self.advance(view, now)

    def removed_heard(self, container: int, now: float) -> None:
        """Note a heartbeat of a stream manager outside of all plans, which still has to be
        stopped.
        """
        self._removed_heard[container] = now

    def _check_ended(self, added: Set[int], now: float) -> None:
        """Reject containers left over from an aborted update: their instances must not be taken for
        instances of the new plan.
        """
        for container in sorted(added):
            if now - self._removed_heard.get(container, -inf) < ENDED_AFTER_SECS:
                raise HeronError(
                    f"container {container} of the update before has not ended yet: "
                    "try again in a few seconds"
                )

    def cancel(self, reason: str, view: MasterView, now: float) -> list[Decision]:
        """Cancel the update: before the switch without a trace; after the switch by a rollback,
        while all instances wait for their states. HeronError if too late.
        """
        update = self.update
        if update is None:
            raise HeronError(f"no update of {view.topology.name} is under way")
        if update.state in ROLLING_BACK:
            raise HeronError(f"the update is being rolled back already: {self.reason}")
        if update.state is UpdateState.STARTING and not self._strategy.may_roll_back(update, view):
            raise HeronError(
                "the new plan is already active: the update can no longer be cancelled"
            )
        return self._abort(update, reason, view, now)

    def _abort(
        self, update: UpdateRecord, reason: str, view: MasterView, now: float
    ) -> list[Decision]:
        self.reason = reason
        to = UpdateState.CANCELLED if update.state in CANCELLABLE else UpdateState.RETURNING
        return self._enter(update, to, view, now)

    # --- transitions --------------------------------------------------------------------------

    def advance(self, view: MasterView, now: float) -> list[Decision]:
        """Enter the next state, if the condition holds or the time is over."""
        update = self.update
        if update is None or view.draining:
            return []
        first: list[Decision] = []
        if update.since is None:
            update.since = now
            first = [RestartProbes()]
        assert update.state.stage is not None
        limit_secs = self._limits_secs[update.state.stage]
        waited = Waited(now, limit_secs, now - update.since > limit_secs)
        step = self._strategy.steps[update.state](update, view, waited)
        return [*first, *self._follow(update, step, view, now)]

    def _follow(
        self, update: UpdateRecord, step: Step, view: MasterView, now: float
    ) -> list[Decision]:
        match step:
            case Stay(decisions):
                return list(decisions)
            case Go(to, decisions, note):
                self.note = note or self.note
                return [*decisions, *self._enter(update, to, view, now)]
            case Abort(reason):
                return self._abort(update, reason, view, now)
            case _:
                assert_never(step)

    def _enter(
        self, update: UpdateRecord, to: UpdateState, view: MasterView, now: float
    ) -> list[Decision]:
        """Enter a state, the only way to do so, with the state's first actions."""
        before, update.state = update.state, TRANSITIONS.follow(update.state, to)
        update.since = now
        if to in TRANSITIONS.ends:
            self._end = to
        match to:
            case UpdateState.STARTING | UpdateState.RESTARTING:
                return self._switch(update, view)
            case UpdateState.RETURNING:
                return self._roll_back(update)
            case UpdateState.CANCELLED:
                return self._cancel(update, before, view, now)
            case UpdateState.DONE:
                return self._resume("update: done")
            case UpdateState.ROLLED_BACK:
                return self._resume(f"update: rolled back: {self.reason}")
            case _:
                return []

    def _switch(self, update: UpdateRecord, view: MasterView) -> list[Decision]:
        update.unrestored = waiting_for_states(update.moved, update.target)
        return [
            SwitchPlan(update.target),
            MasterLog(f"update: switched, the epoch is {view.epoch + 1}"),
            StoreExecution(),
        ]

    def _roll_back(self, update: UpdateRecord) -> list[Decision]:
        """The plan of before is the target from now on, also for the next master."""
        assert update.before is not None
        self.update = UpdateRecord(self.number, update.before, update.state, moved=update.moved)
        return [
            MasterLog(f"update aborted, rolling back: {self.reason}"),
            StorePacking(packing_to_json(update.before)),
            StoreExecution(),
        ]

    def _cancel(
        self, update: UpdateRecord, before: UpdateState, view: MasterView, now: float
    ) -> list[Decision]:
        """`before`: the state in which the update is cancelled; in ADDING the spouts are active."""
        self.update = None
        added = containers_of(update.target) - containers_of(view.packing)
        for container in added & view.registered:
            self.removed_heard(container, now)
        decisions: list[Decision] = [
            MasterLog(f"update cancelled: {self.reason}"),
            StorePacking(packing_to_json(view.packing)),
            StoreExecution(),
            Dismiss(frozenset(added)),
        ]
        return decisions if before is UpdateState.ADDING else [*decisions, PublishPlan()]

    def _resume(self, text: str) -> list[Decision]:
        """All instances work by the plan: the spouts resume."""
        self.update = None
        return [MasterLog(text), RestartProbes(), StoreExecution(), PublishPlan()]

    # --- what instances say -------------------------------------------------------------------

    def take(self, message: StateMessage, epoch: int) -> None:
        """Handle an instance's report about its state, in a topology without checkpoints; a
        repeated request may cause a repeated report.
        """
        assert isinstance(self._strategy, Draining)
        if self.update is not None:
            self._strategy.take(self.update, message, epoch)

    def report(self, report: QuiescenceReport, epoch: int) -> None:
        """Handle an answer to a probe: the instance may work by the new plan now."""
        update = self.update
        if update is None or update.state not in SWITCHED:
            return
        if report.epoch >= epoch and report.task in update.target.instances:
            update.up.add(report.task)

    def instance_failed(self, task: int, error: str) -> None:
        """A process cannot begin; by the new plan, if that is switched."""
        update = self.update
        if update is None or update.state not in SWITCHED:
            return
        starting = leaving(update.target, update.before) if update.before else frozenset({task})
        if task in starting and task in update.target.instances:
            update.failure = f"{instance_name(update.target, task)}: {error}"

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        update = self.update
        if update is not None:
            assert update.up <= update.target.instances.keys(), "a stranger is up"
            assert not update.up or update.state in SWITCHED, "up before the plan is switched"
            assert update.state in self._strategy.steps, f"{update.state} of the other strategy"
            assert update.state not in ROLLING_BACK or self.reason, "a rollback without a reason"
