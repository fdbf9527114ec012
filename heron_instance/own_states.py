"""An instance's own copies of its saved states: whoever survives a failure needs no store."""

from collections.abc import Callable

from heron_core.state.file_snapshot import StateBytes, as_bytes

Load = Callable[[int], bytes]


class OwnStates:
    """The states of the newest completed checkpoint, and of those that are under way."""

    def __init__(self, load: Load) -> None:
        """`load` reads the state of a checkpoint from the store."""
        self._load = load
        self._by_checkpoint: dict[int, StateBytes] = {}
        self._begun = 0
        self._completed = 0

    def begin(self, checkpoint: int) -> bool:
        """A checkpoint is triggered; False if it was before: one that is repeated, or late."""
        is_new = checkpoint > self._begun
        self._begun = max(checkpoint, self._begun)
        return is_new

    def keep(self, checkpoint: int, state: StateBytes) -> None:
        """This one was saved just now."""
        self._by_checkpoint[checkpoint] = state

    def completed(self, checkpoint: int) -> bool:
        """Nothing older will be gone back to, unless this one cannot be read elsewhere; False if
        that was known, or this process has not saved it."""
        is_new = self._completed < checkpoint <= self._begun
        if is_new:
            self._completed = checkpoint
            self._by_checkpoint = {
                number: state
                for number, state in self._by_checkpoint.items()
                if number >= checkpoint
            }
        return is_new

    def go_back(self, checkpoint: int) -> bytes | None:
        """The state of a checkpoint; None for checkpoint 0, and if the task has none in it: a
        savepoint knows nothing of a component that is new. HeronError if it cannot be had."""
        if not checkpoint:
            self._by_checkpoint = {}
            return None
        own = self._by_checkpoint.get(checkpoint)
        state = self._load(checkpoint) if own is None else as_bytes(own)
        self._by_checkpoint = {checkpoint: state}
        return state or None
