"""An instance's states in a checkpoint store: of checkpoints, or its newest by itself."""

import logging
from collections.abc import Callable, Sequence

from heron_core.errors import HeronError
from heron_core.state.file_snapshot import StateBytes, as_bytes, size_of
from heron_core.wire.messages import CheckpointFailed, CheckpointStored, FromInstance
from heron_io.checkpoint_store.checkpoint_files import OWN, CheckpointFiles
from heron_io.checkpoint_store.local_copies import LocalCopies
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.protocol import CheckpointStore, CheckpointStoreError

log = logging.getLogger("heron_instance")

KEPT = 2
"""One may be half written when its process dies, and the one before is whole."""


class CheckpointStates:
    """The states of one task in the topology's checkpoints."""

    def __init__(
        self,
        store: CheckpointStore,
        topology: str,
        task: int,
        copies: LocalCopies | None = None,
    ) -> None:
        """`copies`: of the states' files, if the store is not on this machine."""
        self._store = store
        self._copies = copies
        self._topology = topology
        self._task = task
        self.tell: Callable[[FromInstance], None]
        """Takes what is to be said, from any thread."""

    def load(self, checkpoint: int, task: int) -> bytes:
        """In the main thread: a state from the store, ours or that of a task whose keys have moved
        here; HeronError if it cannot be had."""
        state = self._store.load(self._topology, checkpoint, task)
        return state if self._copies is None else self._copies.before(state)

    def write(self, checkpoint: int, state: StateBytes) -> None:
        """Save a state, and tell the master."""
        try:
            data = as_bytes(state)
            self._store.save(self._topology, checkpoint, self._task, data)
        except HeronError as error:
            log.error("checkpoint %d: %s", checkpoint, error)
            self.tell(CheckpointFailed(self._task, checkpoint, str(error)))
        else:
            self.tell(CheckpointStored(self._task, checkpoint, size_of(data)))
            if self._copies is not None:
                self._copies.keep(data)


class NewestState:
    """The states that one task has saved by itself, the newest of which its next process takes."""

    def __init__(self, url: str, topology: str, run: str, task: int, former: int = 0) -> None:
        """`run` tells this run of the topology from others of its name, whose states are not
        for it; `former`: the task that this one was before its code was changed, if it was."""
        self._url = url
        self._folders = {each: f"{topology}/{OWN}/{run}/{each}" for each in (task, former)}
        self._folder, self._former = self._folders[task], former
        self._task = task
        self._store: CheckpointFiles | None = None
        self.latest = 0
        """The highest number that one has."""
        self.reported: Callable[[int, str], None]
        """Takes the number of a state that is saved, or else why it is not, from any thread."""

    def _opened(self) -> CheckpointFiles:
        """Late: most components keep no state."""
        if self._store is None:
            self._store = open_checkpoint_store(self._url)
        return self._store

    def load(self) -> bytes | None:
        """The newest that can be read, or None if there is none; CheckpointStoreError if there are
        some, and none can be read."""
        own, former = (max(self._numbers(each), default=0) for each in (self._task, self._former))
        if former <= own:
            return self._newest_of(self._task)
        state = self._newest_of(self._former)
        if state is not None:
            self._opened().save(self._folder, self.latest, self._task, state)
        return state

    def _numbers(self, task: int) -> Sequence[int]:
        return self._opened().numbers(self._folders[task]) if task else ()

    def _newest_of(self, task: int) -> bytes | None:
        store, numbers = self._opened(), self._numbers(task)
        self.latest = max(numbers, default=0)
        failure: CheckpointStoreError | None = None
        for number in reversed(numbers):
            try:
                return store.checkpoint(self._folders[task], number).check(task)
            except CheckpointStoreError as error:
                log.warning("its newest state is not usable: %s", error)
                failure = failure or error
        if failure is not None:
            raise failure
        return None

    def write(self, number: int, state: StateBytes) -> None:
        """Save a state, and tell the main thread."""
        try:
            store = self._opened()
            store.save(self._folder, number, self._task, as_bytes(state))
            for old in store.numbers(self._folder):
                if old <= number - KEPT:
                    store.discard(self._folder, old)
        except HeronError as error:
            self.reported(number, str(error))
        else:
            self.reported(number, "")
