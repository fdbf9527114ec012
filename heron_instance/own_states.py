"""An instance's own copies of saved states: a surviving process needs no store."""

from collections.abc import Callable

from heron_core.state.divided_input import PreviousInput
from heron_core.state.file_snapshot import StateBytes, as_bytes
from heron_core.state.parts import Parts, StatePart, encode_parts
from heron_core.state.restore_plan import RestoreShare
from heron_core.state.saved_input import decode_input

Load = Callable[[int, int], bytes]


class OwnStates:
    """The states of the newest completed checkpoint, and of those that are under way."""

    def __init__(self, task: int, load: Load) -> None:
        """`load` reads the state of a checkpoint and a task from the store."""
        self._task = task
        self._load = load
        self._by_checkpoint: dict[int, StateBytes] = {}
        self.begun = 0
        """The newest that was triggered, or whose barrier has come."""
        self._completed = 0

    def begin(self, checkpoint: int) -> bool:
        """A checkpoint is triggered; False if repeated or late."""
        is_new = checkpoint > self.begun
        self.begun = max(checkpoint, self.begun)
        return is_new

    def keep(self, checkpoint: int, state: StateBytes) -> None:
        """A state was saved."""
        self._by_checkpoint[checkpoint] = state

    def of(self, checkpoint: int) -> StateBytes | None:
        """The state that the process has taken for a checkpoint; None without one."""
        return self._by_checkpoint.get(checkpoint)

    def completed(self, checkpoint: int) -> bool:
        """Older states are obsolete, unless the checkpoint is unreadable elsewhere; False if
        known before, or not saved by the process."""
        is_new = self._completed < checkpoint <= self.begun
        if is_new:
            self._completed = checkpoint
            self._by_checkpoint = {
                number: state
                for number, state in self._by_checkpoint.items()
                if number >= checkpoint
            }
        return is_new

    def restore(
        self, checkpoint: int, share: RestoreShare
    ) -> tuple[bytes | None, list[PreviousInput]]:
        """The state of a checkpoint, built from `share`, and input to be processed first: of one
        task, or of several tasks whose state is redistributed. Empty for checkpoint 0, and for a
        component new since the savepoint. HeronError if unavailable."""
        own = self._by_checkpoint.get(checkpoint)
        self._by_checkpoint = {} if own is None else {checkpoint: own}
        if not checkpoint:
            return None, []
        if share.is_whole:
            state, saved = decode_input(self._state_of(checkpoint, share.sources[0].task))
            return state or None, [PreviousInput(share.key_range, saved)] if saved.messages else []
        parts, inputs = [], []
        for source in sorted({*share.sources, *share.inputs}, key=lambda one: one.key_range.index):
            state, saved = decode_input(self._state_of(checkpoint, source.task))
            if state and source in share.sources:
                parts.append(StatePart(source.key_range, state))
            if saved.messages:
                inputs.append(PreviousInput(source.key_range, saved))
        return encode_parts(Parts(share.key_range, tuple(parts))) if parts else None, inputs

    def _state_of(self, checkpoint: int, task: int) -> bytes:
        """As it was saved; our own is at hand, or kept from now on."""
        own = self._by_checkpoint.get(checkpoint) if task == self._task else None
        state = self._load(checkpoint, task) if own is None else as_bytes(own)
        if task == self._task:
            self._by_checkpoint = {checkpoint: state}
        return state
