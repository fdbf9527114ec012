"""Writes an instance's states to the checkpoint store, beside the main thread."""

import logging
import threading
from collections.abc import Callable

from heron_core.wire.messages import CheckpointFailed, CheckpointStored, FromInstance
from heron_io.checkpoint_store.protocol import CheckpointStore, CheckpointStoreError

log = logging.getLogger("heron_instance")


class SavingThread(threading.Thread):
    """Saves one state at a time. A newer one takes the place of one that still waits: its
    checkpoint has been given up."""

    def __init__(self, store: CheckpointStore, topology: str, task: int) -> None:
        super().__init__(name="saving", daemon=True)
        self._store = store
        self._topology = topology
        self._task = task
        self._send: Callable[[FromInstance], None]
        self._waiting: tuple[int, bytes] | None = None
        self._changed = threading.Condition()

    def begin(self, send: Callable[[FromInstance], None]) -> None:
        """Start; `send` takes what is to be said, from any thread."""
        self._send = send
        self.start()

    def save(self, checkpoint: int, state: bytes) -> None:
        """From the main thread: have a state written."""
        with self._changed:
            self._waiting = checkpoint, state
            self._changed.notify()

    def load(self, checkpoint: int) -> bytes:
        """In the main thread: a state from the store; HeronError if it cannot be had."""
        return self._store.load(self._topology, checkpoint, self._task)

    def run(self) -> None:
        """Save what comes until the process ends."""
        while True:
            with self._changed:
                while self._waiting is None:
                    self._changed.wait()
                checkpoint, state = self._waiting
                self._waiting = None
            self._send(self._saved(checkpoint, state))

    def _saved(self, checkpoint: int, state: bytes) -> FromInstance:
        try:
            self._store.save(self._topology, checkpoint, self._task, state)
        except CheckpointStoreError as error:
            log.error("checkpoint %d: %s", checkpoint, error)
            return CheckpointFailed(self._task, checkpoint, str(error))
        return CheckpointStored(self._task, checkpoint, len(state))
