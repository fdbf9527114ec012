"""The strategy with checkpoints: the new plan restores one that is taken for the update."""

from collections.abc import Callable, Mapping

from heron_core.naming import first_of
from heron_engine.topology_master.events import MasterLog
from heron_engine.topology_master.update.decisions import PublishPlan, RequestCheckpoint
from heron_engine.topology_master.update.record import (
    Abort,
    CheckpointView,
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
from heron_engine.topology_master.update.states import SWITCHED, UpdateState


class Checkpointed:
    """Conditions and successors of each state of an update."""

    def __init__(self) -> None:
        self.steps: Mapping[UpdateState, Callable[[UpdateRecord, MasterView, Waited], Step]] = {
            UpdateState.ADDING: _await_added,
            UpdateState.CHECKPOINTING: _await_checkpoint,
            UpdateState.STARTING: _await_started,
            UpdateState.RETURNING: _await_returned,
            UpdateState.SAVING_BACK: _await_saved_back,
            UpdateState.RESTARTING: _await_restarted,
        }

    def waiting_for(self, update: UpdateRecord, view: MasterView) -> list[str]:
        """The containers or instances that the present state waits for, for people."""
        if (
            update.state in (UpdateState.CHECKPOINTING, UpdateState.SAVING_BACK)
            or update.state in SWITCHED
        ):
            return names(view.packing, _checkpoints(view).missing)
        return container_names(absent(update, view))

    def may_roll_back(self, update: UpdateRecord, view: MasterView) -> bool:
        """Whether no tuple has been processed by the new plan."""
        return update.before is not None and _checkpoints(view).is_restoring


def _checkpoints(view: MasterView) -> CheckpointView:
    assert view.checkpoints is not None
    return view.checkpoints


def _await_added(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    if step := await_containers(update, view, waited):
        return step
    found = _checkpoints(view)
    if found.is_restoring:
        return _switch(update, view)
    text = "update: all containers are there, the spouts pause for a checkpoint"
    return Go(UpdateState.CHECKPOINTING, (MasterLog(text), PublishPlan(), *_request(update, found)))


def _request(update: UpdateRecord, found: CheckpointView) -> tuple[RequestCheckpoint]:
    update.checkpoint = found.latest + 1
    return (RequestCheckpoint(),)


def _switch(update: UpdateRecord, view: MasterView) -> Step:
    """Nothing relevant has happened since the newest checkpoint."""
    update.before = code_of_before(update, view)
    return Go(UpdateState.STARTING)


def _is_taken(update: UpdateRecord, found: CheckpointView) -> bool:
    """Whether the checkpoint is complete, or all are about to restore one."""
    is_newest = found.newest >= update.checkpoint and not found.is_under_way
    return found.is_restoring or is_newest


def _has_failed(update: UpdateRecord, found: CheckpointView) -> bool:
    return found.latest >= update.checkpoint and bool(found.failure)


def _await_checkpoint(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    checkpoints = _checkpoints(view)
    if _is_taken(update, checkpoints):
        return _switch(update, view)
    if waited.is_late:
        who = first_of(names(view.packing, checkpoints.missing)) or "its beginning"
        return Abort(f"no checkpoint was complete after {waited.limit} (waiting for {who})")
    if checkpoints.is_under_way:
        return Stay()
    if _has_failed(update, checkpoints):
        return Abort(f"checkpoint {checkpoints.latest} failed: {checkpoints.failure}")
    # A failure came between, and all have been restored.
    return Stay(_request(update, checkpoints))


def _await_started(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    """Wait until all have restored their state for the new plan, or one has failed."""
    found = _checkpoints(view)
    if not found.is_restoring:
        return Go(UpdateState.DONE)
    reason = update.failure or found.restore_failure
    if waited.is_late and not reason:
        who = first_of(names(view.packing, found.missing))
        reason = f"{who} without state after {waited.limit}"
    return Abort(reason) if reason and update.before is not None else Stay()


def _await_returned(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    if absent(update, view):
        return Stay()
    found = _checkpoints(view)
    if found.is_restoring:
        return Go(UpdateState.RESTARTING)
    text = "update: a checkpoint of what was processed since the switch"
    return Go(UpdateState.SAVING_BACK, (MasterLog(text), PublishPlan(), *_request(update, found)))


def _await_saved_back(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    """A rollback cannot be rolled back: a failed checkpoint is followed by a new one."""
    found = _checkpoints(view)
    if _is_taken(update, found):
        return Go(UpdateState.RESTARTING)
    return Stay() if found.is_under_way else Stay(_request(update, found))


def _await_restarted(update: UpdateRecord, view: MasterView, waited: Waited) -> Step:
    return Stay() if _checkpoints(view).is_restoring else Go(UpdateState.ROLLED_BACK)
