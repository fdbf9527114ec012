"""Checkpoints of one instance: saving and restoring, in the main thread.

Checkpointing decides when a state is saved, and the consequences. The instance's core owns the
component and its driver, and supplies the rest through `CheckpointHost`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import Struct

from heron_core.algorithms.covered_counts import numbers_of
from heron_core.errors import HeronError, StateError
from heron_core.flight_records import RecordKind
from heron_core.plans import PackingPlan, Restore
from heron_core.state.divided_input import InputDivider, PreviousInput
from heron_core.state.file_snapshot import DeferredSnapshot, StateBytes, as_bytes
from heron_core.state.restore_plan import RestoreShare, key_range_of, share_of
from heron_core.state.saved_input import (
    INPUT_BYTES_MAX,
    NO_INPUT,
    SavedInput,
    addressed,
    encode_input,
)
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from heron_core.wire.frames import Frames
from heron_core.wire.packets import checkpoint_of, encode_barrier, passed_on
from heron_instance.control_core import Identity
from heron_instance.events import Instruction, SaveState, SendControl
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.driver import ComponentDriver, Exchanged
from heron_instance.input.emitted_ids import EmittedIds
from heron_instance.input.spout import SpoutDriver
from heron_instance.input.waiting_input import WaitingInput, saved_input
from heron_instance.own_states import OwnStates
from heron_instance.runtime.factory import ReadyInstance
from heron_instance.shared_state import SharedState
from heron_io.checkpoint_store.protocol import CheckpointStoreError

TakeInput = Callable[[Sequence[PreviousInput]], SavedInput]
"""What an instance is to process of a checkpoint's input."""

REASON_MAX = 500
"""Characters of why a checkpoint failed, for people to read."""
STATELESS_SPOUT = (
    "this spout keeps no state (api.state.stateful_component): after a failure its fail() is called"
    " for what it has emitted since the last checkpoint, and if its own process dies, that is lost"
    " or emitted twice"
)


def restore_failed(task: int, epoch: int, error: HeronError) -> messages.RestoreFailed:
    """What the master is told if a task's state cannot be restored, or is not saved."""
    away, refused = messages.RestoreTrouble.AWAY, messages.RestoreTrouble.REFUSED
    trouble = refused if isinstance(error, StateError) else getattr(error, "trouble", away)
    return messages.RestoreFailed(task, epoch, str(error)[:REASON_MAX], trouble.value)


class CheckpointHost(Protocol):
    """The instance's core as seen by checkpointing; component and driver change at a restore."""

    identity: Identity
    instance: ReadyInstance
    driver: ComponentDriver
    shared: SharedState

    def send(self, messages: list[Frames]) -> None:
        """Put messages on the data connection."""

    def warn(self, text: str) -> None:
        """A line for the component's log."""

    def enqueue(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""

    def close_component(self) -> None:
        """The last calls of user code."""

    def recreate(self, saved: bytes | None) -> None:
        """Replace the user's object by a new object with the state."""


class SavedExchange(Struct, frozen=True):
    """Messages exchanged with others up to the newest saved state."""

    checkpoint: int
    exchanged: Exchanged
    has_input: bool


class SettledCounts(Struct, frozen=True):
    """The bolt's counts that a restore undoes."""

    abandoned: int = 0
    history: Mapping[str, int] = {}
    """Discarded tuples and calls, by names of HISTORY."""
    counted: Mapping[str, float] = {}
    """Counts of metrics that count each tuple once: late tuples, for instance."""


SETTLED_KEPT = 100
"""Maximum of remembered changes of an instance's counts: `heronpy restore` may choose an older
checkpoint, within `topology.checkpoints.retained`, 3 by default.
"""


class SettledTuples:
    """Totals of settled tuples at the checkpoints of an instance."""

    def __init__(self) -> None:
        self._totals: list[tuple[int, SettledCounts]] = []
        """(checkpoint, total), recorded when the total changes."""
        self._completed = 0

    def covered(self, checkpoint: int, total: SettledCounts) -> int:
        """The state of a checkpoint is saved: number of abandoned tuples covered by the
        checkpoint and by no completed checkpoint."""
        if not self._totals or self._totals[-1][1] != total:
            self._totals.append((checkpoint, total))
            del self._totals[:-SETTLED_KEPT]
        return total.abandoned - self.at(self._completed).abandoned

    def completed(self, checkpoint: int) -> None:
        """The checkpoint is complete: covered tuples are never replayed."""
        self._completed = max(self._completed, checkpoint)

    def restore(self, checkpoint: int) -> SettledCounts:
        """Undo the counts after a checkpoint; returns the total at the checkpoint."""
        self._totals = [each for each in self._totals if each[0] <= checkpoint]
        self._completed = min(self._completed, checkpoint)
        return self.at(checkpoint)

    def at(self, checkpoint: int) -> SettledCounts:
        """The total at a checkpoint of this process, or else at the one before."""
        found = (total for number, total in reversed(self._totals) if number <= checkpoint)
        return next(found, SettledCounts())


class Checkpointing:
    """The saved states of one instance, and what of a checkpoint is the instance's to do."""

    def __init__(
        self,
        host: CheckpointHost,
        load: Callable[[int, int], bytes],
        readers: frozenset[str],
        is_waiting: bool,
        undoes: bool,
        packing: PackingPlan,
        is_final: Callable[[int], bool],
    ) -> None:
        """`load` reads the state of a checkpoint from the store; `readers`: downstream components,
        some of which wait for the instance's barriers; `is_waiting`: whether the component does not
        exist yet; `undoes`: whether failed calls of a bolt are undone (attempts.py); `is_final`:
        whether a complete checkpoint of the number cannot be lost (heron_core.state.backup).
        """
        self._host = host
        self._states = OwnStates(host.identity.task, load)
        self._newest: SavedExchange | None = None
        self._saved_input = NO_INPUT
        """With which the newest plan begins."""
        self._readers = readers
        self._settled = SettledTuples()
        self.is_waiting = is_waiting
        """Whether the component is created only after its state is available."""
        self._is_fresh = True
        """Whether the component is unused since its initialisation."""
        self._undoes = undoes
        self._packing = packing
        self._is_final = is_final

    def attach(self, driver: ComponentDriver) -> None:
        """Pass checkpoint duties to a new driver."""
        driver.barrier = self._barrier
        if isinstance(driver, BoltDriver):
            user = self._host.instance.adapter.users_object
            # A pystorm class that requests the end of its process is ended, and the topology is
            # restored.
            undoes = self._undoes and driver.can_undo
            driver.undoes = undoes and getattr(user, "exit_on_exception", False) is not True
            driver.run_again(self._host.instance.state.take_in_flight())
        if isinstance(driver, SpoutDriver):
            driver.emitted_ids = EmittedIds()

    def warn_of_spout(self) -> None:
        """The user is told of a spout without state, once there is one."""
        instance = self._host.instance
        if isinstance(instance.driver, SpoutDriver) and not instance.keeps_state:
            self._host.warn(STATELESS_SPOUT)

    # --- a checkpoint -------------------------------------------------------------------------

    def trigger(self, trigger: messages.TriggerCheckpoint) -> None:
        """A checkpoint begins, here at a spout."""
        epoch = self._host.driver.outbox.epoch
        if trigger.epoch == epoch:
            self._save(encode_barrier(epoch, 0, 0, trigger.checkpoint, trigger.aligned))

    def _barrier(self, frames: Frames) -> None:
        """All of our sources have sent what belongs to a checkpoint, and it is processed."""
        self._save(frames)
        self._host.shared.take_barrier(checkpoint_of(frames))

    def overtake(self, waiting: WaitingInput, packing: PackingPlan, topology: TopologySpec) -> bool:
        """A barrier has waited too long behind input: the input is saved with the state, and
        processed after the barrier is forwarded. The barrier in the input is later ignored.
        False if the barrier has not arrived."""
        shared = self._host.shared
        epoch, checkpoint = shared.wanted
        if checkpoint > self._states.begun:
            input_before = waiting.before(epoch, checkpoint)
            if input_before is None:
                return False
            barrier, in_front = input_before
            fence = self._host.driver.fence
            self._overtake(barrier, saved_input(in_front, waiting.row, fence, packing, topology))
        shared.take_barrier(checkpoint)
        return True

    def _overtake(self, barrier: Frames, saved: SavedInput) -> None:
        """What is too much to be saved is waited for."""
        if saved.size_bytes <= INPUT_BYTES_MAX:
            self._save(barrier, saved)
            return
        self._host.warn(
            f"the barrier of checkpoint {checkpoint_of(barrier)} waits for {saved.size_bytes:,}"
            f" bytes of input: more than {INPUT_BYTES_MAX:,} are not saved"
        )

    def _save(self, barrier: Frames, saved: SavedInput = NO_INPUT) -> None:
        """Take the state, and let the barrier go on behind what was emitted before."""
        checkpoint = checkpoint_of(barrier)
        if not self._states.begin(checkpoint):
            return
        host, driver = self._host, self._host.driver
        self._take_state(checkpoint, saved)
        if isinstance(driver, SpoutDriver):
            driver.begin_checkpoint(checkpoint)
        driver.flush()
        if driver.recorder is not None and (state := self._states.of(checkpoint)) is not None:
            driver.recorder.saved(checkpoint, state)
        self._newest = SavedExchange(checkpoint, driver.exchanged(), bool(saved.messages))
        if self._readers:
            host.send([passed_on(barrier, driver.outbox.epoch, host.identity.task, 0)])

    def _take_state(self, checkpoint: int, saved: SavedInput) -> None:
        instance = self._host.instance
        try:
            instance.adapter.pre_save(str(checkpoint))
            self._keep_in_flight()
            state = _with_input(instance.state.deferred_snapshot(), saved)
        except Exception as error:
            self._host.driver.user_error(f"saving the state of checkpoint {checkpoint}")
            reason = str(error) if isinstance(error, HeronError) else repr(error)
            task = self._host.identity.task
            self._tell(messages.CheckpointFailed(task, checkpoint, reason[:REASON_MAX]))
        else:
            self._report_abandoned(checkpoint)
            self._states.keep(checkpoint, state)
            self._host.enqueue(SaveState(checkpoint, state))

    def _report_abandoned(self, checkpoint: int) -> None:
        driver, context = self._host.driver, self._host.instance.context
        if not isinstance(driver, BoltDriver):
            return
        total = SettledCounts(driver.abandoned_count, driver.history(), context.counted_tuples())
        is_new = self._settled.covered(checkpoint, total) > 0
        if counted := numbers_of(total.history, total.counted):
            task, name = self._host.identity.task, context.get_component_id()
            self._tell(messages.TuplesAbandoned(task, checkpoint, name, is_new, counted))

    def _keep_in_flight(self) -> None:
        driver = self._host.driver
        if isinstance(driver, BoltDriver):
            key_range = key_range_of(self._host.identity.task, self._packing)
            self._host.instance.state.keep_in_flight(
                key_range, driver.unfinished(), driver.fields_of
            )

    def completed(self, completed: messages.CheckpointCompleted) -> None:
        """All instances have saved their state."""
        if completed.epoch == self._host.driver.outbox.epoch:
            self._is_completed(completed.checkpoint, completed.abandoning)

    def _is_completed(self, checkpoint: int, abandoning: Sequence[str]) -> None:
        """Notify the component, once, of a final checkpoint. `abandoning`: bolts that abandoned
        covered tuples."""
        if not self._states.completed(checkpoint) or not self._is_final(checkpoint):
            return
        self._settled.completed(checkpoint)
        driver = self._host.driver
        if driver.recorder is not None:
            driver.recorder.step(RecordKind.COMPLETED, number=checkpoint)
        if isinstance(driver, SpoutDriver):
            behind = [each for each in abandoning if each in self._readers]
            driver.checkpoint_completed(checkpoint, behind)
        self._call_component(self._host.instance.adapter.post_save, checkpoint)

    # --- restore ------------------------------------------------------------------------------

    def begin_epoch(
        self,
        epoch: int,
        restore: Restore,
        waiting: WaitingInput,
        packing: PackingPlan,
        topology: TopologySpec,
        is_scaled: bool,
    ) -> str:
        """A new plan: the topology is restored from a checkpoint, and begins to run from there,
        with the input in it. `is_scaled`: by another packing plan than before. Returns what came of
        it, for the transition log."""
        who, driver = self._host.identity, self._host.driver
        self._packing = packing
        self._saved_input = NO_INPUT
        if restore.members is not None:
            # The others have gone on already. The master will have all of us restored.
            answer: messages.FromInstance = messages.Restored(who.task, who.incarnation, 0)
            driver.outbox.discard()
        else:
            share = share_of(who.task, packing, restore.previous, restore.with_input)
            take_input = partial(self._input_of, epoch, share, packing, topology)
            by = restore.abandoning, share, is_scaled, take_input
            answer = self._restore(epoch, restore.checkpoint, *by)
        driver, saved = self._host.driver, self._saved_input
        driver.forget_deliveries()
        driver.expect(saved.tuples)
        driver.plan_changed(epoch)
        self._tell(answer)
        waiting.restore(saved)
        return f"{answer}: checkpoint {restore.checkpoint}"

    def _restore(
        self,
        epoch: int,
        checkpoint: int,
        abandoning: Sequence[str],
        share: RestoreShare,
        is_scaled: bool,
        take_input: TakeInput,
    ) -> messages.FromInstance:
        who = self._host.identity
        if is_scaled:
            self._is_completed(checkpoint, abandoning)  # the notification may be missing
            if self._has_state_of(checkpoint, share):
                return messages.Restored(who.task, who.incarnation, epoch)
        try:
            saved, inputs = self._states.restore(checkpoint, share)
        except HeronError as error:
            return self._not_restored(epoch, error)
        try:
            self._is_completed(checkpoint, abandoning)  # the notification may be missing
            self._restore_component(checkpoint, saved)
            self._begin_with(take_input(inputs))
        except HeronError as error:
            if self.is_waiting and not isinstance(error, StateError | CheckpointStoreError):
                raise  # its class cannot begin, with whatever state
            return self._not_restored(epoch, error)
        return messages.Restored(who.task, who.incarnation, epoch)

    def _input_of(
        self,
        epoch: int,
        share: RestoreShare,
        packing: PackingPlan,
        topology: TopologySpec,
        inputs: Sequence[PreviousInput],
    ) -> SavedInput:
        """The instance's share of a checkpoint's input, by the current routes of the sources."""
        driver, task = self._host.driver, self._host.identity.task
        if not inputs or not isinstance(driver, BoltDriver):
            return NO_INPUT
        saved = inputs[0].saved
        if not share.is_whole:
            divider = InputDivider(packing.instances[task].component, topology, driver.decode)
            saved = divider.share(inputs, share.key_range)
        return addressed(epoch, task, packing, topology, saved)

    def _begin_with(self, its_input: SavedInput) -> None:
        driver = self._host.driver
        if its_input.first_row and not (isinstance(driver, BoltDriver) and driver.may_be_cut):
            raise StateError(
                "its saved input has a partly processed message, and the new code takes whole"
                " batches: run the previous code until a later checkpoint is complete"
            )
        self._saved_input = its_input

    def _has_state_of(self, checkpoint: int, share: RestoreShare) -> bool:
        """Whether the process may continue without a restore: its keys are unchanged, and since
        saving the checkpoint it has neither sent nor received anything, so no other process can
        notice a difference. Nothing is in flight: withheld emits have targets of the previous
        plan."""
        newest, driver = self._newest, self._host.driver
        keeps_keys = share.is_whole and share.sources[0].task == self._host.identity.task
        return (
            keeps_keys
            and not self.is_waiting
            and newest == SavedExchange(checkpoint, driver.exchanged(), has_input=False)
            and driver.outbox.empty
            and not (isinstance(driver, BoltDriver) and driver.unfinished())
            and not driver.awaits_restore
            and driver.component_is_idle
        )

    def _not_restored(self, epoch: int, error: HeronError) -> messages.FromInstance:
        self._host.driver.outbox.discard()
        return restore_failed(self._host.identity.task, epoch, error)

    def _restore_component(self, checkpoint: int, saved: bytes | None) -> None:
        """Start with a state. A stateless spout continues, and is notified of discarded tuples.
        Any other component is recreated, to remove all effects."""
        host, driver = self._host, self._host.driver
        self._newest = None
        if self.is_waiting:
            host.recreate(saved)
            self._note_begin(checkpoint, saved)
            self.is_waiting = self._is_fresh = False
            self.warn_of_spout()
            return
        is_fresh, self._is_fresh = self._is_fresh, False
        if is_fresh and saved is None:
            return
        if isinstance(driver, SpoutDriver):
            driver.roll_back()
            if not host.instance.keeps_state:
                driver.outbox.discard()
                return
        self._call_component(host.instance.adapter.pre_restore, checkpoint)
        host.close_component()
        host.recreate(saved)
        self._note_begin(checkpoint, saved)
        if isinstance(host.driver, BoltDriver):  # tuples abandoned since then are replayed
            settled = self._settled.restore(checkpoint)
            host.driver.take_back(settled.history)
            host.instance.context.restore_totals(settled.counted)

    def _note_begin(self, checkpoint: int, saved: bytes | None) -> None:
        recorder = self._host.driver.recorder
        if recorder is not None:
            recorder.began(checkpoint, saved)

    def _call_component(self, call: Callable[[str], Any], checkpoint: int) -> None:
        try:
            call(str(checkpoint))
        except Exception:
            self._host.driver.raised_beside(call.__name__)

    def _tell(self, message: messages.FromInstance) -> None:
        self._host.enqueue(SendControl(message))


def _with_input(state: StateBytes, saved: SavedInput) -> StateBytes:
    if not saved.messages:
        return state
    return DeferredSnapshot(lambda: encode_input(as_bytes(state), saved))
