"""Update strategy without checkpoints: drain all tuples, and save the states that move."""

from collections.abc import Callable, Mapping
from typing import assert_never

from heron_core.naming import first_of
from heron_core.wire.messages import (
    DeferFails,
    FailsDeferred,
    NotSavedForUpdate,
    Restored,
    RestoreFailed,
    SavedForUpdate,
    SaveForUpdate,
    StateMessage,
    UpdateAnswer,
)
from heron_engine.topology_master.events import MasterLog
from heron_engine.topology_master.update.decisions import Decision, PublishPlan, RestartProbes
from heron_engine.topology_master.update.drain import (
    DrainOutcome,
    outcome,
    spouts_that_end,
    spouts_that_wait,
    undrained,
    why_undrained,
)
from heron_engine.topology_master.update.moved_states import moved_states, moving
from heron_engine.topology_master.update.record import (
    Abort,
    Go,
    MasterView,
    Stay,
    Step,
    UpdateRecord,
    Waited,
    absent,
    await_containers,
    code_of_before,
    container_names,
    names,
)
from heron_engine.topology_master.update.states import UpdateState

ASKED_AGAIN_SECS = 1.0
"""Interval of repeated save requests to an instance."""


class Draining:
    """Conditions and successors of each state of an update."""

    def __init__(self, blocked_secs: float) -> None:
        """`blocked_secs`: for how long a drain waits for back-pressure."""
        self._blocked_secs = blocked_secs
        self.steps: Mapping[UpdateState, Callable[[UpdateRecord, MasterView, Waited], Step]] = {
            UpdateState.ADDING: _await_added,
            UpdateState.DRAINING: self._await_drained,
            UpdateState.SAVING: _await_saved,
            UpdateState.STARTING: _await_started,
            UpdateState.RETURNING: _await_returned,
            UpdateState.RESTARTING: _await_restarted,
        }

    def _await_drained(self, update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
        drain_outcome = outcome(update, view, waited.now, waited.limit_secs, self._blocked_secs)
        if drain_outcome is DrainOutcome.WAITS:
            return Stay()
        note = ""
        if drain_outcome in (DrainOutcome.LATE, DrainOutcome.BLOCKED):
            # What other spouts have in flight fails and is emitted again; those that end cannot.
            if who := spouts_that_end(update, view):
                return Abort(f"{who} still had tuples in flight after {waited.limit}")
            note = why_undrained(drain_outcome, update, view, waited.now)
        logged = (MasterLog(f"update: {note}"),) if note else ()
        update.unsaved = moving(view.packing, update.target)
        if not update.unsaved:
            return Go(UpdateState.STARTING, logged, note)
        if drain_outcome in (DrainOutcome.FAILS_RETAINED, DrainOutcome.BLOCKED):
            update.deferring = spouts_that_wait(view)
        if drain_outcome is DrainOutcome.FAILS_RETAINED:
            logged = (MasterLog("update: tuples in open windows fail, and come by the new plan"),)
        return Go(UpdateState.SAVING, (*logged, *_ask_to_save(update, view, waited.now)), note)

    def waiting_for(self, update: UpdateRecord, view: MasterView) -> list[str]:
        """Containers or instances awaited by the current state, for people."""
        match update.state:
            case UpdateState.DRAINING:
                return undrained(view)
            case UpdateState.SAVING:
                return names(view.packing, update.deferring or update.unsaved)
            case UpdateState.STARTING | UpdateState.RESTARTING:
                down = view.packing.instances.keys() - update.up
                return names(view.packing, down | update.unrestored)
            case _:
                return container_names(absent(update, view))

    def may_roll_back(self, update: UpdateRecord, view: MasterView) -> bool:
        """Whether no tuple has been processed by the new plan."""
        return update.before is not None and (bool(update.unrestored) or _is_new_code(update))

    def take(self, update: UpdateRecord, message: StateMessage, epoch: int) -> None:
        """An instance's report on its state. Repeated answers have no effect."""
        if isinstance(message, UpdateAnswer):
            if message.update == update.number:
                _prepared(update, message)
        elif isinstance(message, Restored | RestoreFailed) and message.epoch == epoch:
            _restored(update, message)


def _await_added(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    if step := await_containers(update, view, waited):
        return step
    if update.target.changed != view.packing.changed:
        update.before = code_of_before(update, view)
    text = "update: all containers are registered, pausing the spouts"
    return Go(UpdateState.DRAINING, (MasterLog(text), RestartProbes(), PublishPlan()))


def _ask_to_save(update: UpdateRecord, view: MasterView, now: float) -> list[Decision]:
    """Request saves. Spouts first defer `fail`, because replayed tuples must be routed by the new
    plan."""
    update.asked_at = now
    if update.deferring:
        return [DeferFails(update.number, view.epoch, tuple(sorted(update.deferring)))]
    return [SaveForUpdate(update.number, view.epoch, tuple(sorted(update.unsaved)))]


def _await_saved(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    if update.deferring is not None and not update.deferring:
        update.deferring = None
        return Stay(tuple(_ask_to_save(update, view, waited.now)))
    if not update.unsaved:
        update.moved = moved_states(update.number, update.saved, view.packing)
        if update.moved is not None:
            update.before = code_of_before(update, view)
        return Go(UpdateState.STARTING)
    if update.failure:
        return Abort(update.failure)
    if waited.is_late:
        who = first_of(names(view.packing, update.deferring or update.unsaved))
        return Abort(f"{who} did not save their states within {waited.limit}")
    # A process that was replaced in the meantime was not asked.
    is_overdue = waited.now - update.asked_at > ASKED_AGAIN_SECS
    return Stay(tuple(_ask_to_save(update, view, waited.now)) if is_overdue else ())


def _await_started(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    may_roll_back = update.before is not None
    if update.failure and may_roll_back and (update.unrestored or _is_new_code(update)):
        return Abort(update.failure)
    if update.unrestored and waited.is_late and may_roll_back:
        down = names(view.packing, _down(update, view))
        return Abort(f"{first_of(down)} without state after {waited.limit}")
    return _await_up(update, view, waited, UpdateState.DONE)


def _await_returned(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    """The states are saved and unchanged since: wait for the containers and restart."""
    return Stay() if absent(update, view) else Go(UpdateState.RESTARTING)


def _await_restarted(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    return _await_up(update, view, waited, UpdateState.ROLLED_BACK)


def _await_up(update: UpdateRecord, view: MasterView, waited: Waited, to: UpdateState) -> Step:
    """Wait until all instances have their state and run by the plan; an instance without state is
    awaited only until the timeout."""
    if update.unrestored and (waited.is_late or update.failure):
        return Stay()
    down = _down(update, view)
    if down and not waited.is_late:
        # Some answered before they had taken the plan: they are asked again.
        return Stay((RestartProbes(),) if view.detector.drained else ())
    text = f"{first_of(names(view.packing, down))} not up after {waited.limit}"
    return Go(to, (MasterLog(text),) if down else ())


def _down(update: UpdateRecord, view: MasterView) -> set[int]:
    return (view.packing.instances.keys() - update.up) | update.unrestored


def _is_new_code(update: UpdateRecord) -> bool:
    return update.before is not None and update.before.changed != update.target.changed


def _prepared(update: UpdateRecord, answer: UpdateAnswer) -> None:
    match answer:
        case FailsDeferred(task):
            (update.deferring or set()).discard(task)
        case SavedForUpdate(task, _, size_bytes):
            update.saved |= {task} if size_bytes and task in update.unsaved else set()
            update.unsaved.discard(task)
        case NotSavedForUpdate(task, _, reason):
            if task in update.unsaved:
                update.failure = f"the state of task {task} is not saved: {reason}"
        case _:
            assert_never(answer)


def _restored(update: UpdateRecord, message: Restored | RestoreFailed) -> None:
    """Record an instance's restored part of the migrated states, or its failure."""
    if isinstance(message, Restored):
        update.unrestored.discard(message.task)
    elif message.task in update.unrestored:
        update.failure = message.reason
