"""Checkpoints at one instance: what is saved, and how it goes back; all in the main thread.

Checkpointing decides when a state is taken and what follows from it. The instance's core owns the
component and its driver, and does the rest: it is what `Host` names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from heron_core.errors import HeronError, StateError
from heron_core.plans import PackingPlan
from heron_core.state.restore_plan import Share, share_of
from heron_core.wire import messages
from heron_core.wire.frames import Frames
from heron_core.wire.packets import checkpoint_of, encode_barrier
from heron_instance.control_core import Identity
from heron_instance.events import Instruction, SaveState, SendControl
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.driver import ComponentDriver, Exchanged
from heron_instance.input.emitted_ids import EmittedIds
from heron_instance.input.spout import SpoutDriver
from heron_instance.own_states import OwnStates
from heron_instance.runtime.factory import Instance
from heron_io.checkpoint_store.protocol import CheckpointStoreError

REASON_MAX = 500
"""Characters of why a checkpoint failed, for people to read."""
STATELESS_SPOUT = (
    "this spout keeps no state (api.state.stateful_component): after a failure its fail() is called"
    " for what it has emitted since the last checkpoint, and if its own process dies, that is lost"
    " or emitted twice"
)


def restore_failed(task: int, epoch: int, error: HeronError) -> messages.RestoreFailed:
    """What the master is told if a task's state cannot be had, or is not taken."""
    away, refused = messages.RestoreTrouble.AWAY, messages.RestoreTrouble.REFUSED
    trouble = refused if isinstance(error, StateError) else getattr(error, "trouble", away)
    return messages.RestoreFailed(task, epoch, str(error)[:REASON_MAX], trouble.value)


class Host(Protocol):
    """What checkpoints need of the instance's core; component and driver change when it goes
    back."""

    identity: Identity
    instance: Instance
    driver: ComponentDriver

    def send(self, messages: list[Frames]) -> None:
        """Put messages on the data connection."""

    def warn(self, text: str) -> None:
        """A line for the component's log."""

    def do_first(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""

    def close_component(self) -> None:
        """The last calls of user code."""

    def make_anew(self, saved: bytes | None) -> None:
        """Another object of the user's class, with this state, in place of the one there is."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What an instance had exchanged with others when it saved its newest state."""

    checkpoint: int
    exchanged: Exchanged


class Checkpointing:
    """The saved states of one instance, and what of a checkpoint is the instance's to do."""

    def __init__(
        self,
        host: Host,
        load: Callable[[int, int], bytes],
        is_read: bool,
        is_waiting: bool,
        undoes: bool,
    ) -> None:
        """`load` reads the state of a checkpoint from the store; `is_read`: whether somebody
        waits for our barriers; `is_waiting`: there is no component yet; `undoes`: whether what a
        bolt raises is undone (attempts.py)."""
        self._host = host
        self._states = OwnStates(host.identity.task, load)
        self._newest: Saved | None = None
        self._is_read = is_read
        self.is_waiting = is_waiting
        """Whether the component is only made when its state is there."""
        self._is_fresh = True
        """Whether the component has done nothing since it was initialised."""
        self._undoes = undoes

    def attach(self, driver: ComponentDriver) -> None:
        """A driver that is new learns what it has to do for checkpoints."""
        driver.barrier = self._barrier
        if isinstance(driver, BoltDriver):
            user = self._host.instance.adapter.users_object
            # A class of pystorm that wants its process to end has it ended, and all go back.
            driver.undoes = self._undoes and getattr(user, "exit_on_exception", False) is not True
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
        if trigger.epoch == self._host.driver.outbox.epoch:
            self._save(trigger.checkpoint)

    def _barrier(self, frames: Frames) -> None:
        """All of our sources have sent what belongs to a checkpoint, and it is processed."""
        self._save(checkpoint_of(frames))

    def _save(self, checkpoint: int) -> None:
        """Take the state, and let the barrier go on behind what was emitted before."""
        if not self._states.begin(checkpoint):
            return
        host, driver = self._host, self._host.driver
        self._take_state(checkpoint)
        if isinstance(driver, SpoutDriver):
            driver.begin_checkpoint(checkpoint)
        driver.flush()
        self._newest = Saved(checkpoint, driver.exchanged())
        if self._is_read:
            host.send([encode_barrier(driver.outbox.epoch, host.identity.task, 0, checkpoint)])

    def _take_state(self, checkpoint: int) -> None:
        instance = self._host.instance
        try:
            instance.adapter.pre_save(str(checkpoint))
            state = instance.state.deferred_snapshot()
        except Exception as error:
            self._host.driver.user_error(f"saving the state of checkpoint {checkpoint}")
            reason = str(error) if isinstance(error, HeronError) else repr(error)
            task = self._host.identity.task
            self._tell(messages.CheckpointFailed(task, checkpoint, reason[:REASON_MAX]))
        else:
            self._states.keep(checkpoint, state)
            self._host.do_first(SaveState(checkpoint, state))

    def completed(self, completed: messages.CheckpointCompleted) -> None:
        """All instances have saved their state."""
        if completed.epoch == self._host.driver.outbox.epoch:
            self._is_completed(completed.checkpoint)

    def _is_completed(self, checkpoint: int) -> None:
        """Tell the component, once."""
        if not self._states.completed(checkpoint):
            return
        driver = self._host.driver
        if isinstance(driver, SpoutDriver):
            driver.checkpoint_completed(checkpoint)
        self._call_component(self._host.instance.adapter.post_save, checkpoint)

    # --- going back ---------------------------------------------------------------------------

    def begin_epoch(
        self, epoch: int, restore: messages.Json, packing: PackingPlan, is_scaled: bool
    ) -> str:
        """A new plan: the topology goes back to a checkpoint, and begins to run from there.
        `is_scaled`: by another packing plan than before. Returns what came of it, for the story."""
        who, driver = self._host.identity, self._host.driver
        if restore["members"] is not None:
            # The others have gone on already. The master will have all of us go back.
            answer: messages.FromInstance = messages.Restored(who.task, who.incarnation, 0)
            driver.outbox.discard()
        else:
            share = share_of(who.task, packing, restore.get("former", {}))
            answer = self._restore(epoch, restore["checkpoint"], share, is_scaled)
        self._host.driver.forget_deliveries()
        self._host.driver.plan_changed(epoch)
        self._tell(answer)
        return f"{answer}: checkpoint {restore['checkpoint']}"

    def _restore(
        self, epoch: int, checkpoint: int, share: Share, is_scaled: bool
    ) -> messages.FromInstance:
        who = self._host.identity
        if is_scaled:
            self._is_completed(checkpoint)  # nobody may have told us
            if self._has_state_of(checkpoint, share):
                return messages.Restored(who.task, who.incarnation, epoch)
        try:
            saved = self._states.go_back(checkpoint, share)
        except HeronError as error:
            return self._not_restored(epoch, error)
        try:
            self._is_completed(checkpoint)  # nobody may have told us
            self._go_back(checkpoint, saved)
        except HeronError as error:
            if self.is_waiting and not isinstance(error, StateError | CheckpointStoreError):
                raise  # its class cannot begin, with whatever state
            return self._not_restored(epoch, error)
        return messages.Restored(who.task, who.incarnation, epoch)

    def _has_state_of(self, checkpoint: int, share: Share) -> bool:
        """Whether this process may go on as it is: it keeps the keys that it has, and since it
        saved that checkpoint it has neither sent nor taken anything, so nobody else can tell what
        it did in between."""
        newest, driver = self._newest, self._host.driver
        keeps_keys = share.is_whole and share.sources[0].task == self._host.identity.task
        return (
            keeps_keys
            and not self.is_waiting
            and newest == Saved(checkpoint, driver.exchanged())
            and driver.outbox.empty
            and not driver.is_void
            and driver.component_is_idle
        )

    def _not_restored(self, epoch: int, error: HeronError) -> messages.FromInstance:
        self._host.driver.outbox.discard()
        return restore_failed(self._host.identity.task, epoch, error)

    def _go_back(self, checkpoint: int, saved: bytes | None) -> None:
        """Begin with a state. A spout that keeps none goes on as it is: it is told what of it is
        void. Any other component is made anew, so that nothing is left of what it has done."""
        host, driver = self._host, self._host.driver
        self._newest = None
        if self.is_waiting:
            host.make_anew(saved)
            self.is_waiting = self._is_fresh = False
            self.warn_of_spout()
            return
        is_fresh, self._is_fresh = self._is_fresh, False
        if is_fresh and saved is None:
            return
        if isinstance(driver, SpoutDriver):
            driver.go_back()
            if not host.instance.keeps_state:
                driver.outbox.discard()
                return
        self._call_component(host.instance.adapter.pre_restore, checkpoint)
        host.close_component()
        host.make_anew(saved)

    def _call_component(self, call: Callable[[str], Any], checkpoint: int) -> None:
        try:
            call(str(checkpoint))
        except Exception:
            self._host.driver.raised_beside(call.__name__)

    def _tell(self, message: messages.FromInstance) -> None:
        self._host.do_first(SendControl(message))
