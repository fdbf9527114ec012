"""An instance's states in a checkpoint store: of checkpoints, or saved periodically."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from heron_core.errors import HeronError
from heron_core.state.file_snapshot import StateBytes, as_bytes, size_of
from heron_core.state.saved_input import input_size
from heron_core.wire.messages import CheckpointFailed, CheckpointStored, FromInstance
from heron_instance.states_in_memory import StateLost, StatesInMemory
from heron_io.checkpoint_store.checkpoint_files import OWN, CheckpointFiles
from heron_io.checkpoint_store.local_copies import LocalCopies
from heron_io.checkpoint_store.protocol import CheckpointStoreError, StateDamaged
from heron_io.checkpoint_store.run_marker import RunMarker

log = logging.getLogger("heron_instance")

MOVED = "moved"
"""Subfolder for states migrated by updates, in the folder of periodically saved states."""
SHORTFALL_MAX = 500
"""Characters of why too few containers hold a state, for people to read."""
KEPT = 2
"""States retained: one may be incomplete after the death of its process, so the previous state is
needed."""


class CheckpointStates:
    """The states of one task in the topology's checkpoints."""

    def __init__(
        self,
        opened: Callable[[], CheckpointFiles],
        topology: str,
        task: int,
        marker: RunMarker,
        copies: LocalCopies | None = None,
        memory: StatesInMemory | None = None,
    ) -> None:
        """`opened` opens the store, and may fail while the store is unreachable: the next restore
        or checkpoint then retries. `marker` distinguishes the store from the empty folder of an
        unmounted disk. `copies`: local copies of the states' files, for a store on another
        machine. `memory`: the backup in the memory of other containers."""
        self._opened = opened
        self._memory = memory
        self._marker = marker
        self._store: CheckpointFiles | None = None
        self._copies = copies
        self._topology = topology
        self._task = task
        self.tell: Callable[[FromInstance], None]
        """Receiver of messages to the stream manager, from any thread."""

    def _open(self) -> CheckpointFiles:
        if self._store is None:
            self._store = self._opened()
        return self._store

    def load(self, checkpoint: int, task: int) -> bytes:
        """In the main thread: a state from the store, of the own task or of a task whose keys have
        moved here; HeronError if unavailable."""
        if self._memory is not None:
            copy = self._from_memory(self._memory, checkpoint, task)
            if copy is not None:
                return copy
        state = self._open().load(self._topology, checkpoint, task)
        return state if self._copies is None else self._copies.before(state)

    def _from_memory(self, memory: StatesInMemory, checkpoint: int, task: int) -> bytes | None:
        """A state from memory; None if it is in the store. StateLost if it is nowhere."""
        away: CheckpointStoreError | None = None
        try:
            if (state := memory.fetch(checkpoint, task)) is not None:
                return state
        except CheckpointStoreError as error:
            log.warning("the backup in memory: %s", error)
            away = error
        if memory.rule.is_durable(checkpoint):
            return None
        store = self._open()
        self._marker.check(store)
        if task not in store.checkpoint(self._topology, checkpoint).missing((task,)):
            return None
        if away is not None and not isinstance(away, StateDamaged):
            raise away  # a silent container may have the state
        why = away or "all containers that held it have been replaced"
        raise StateLost(
            f"the state of task {task} in checkpoint {checkpoint} was in memory alone: {why}"
        )

    def write(self, checkpoint: int, state: StateBytes) -> None:
        """Save a state, and tell the master."""
        copies, shortfall, is_in_store = 0, "", True
        try:
            data = as_bytes(state)
            if (memory := self._memory) is not None:
                copies, shortfall = memory.store(checkpoint, data)
                is_in_store = not copies or memory.rule.is_durable(checkpoint)
            if is_in_store:
                store = self._open()
                self._marker.check(store)
                store.save(self._topology, checkpoint, self._task, data)
        except Exception as error:  # the thread goes on: the next checkpoint may be saved
            log.error("checkpoint %d: %s", checkpoint, error)
            reason = str(error) if isinstance(error, HeronError) else repr(error)
            self.tell(CheckpointFailed(self._task, checkpoint, reason))
        else:
            messages, size_bytes = input_size(data)
            self.tell(
                CheckpointStored(
                    self._task, checkpoint, size_of(data), 0, messages, size_bytes,
                    copies, shortfall[:SHORTFALL_MAX], is_in_store,
                )
            )  # fmt: skip
            if self._copies is not None:
                self._copies.keep(data)


class MovedStateFiles:
    """States saved by tasks for updates, in topologies without checkpoints."""

    def __init__(
        self, opened: Callable[[], CheckpointFiles], topology: str, run: str, task: int
    ) -> None:
        """`opened` opens the store; `run` is the id of the run, unique among topologies of an equal
        name."""
        self._opened = opened
        self._folder = f"{topology}/{OWN}/{run}/{MOVED}"
        self._task = task
        self.reported: Callable[[int, str, int], None]
        """Called from any thread with the number of an update, the reason of a failed save (empty
        on success) and the state's size in bytes."""

    def load(self, update: int, task: int) -> bytes:
        """The state saved by a task for an update; HeronError if unavailable."""
        return self._opened().load(self._folder, update, task)

    def write(self, update: int, state: StateBytes) -> None:
        """Save a state and notify the main thread; states of earlier updates are removed."""
        try:
            store, data = self._opened(), as_bytes(state)
            store.save(self._folder, update, self._task, data)
        except HeronError as error:
            self.reported(update, str(error), 0)
            return
        self.reported(update, "", size_of(data))
        with suppress(CheckpointStoreError):  # others remove them at the same time
            for old in store.numbers(self._folder):
                if old < update:
                    store.discard(self._folder, old)


class NewestState:
    """States saved periodically by one task; the next process of the task starts from the
    newest."""

    def __init__(
        self,
        opened: Callable[[], CheckpointFiles],
        topology: str,
        run: str,
        task: int,
        marker: RunMarker,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`opened` opens the store, and `marker` distinguishes the store from the empty folder of
        an unmounted disk; `run` is the id of the run: states of other runs are not used."""
        self._clock = clock
        self._open = opened
        self._marker = marker
        self._folder = f"{topology}/{OWN}/{run}/{task}"
        self._task = task
        self._store: CheckpointFiles | None = None
        self.latest = 0
        """The highest number of a state, including numbers still available to an earlier
        process."""
        self.loaded: tuple[int, bytes | None] = 0, None
        """Number and state that `load` has returned."""
        self.reported: Callable[[int, str], None]
        """Called from any thread with the number of a saved state, or the reason of a failed
        save."""

    def _opened(self) -> CheckpointFiles:
        """Late: most components keep no state."""
        if self._store is None:
            self._store = self._open()
        return self._store

    def load(self) -> bytes | None:
        """The newest readable state; None without states. CheckpointStoreError if states exist and
        none is readable, or for an unreachable store, which would otherwise look like a first
        run."""
        store = self._opened()
        self._marker.check_first(store)
        numbers = store.numbers(self._folder)
        # Numbers go on from the time, so that a process that was stopped and replaced, and wakes up
        # again, saves nothing under a number that its successor has used or will use.
        self.latest = max([*numbers, int(self._clock() * 1000)])
        failure: CheckpointStoreError | None = None
        for number in reversed(numbers):
            try:
                state = store.checkpoint(self._folder, number).check(self._task)
            except CheckpointStoreError as error:
                log.warning("its newest state is not usable: %s", error)
                failure = failure or error
            else:
                self.loaded = number, state
                return state
        if failure is not None:
            raise failure
        return None

    def write(self, number: int, state: StateBytes) -> None:
        """Save a state and notify the main thread. Nothing is saved without the store's mark: the
        state would be hidden as soon as the store returns."""
        try:
            store = self._opened()
            self._marker.check(store)
            store.save(self._folder, number, self._task, as_bytes(state))
            for old in store.numbers(self._folder):
                if old <= number - KEPT:
                    store.discard(self._folder, old)
        except HeronError as error:
            self.reported(number, str(error))
        else:
            self.reported(number, "")
