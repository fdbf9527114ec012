"""Rescaling a running topology: from one packing plan to another, with no tuple in flight.

An update has three stages. The added containers start while data flows; the spouts pause until no
tuple is in flight; the new plan becomes active, and when every instance works by it the spouts
resume. An instance that is not moved keeps its process and its state. Until the switch an update
can be cancelled.

Where no checkpoints are taken, instances that will stop or whose component is rescaled save their
states before the switch, when no tuple is in flight. The new plan names the saved states, and each
instance restores its keys from them before the spouts resume. If an instance fails to, the update
is rolled back: an update to the old plan, in which all instances start with the same states.

In a topology that takes checkpoints, a checkpoint replaces the drain, and the new plan restores it:
states are divided among the new tasks; an instance that keeps its keys and has exchanged no message
since continues as it is. Until all instances have their state no tuple has been processed by the
new plan: if an instance fails to restore, an update back to the old plan restores the checkpoint.

The target plan is stored under /packingplans from the first stage on, so a master that takes over
finds the plan and resumes the update. (Heron: UpdateTopologyManager.java, which restarts every
stream manager.)

`Rescale` reads the master through a `MasterView` and changes nothing in it: it returns decisions,
which the core carries out in order.
"""

from collections.abc import Mapping, Set
from math import inf
from typing import Any, assert_never

from heron_core.errors import HeronError
from heron_core.plans import (
    MovedStates,
    PackingPlan,
    Phase,
    UpdateStage,
    instance_name,
    leaving,
    packing_from_json,
    packing_to_json,
)
from heron_core.records import replace
from heron_core.wire.messages import (
    CheckpointFailed,
    CheckpointStored,
    FromStreamManager,
    QuiescenceReport,
    Restored,
    RestoreFailed,
)
from heron_engine.topology_master.decisions import (
    Decision,
    Dismiss,
    PublishPlan,
    RequestCheckpoint,
    RestartProbes,
    SaveStates,
    StoreExecution,
    SwitchPlan,
)
from heron_engine.topology_master.drain import (
    Outcome,
    outcome,
    spouts_that_end,
    spouts_that_wait,
    undrained,
    why_undrained,
)
from heron_engine.topology_master.events import Log, StorePacking
from heron_engine.topology_master.moved_states import moved_states, moving, waiting_for_states
from heron_engine.topology_master.options import Options
from heron_engine.topology_master.physical_plan import containers_of
from heron_engine.topology_master.update import (
    CheckpointView,
    MasterView,
    Update,
    absent,
    check_target,
    listed,
    names,
)

ASKED_AGAIN_SECS = 1.0
"""An instance that has not saved its state is asked once more."""
ENDED_AFTER_SECS = 3.0
"""A stream manager beats its heart every second: one that has not for so long is gone."""


class Rescale:
    """The update that is under way, and how the last one ended."""

    def __init__(
        self,
        options: Options,
        wanted: PackingPlan,
        current: PackingPlan,
        stored: Mapping[str, Any],
        moved: MovedStates | None = None,
    ) -> None:
        """`wanted` and `stored` are the packing plan and what of an update a master before this one
        left in the state store; `current` and `moved`: what the physical plan has."""
        self._limits_secs = {
            UpdateStage.CONTAINERS: options.reactivate_wait_secs,
            UpdateStage.DRAIN: options.deactivate_wait_secs,
            UpdateStage.SAVE: options.deactivate_wait_secs,
            UpdateStage.CHECKPOINT: options.deactivate_wait_secs,
            UpdateStage.INSTANCES: options.reactivate_wait_secs,
        }
        self._saves_states = options.saves_states
        self._held_up_secs = options.held_up_secs
        self.number = int(stored.get("number", 0))
        """Updates so far."""
        self.reason = str(stored.get("reason", ""))
        """Why the last one was given up; empty if it was not."""
        self.note = ""
        """What the last one went on in spite of; empty for nothing."""
        self._removed_heard: dict[int, float] = {}
        """container -> when its stream manager was last heard of, though no plan has it."""
        self.update: Update | None = None
        if not stored.get("under_way") or (moved and moved.number != self.number):
            moved = None  # of an update before
        if wanted != current:
            self.update = Update(wanted, moved=moved)
            if not stored.get("under_way"):
                self.reason = ""  # of the update before: that this one began is not stored yet
        elif stored.get("under_way"):
            before = stored.get("before")
            self.update = Update(wanted, UpdateStage.INSTANCES)
            self.update.before = packing_from_json(before) if before else None
            self.update.moved = moved
            self.update.unrestored = waiting_for_states(moved, wanted)

    @property
    def stage(self) -> UpdateStage | None:
        """How far the update is; None if none is under way."""
        return None if self.update is None else self.update.stage

    @property
    def spouts_paused(self) -> bool:
        """Whether the update needs the spouts to stand still."""
        return self.stage not in (None, UpdateStage.CONTAINERS)

    @property
    def may_cancel(self) -> bool:
        """Whether an update is under way that is not switched yet."""
        return self.stage not in (None, UpdateStage.INSTANCES) and not self.reason

    @property
    def moved(self) -> MovedStates | None:
        """What the plan says of states that the update moves."""
        return None if self.update is None else self.update.moved

    @property
    def target(self) -> PackingPlan | None:
        """The plan that is to be; None if no update is under way."""
        return None if self.update is None else self.update.target

    def to_json(self, uncounted: int) -> dict[str, Any]:
        """For the state store, and for who asks; `uncounted`: see TerminationDetector."""
        return {
            "number": self.number,
            "under_way": self.update is not None,
            "reason": self.reason,
            "uncounted": uncounted,
        }

    @property
    def way_back(self) -> dict[str, Any]:
        """For the state store alone: the plan to which an update that is switched can go back."""
        before = None if self.update is None else self.update.before
        return {} if before is None else {"before": packing_to_json(before)}

    def waiting_for(self, view: MasterView) -> list[str]:
        """The containers or instances that the present stage waits for."""
        update = self.update
        if update is None:
            return []
        match update.stage:
            case UpdateStage.CONTAINERS:
                return [f"container {each}" for each in sorted(absent(update, view))]
            case UpdateStage.DRAIN:
                return undrained(view)
            case UpdateStage.SAVE:
                return names(view.packing, update.deferring or update.unsaved)
            case UpdateStage.CHECKPOINT:
                assert view.checkpoints is not None
                return names(view.packing, view.checkpoints.missing)
            case UpdateStage.INSTANCES:
                down = (view.packing.instances.keys() - update.up) | update.unrestored
                return names(view.packing, view.checkpoints.missing if view.checkpoints else down)
            case _:
                assert_never(update.stage)

    # --- commands -----------------------------------------------------------------------------

    def start(self, target: PackingPlan, view: MasterView, now: float) -> list[Decision]:
        """Begin an update to the packing plan `target`; HeronError if that cannot be."""
        self._check_may_start(view)
        check_target(view.topology, view.packing, target)
        self._check_ended(containers_of(target) - view.registered, now)
        self.number += 1
        self.reason = self.note = ""
        self.update = Update(target, since=now)
        stored: list[Decision] = [StorePacking(packing_to_json(target)), StoreExecution()]
        return stored + self.advance(view, now)

    def _check_may_start(self, view: MasterView) -> None:
        name = view.topology.name
        if self.update is not None:
            raise HeronError(f"an update of {name} is under way: wait until it is done")
        if view.draining:
            raise HeronError(f"{name} is being killed")
        if view.phase is not Phase.RUNNING:
            raise HeronError(f"{name} is at its end: all of its spouts are finished")
        if not view.epoch:
            raise HeronError(f"{name} is still starting: try again when its containers are up")

    def removed_heard(self, container: int, now: float) -> None:
        """A stream manager is heard of whose container is in no plan: it has still to be ended."""
        self._removed_heard[container] = now

    def _check_ended(self, added: Set[int], now: float) -> None:
        """A container that is left of an update that was given up has that update's instances: it
        must not be taken for one of the new plan."""
        for container in sorted(added):
            if now - self._removed_heard.get(container, -inf) < ENDED_AFTER_SECS:
                raise HeronError(
                    f"container {container} of the update before has not ended yet: "
                    "try again in a few seconds"
                )

    def cancel(self, reason: str, view: MasterView, now: float) -> list[Decision]:
        """Cancel an update before its switch; HeronError after the switch."""
        update, paused = self.update, self.spouts_paused
        if update is None:
            raise HeronError(f"no update of {view.topology.name} is under way")
        if not self.may_cancel:
            raise HeronError(
                "the new plan is already active: the update can no longer be cancelled"
            )
        self.update, self.reason = None, reason
        added = containers_of(update.target) - containers_of(view.packing)
        for container in added & view.registered:
            self.removed_heard(container, now)
        decisions: list[Decision] = [
            Log(f"update cancelled: {reason}"),
            StorePacking(packing_to_json(view.packing)),
            StoreExecution(),
            Dismiss(frozenset(added)),
        ]
        return [*decisions, PublishPlan()] if paused else decisions

    # --- stages -------------------------------------------------------------------------------

    def advance(self, view: MasterView, now: float) -> list[Decision]:
        """One stage further, if its condition holds or its time is over."""
        update = self.update
        if update is None or view.draining:
            return []
        first: list[Decision] = []
        if update.since is None:
            update.since = now
            first = [RestartProbes()]
        late = now - update.since > self._limits_secs[update.stage]
        match update.stage:
            case UpdateStage.CONTAINERS:
                return first + self._await_containers(update, view, late, now)
            case UpdateStage.DRAIN:
                return first + self._await_drained(update, view, now)
            case UpdateStage.SAVE:
                return first + self._await_saved(update, view, late, now)
            case UpdateStage.CHECKPOINT:
                return first + self._await_checkpoint(update, view, late, now)
            case UpdateStage.INSTANCES:
                return first + self._await_instances(update, view, late)
            case _:
                assert_never(update.stage)

    def _await_containers(
        self, update: Update, view: MasterView, late: bool, now: float
    ) -> list[Decision]:
        if not absent(update, view) and view.checkpoints is not None:
            return self._save(update, view, view.checkpoints, now)
        if not absent(update, view) and (update.moved is not None or self.reason):
            return _switched(update, view, now)  # the way back: nothing has happened since
        if not absent(update, view):
            update.stage, update.since = UpdateStage.DRAIN, now
            if update.target.changed != view.packing.changed and not self.reason:
                update.before = _with_its_code(update, view)
            text = "update: all containers are there, the spouts pause"
            return [Log(text), RestartProbes(), PublishPlan()]
        if late and not self.reason:  # the way back has no way back
            missing = listed(self.waiting_for(view))
            limit = self._limit(UpdateStage.CONTAINERS)
            return self.cancel(f"{missing} did not come up within {limit}", view, now)
        return []

    def _await_drained(self, update: Update, view: MasterView, now: float) -> list[Decision]:
        found = outcome(update, view, now, self._limits_secs[UpdateStage.DRAIN], self._held_up_secs)
        if found is Outcome.WAITS:
            return []
        decisions: list[Decision] = []
        if found in (Outcome.LATE, Outcome.HELD_UP):
            # What other spouts have in flight fails and is emitted again; those that go cannot.
            if who := spouts_that_end(update, view):
                limit = self._limit(UpdateStage.DRAIN)
                return self.cancel(f"{who} still had tuples in flight after {limit}", view, now)
            self.note = why_undrained(found, update, view, now)
            decisions = [Log(f"update: {self.note}")]
        if self._saves_states:
            update.unsaved = moving(view.packing, update.target)
        if not update.unsaved:
            return [*decisions, *_switched(update, view, now)]
        if found in (Outcome.FAILS_HELD, Outcome.HELD_UP):
            update.deferring = spouts_that_wait(view)
        if found is Outcome.FAILS_HELD:
            decisions = [Log("update: tuples in open windows fail, and come by the new plan")]
        update.stage, update.since = UpdateStage.SAVE, now
        return [*decisions, *self._ask_to_save(update, now)]

    # --- where no checkpoints are taken -------------------------------------------------------

    def _ask_to_save(self, update: Update, now: float) -> list[Decision]:
        """Spouts defer `fail` first: what it emits is to go where the new plan has it."""
        update.asked_at = now
        if update.deferring:
            return [SaveStates(self.number, tuple(sorted(update.deferring)), defers=True)]
        return [SaveStates(self.number, tuple(sorted(update.unsaved)))]

    def heard_of_state(self, message: FromStreamManager, epoch: int) -> bool:
        """An instance says what came of its state; whether an update may have asked it."""
        update = self.update
        match message:
            case CheckpointStored(task, number, size_bytes):
                if update and number == self.number and update.deferring:
                    update.deferring.discard(task)
                elif update and number == self.number and task in update.unsaved:
                    update.unsaved.remove(task)
                    update.saved |= {task} if size_bytes else set()
            case CheckpointFailed(task, number, reason):
                if update and number == self.number and task in update.unsaved:
                    update.failure = f"the state of task {task} is not saved: {reason}"
            case Restored(task):
                if update and message.epoch == epoch:
                    update.unrestored.discard(task)
            case RestoreFailed(task, _, reason):
                if update and message.epoch == epoch and task in update.unrestored:
                    update.failure = reason
        return self._saves_states  # perhaps the answer to a question that was asked again

    def _await_saved(
        self, update: Update, view: MasterView, late: bool, now: float
    ) -> list[Decision]:
        if update.deferring is not None and not update.deferring:
            update.deferring = None
            return self._ask_to_save(update, now)
        if not update.unsaved:
            update.moved = moved_states(self.number, update.saved, view.packing)
            if update.moved is not None:
                update.before = _with_its_code(update, view)
            return _switched(update, view, now)
        if late or update.failure:
            limit, waited_for = self._limit(UpdateStage.SAVE), listed(self.waiting_for(view))
            reason = update.failure or f"{waited_for} did not save their states within {limit}"
            return self.cancel(reason, view, now)
        # A process that was replaced in the meantime was not asked.
        return self._ask_to_save(update, now) if now - update.asked_at > ASKED_AGAIN_SECS else []

    # --- with checkpoints ---------------------------------------------------------------------

    def _save(
        self, update: Update, view: MasterView, checkpoints: CheckpointView, now: float
    ) -> list[Decision]:
        """All containers are there: the spouts pause, and a checkpoint is taken."""
        if checkpoints.is_held:
            return self._go_back(update, view, now)
        update.stage, update.since = UpdateStage.CHECKPOINT, now
        update.checkpoint = checkpoints.latest + 1
        text = "update: all containers are there, the spouts pause for a checkpoint"
        return [Log(text), PublishPlan(), RequestCheckpoint()]

    def _go_back(self, update: Update, view: MasterView, now: float) -> list[Decision]:
        """Nothing has happened since the newest checkpoint, or nothing that counts."""
        update.before = _with_its_code(update, view)
        return _switched(update, view, now)

    def _await_checkpoint(
        self, update: Update, view: MasterView, late: bool, now: float
    ) -> list[Decision]:
        found = view.checkpoints
        assert found is not None
        is_taken = found.newest >= update.checkpoint and not found.is_under_way
        if found.is_held or is_taken:
            return self._go_back(update, view, now)
        if late:
            waited_for = listed(self.waiting_for(view)) or "its beginning"
            limit = self._limit(UpdateStage.CHECKPOINT)
            return self.cancel(
                f"no checkpoint was complete after {limit} (waiting for {waited_for})", view, now
            )
        if found.is_under_way:
            return []
        if found.latest >= update.checkpoint and found.failure:
            reason = f"checkpoint {found.latest} failed: {found.failure}"
            return self.cancel(reason, view, now)
        # A failure came between, and all have gone back.
        update.checkpoint = found.latest + 1
        return [RequestCheckpoint()]

    def instance_failed(self, task: int, error: str) -> None:
        """A process cannot begin; by the new plan, if that is switched."""
        update = self.update
        if update is None or update.stage is not UpdateStage.INSTANCES:
            return
        starting = leaving(update.target, update.before) if update.before else frozenset({task})
        if task in starting and task in update.target.instances:
            update.failure = f"{instance_name(update.target, task)}: {error}"

    def _await_states(
        self, update: Update, view: MasterView, found: CheckpointView, late: bool
    ) -> list[Decision]:
        """Until all have their states by the new plan, or one cannot have it."""
        if not found.is_held:
            self.update = None
            return _done()
        return self._back_if_failed(update, view, update.failure or found.restore_failure, late)

    def _back_if_failed(
        self, update: Update, view: MasterView, reason: str, late: bool
    ) -> list[Decision]:
        if late and not reason:
            limit = self._limit(UpdateStage.INSTANCES)
            reason = f"{listed(self.waiting_for(view))} without state after {limit}"
        if not reason or self.reason or update.before is None:
            return []
        # To the previous plan; this rollback has no rollback, so it is retried until it succeeds.
        self.reason = reason
        self.update = Update(update.before, moved=update.moved)
        return [
            Log(f"update aborted, rolling back: {reason}"),
            StorePacking(packing_to_json(update.before)),
            StoreExecution(),
        ]

    # --- instances ----------------------------------------------------------------------------

    def report(self, report: QuiescenceReport, epoch: int) -> None:
        """An instance answers a probe: perhaps it works by the plan of this epoch now."""
        update = self.update
        if update is None or update.stage is not UpdateStage.INSTANCES:
            return
        if report.epoch >= epoch and report.task in update.target.instances:
            update.up.add(report.task)

    def _await_instances(self, update: Update, view: MasterView, late: bool) -> list[Decision]:
        if view.checkpoints is not None:
            return self._await_states(update, view, view.checkpoints, late)
        is_new_code = update.before is not None and update.before.changed != update.target.changed
        if (update.unrestored and late) or (update.failure and (update.unrestored or is_new_code)):
            return self._back_if_failed(update, view, update.failure, late)
        waiting_for = self.waiting_for(view)
        if waiting_for and not late:
            # Some answered before they had taken the plan: they are asked again.
            return [RestartProbes()] if view.detector.drained else []
        decisions: list[Decision] = []
        if waiting_for:
            limit = self._limit(UpdateStage.INSTANCES)
            decisions = [Log(f"{listed(waiting_for)} not up after {limit}")]
        self.update = None
        return [*decisions, *_done()]

    def _limit(self, stage: UpdateStage) -> str:
        return f"{self._limits_secs[stage]:g} s"

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        if self.update is not None:
            assert self.update.up <= self.update.target.instances.keys(), "a stranger is up"
            assert not self.update.up or not self.may_cancel, "up before the plan is switched"


def _with_its_code(update: Update, view: MasterView) -> PackingPlan:
    """The previous plan with its code attached: a process started between switch and rollback has
    loaded only the new code."""
    if update.target.changed is None:
        return view.packing
    return replace(view.packing, changed=view.topology)


def _switched(update: Update, view: MasterView, now: float) -> list[Decision]:
    update.stage, update.since = UpdateStage.INSTANCES, now
    update.unrestored = waiting_for_states(update.moved, update.target)
    return [
        SwitchPlan(update.target),
        Log(f"update: switched, the epoch is {view.epoch + 1}"),
        StoreExecution(),
    ]


def _done() -> list[Decision]:
    return [Log("update: done"), RestartProbes(), StoreExecution(), PublishPlan()]
