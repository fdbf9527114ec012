"""State migration by an update of a topology without checkpoints: the instance's part, all in the
main thread but for `is_due`.

When no tuple is in flight, the master requests the state of every instance that will stop or be
rescaled; from then on these instances are quiesced, so no change can escape the saved state. The
next plan names the saved states. An instance with new keys is recreated with its keys, and is
quiesced until the plan confirms that all instances have their states. If an instance fails to
restore, the next plan equals the previous plan, and all instances restore their saved states.
"""

from collections.abc import Callable
from typing import Protocol

from heron_core.errors import HeronError
from heron_core.plans import MovedStates, PackingPlan, PhysicalPlan, TopologyState
from heron_core.state.file_snapshot import StateBytes
from heron_core.state.parts import KeyRange, Parts, PlainEntries, StatePart, encode_parts
from heron_core.state.restore_plan import StateSource, share_of
from heron_core.wire.messages import (
    DeferFails,
    FailsDeferred,
    FromInstance,
    NotSavedForUpdate,
    Restored,
    RestoreFailed,
    SavedForUpdate,
    SaveForUpdate,
)
from heron_instance.control_core import Identity
from heron_instance.events import Instruction, SaveState, SendControl
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.periodic_saving import PeriodicSaving
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import ReadyInstance
from heron_instance.shared_state import SharedState

NOT_SAVED = "it cannot be serialised (the log of the instance says why)"
REASON_MAX = 500
"""Characters of why a state is missing, for people to read."""
RETRY_SECS = 1.0
"""Retry interval for a required state that is unavailable."""

LoadMoved = Callable[[int, int], bytes]
"""The state saved by a task for an update, given the update's number and the task; HeronError if
unavailable.
"""


class StateTransferHost(Protocol):
    """The instance's core as seen by the transfer; component and driver change at a restart."""

    identity: Identity
    instance: ReadyInstance
    driver: ComponentDriver
    saving: PeriodicSaving | None

    def enqueue(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""

    def close_component(self) -> None:
        """The last calls of user code."""

    def recreate(self, saved: bytes | None) -> None:
        """Replace the user's object by a new object with the state."""


class StateTransfer:
    """State saved by an instance for an update, and its state after the update."""

    def __init__(self, host: StateTransferHost, load: LoadMoved, saves_itself: bool) -> None:
        """`saves_itself`: whether states are also saved periodically, so that an instance with
        replayed tuples keeps none (at least once).
        """
        self._host = host
        self._load = load
        self._saves_itself = saves_itself
        self.rests = False
        """Whether the instance is quiesced until the next plan."""
        self._writing: int | None = None
        """The number of the update for which a state is being written."""
        self._stored: SavedForUpdate | None = None
        """Report of the last write; the component has not changed since."""
        self._asked_epoch = 0
        """Epoch of the request's plan: a repeated request changes nothing."""
        self._plan: tuple[int, MovedStates, PackingPlan] | None = None
        """The newest plan that migrates states of the component, with its epoch."""
        self._begun_at = 0.0
        self._retry_at: float | None = None
        if host.saving is not None:
            # A process started by an update is in no plan yet. The state of its task belongs to the
            # present process, also if the update is aborted.
            host.saving.rests = True

    # --- before the plan is switched ------------------------------------------------------------

    def asked(self, wanted: SaveForUpdate | DeferFails) -> None:
        """Handle the master's request: save the state for an update, or let a spout defer `fail`
        until the end of the update. The master repeats the request until answered.
        """
        if isinstance(wanted, SaveForUpdate):
            self._save(wanted.update, wanted.epoch)
            return
        driver = self._host.driver
        if isinstance(driver, SpoutDriver):
            driver.defer_fails()
        self._tell(FailsDeferred(self._host.identity.task, wanted.update))

    def _save(self, update: int, epoch: int) -> None:
        task, driver = self._host.identity.task, self._host.driver
        if self._stored is not None and self._stored.update == update:
            self._tell(self._stored)
        elif self._writing != update and not self._keeps_state:
            self._tell(SavedForUpdate(task, update, 0))
        elif isinstance(driver, SpoutDriver) and not driver.settle_to_save():
            pass  # its tuples are acked or fail: the master asks again
        elif self._writing != update:
            self._take(update, epoch)

    @property
    def _keeps_state(self) -> bool:
        """Whether a state must migrate; for replayed tuples in open windows only the progress of
        the windows.
        """
        instance = self._host.instance
        if not self._saves_itself or instance.saves_itself:
            return instance.keeps_state
        return instance.keeps_state and self._fail_retained()

    def _fail_retained(self) -> bool:
        driver = self._host.driver
        try:
            return bool(self._host.instance.adapter.users_object.fail_retained())
        except Exception:
            driver.user_error("failing the tuples that are held")
            return False
        finally:
            driver.outbox.flush_acks()

    def _take(self, update: int, epoch: int) -> None:
        saving = self._host.saving
        state = self._state(update if saving is None else saving.next_number())
        if state is None:
            self._tell(NotSavedForUpdate(self._host.identity.task, update, NOT_SAVED))
            return
        self._rest(True)
        self._writing, self._stored, self._asked_epoch = update, None, epoch
        self._host.enqueue(SaveState(update, state, moves=True))

    def _state(self, number: int) -> StateBytes | None:
        instance = self._host.instance
        try:
            instance.adapter.pre_save(str(number))
            return instance.state.deferred_snapshot()
        except Exception:
            self._host.driver.user_error("saving the state")
            return None

    def written(self, update: int, failure: str, size_bytes: int) -> None:
        """The state is saved for an update, or could not be."""
        if self._writing != update:
            return
        self._writing, task = None, self._host.identity.task
        if failure:
            self._tell(NotSavedForUpdate(task, update, failure))
        else:
            self._stored = SavedForUpdate(task, update, max(1, size_bytes))
            self._tell(self._stored)

    # --- after it -------------------------------------------------------------------------------

    def take_plan(self, plan: PhysicalPlan, now: float) -> None:
        """Another plan, or the same once more."""
        if not plan.is_updated and isinstance(driver := self._host.driver, SpoutDriver):
            driver.end_deferral()
        moved, packing = plan.moved, plan.packing
        is_over = plan.state == TopologyState.RUNNING or plan.epoch > self._asked_epoch
        if moved is None and is_over:
            self._plan = self._retry_at = self._stored = self._writing = None
            self._rest(False)
        elif (
            moved is not None
            and packing.instances[self._host.identity.task].component in moved.previous
        ):
            self._rest(True)
            before, self._plan = self._plan, (plan.epoch, moved, packing)
            if before is None or before[0] != plan.epoch:
                self._begin(now)

    def is_due(self, now: float) -> bool:
        """Whether to try once more; from any thread."""
        return self._retry_at is not None and now >= self._retry_at

    def retry(self, now: float) -> None:
        """Look again for what could not be had."""
        if self._plan is not None and self.is_due(now):
            self._begin(now)

    def _begin(self, now: float) -> None:
        assert self._plan is not None
        epoch, moved, packing = self._plan
        self._begun_at, self._retry_at = now, None
        try:
            is_new = self._take_share(moved, packing)
        except Exception as error:
            self._not_restored(epoch, str(error) if isinstance(error, HeronError) else repr(error))
            return
        saving = self._host.saving
        if is_new and saving is not None:
            # The next process is to start with the new state, rather than one from before the
            # update.
            saving.save_now(lambda failure: self._saved(epoch, failure))
        else:
            self._saved(epoch, "")

    def _saved(self, epoch: int, failure: str) -> None:
        who = self._host.identity
        if self._plan is None or self._plan[0] != epoch:
            return  # it came to nothing
        if failure:
            self._not_restored(epoch, failure)
        else:
            self._tell(Restored(who.task, who.incarnation, epoch))

    def _not_restored(self, epoch: int, reason: str) -> None:
        self._retry_at = self._begun_at + RETRY_SECS
        self._tell(RestoreFailed(self._host.identity.task, epoch, reason[:REASON_MAX]))

    def _take_share(self, moved: MovedStates, packing: PackingPlan) -> bool:
        """Restore the instance's share of the states; False if the share is the present state."""
        task = self._host.identity.task
        share = share_of(task, packing, moved.previous)
        if share.is_whole:
            (source,) = share.sources
            is_ours = source.task == task and self._stored is not None
            if source.task not in moved.saved or is_ours:
                return False
            state = self._load(moved.number, source.task)
        else:
            sources = [each for each in self._sources(moved, packing) if each.task in moved.saved]
            if not sources:
                return False
            state = encode_parts(
                Parts(share.key_range, tuple(self._part(each, moved, packing) for each in sources))
            )
        self._stored = None
        self._host.driver.abandon_unfinished()
        self._host.close_component()
        self._host.recreate(state)
        return True

    def _sources(self, moved: MovedStates, packing: PackingPlan) -> list[StateSource]:
        """Previous tasks of the instance's keys, and the instance's own task: state without keys
        stays.
        """
        task = self._host.identity.task
        found = list(share_of(task, packing, moved.previous).sources)
        previous = moved.previous[packing.instances[task].component]
        if task in previous and task not in {each.task for each in found}:
            found.append(StateSource(task, KeyRange(previous.index(task), len(previous))))
        return found

    def _part(self, source: StateSource, moved: MovedStates, packing: PackingPlan) -> StatePart:
        if source.task == self._host.identity.task:
            plain = PlainEntries.TAKEN
        else:
            stays = source.task in packing.instances
            plain = PlainEntries.LEFT if stays else PlainEntries.REFUSED
        return StatePart(source.key_range, self._load(moved.number, source.task), plain)

    def _rest(self, rests: bool) -> None:
        self.rests = rests
        if self._host.saving is not None:
            self._host.saving.rests = rests

    def _tell(self, message: FromInstance) -> None:
        self._host.enqueue(SendControl(message))


def prepare_update(
    transfer: StateTransfer | None, shared: SharedState, wanted: SaveForUpdate | DeferFails
) -> None:
    """Handle the master's request for an update. Spouts are paused by then: a later request belongs
    to an aborted update.
    """
    if transfer is not None and not shared.active:
        transfer.asked(wanted)


def made_transfer(
    host: StateTransferHost, environment: InstanceEnvironment
) -> StateTransfer | None:
    """None in a topology with checkpoints, where a checkpoint does the work."""
    load, newest = environment.load_moved, environment.newest_state
    return None if load is None else StateTransfer(host, load, saves_itself=newest is not None)
