"""The topology master's use of the checkpoint store, in a thread: a hanging store must not delay
data."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from heron_core.errors import HeronError
from heron_engine.topology_master.events import SeekStates, StatesSought
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.worker import WorkerThread

log = logging.getLogger("topology_master")

MARK_AGAIN_SECS = 1.0
"""Between two tries to leave the run's mark in a store that is away."""


class StoredCheckpoints:
    """The checkpoints of one topology in their store."""

    def __init__(self, url: str, topology: str, begins_run: str = "") -> None:
        """`begins_run`: the run whose mark is to be left in the store (run_marker.py), which was
        away when the run began; empty: the mark is there."""
        self._url = url
        self._topology = topology
        self._unmarked = begins_run
        self._mark_at = 0.0
        self._worker = WorkerThread("checkpoint store")

    @property
    def readable(self) -> int:
        """A file descriptor that is ready when the thread has done something."""
        return self._worker.readable

    def finish(self) -> None:
        """The thread has done something."""
        self._worker.finish()

    def close(self, wait_secs: float) -> None:
        """Wait so long for what was begun, and end."""
        self._worker.close(wait_secs)

    def has_begun(self) -> None:
        """A checkpoint is complete, so the mark was left, however empty the folder is now."""
        self._unmarked = ""

    def poll(self, now: float) -> None:
        """Several times a second: leave the run's mark, if that is still to be done."""
        if self._unmarked and now >= self._mark_at:
            self._mark_at = float("inf")
            self._worker.begin(self._mark, self._marked)

    def _mark(self) -> bool:
        try:
            open_checkpoint_store(self._url).begin_run(self._topology, self._unmarked)
        except HeronError as error:
            log.warning("%s", error)
            return False
        return True

    def _marked(self, is_done: bool | None) -> None:
        self._mark_at = time.monotonic() + MARK_AGAIN_SECS
        if is_done:
            self._unmarked = ""

    def seek(self, what: SeekStates, done: Callable[[StatesSought], None]) -> None:
        """Look which states of a checkpoint are visible; `done` is given the answer in the loop."""
        number, url = what.checkpoint, self._url

        def search() -> StatesSought:
            try:
                folder = open_checkpoint_store(url).checkpoint(self._topology, number)
                return StatesSought(number, url, tuple(sorted(folder.missing(what.tasks))))
            except HeronError as error:
                return StatesSought(number, url, failure=str(error))

        bug = StatesSought(number, url, failure="a bug of ours, see the topology master's log")
        self._worker.begin(search, lambda sought: done(sought or bug))

    def describe(
        self, checkpoint: int, description: Mapping[str, Any], done: Callable[[], None]
    ) -> None:
        """Write the description into a checkpoint's folder; `done` is called in the loop."""

        def describe() -> None:
            try:
                store = open_checkpoint_store(self._url)
                store.checkpoint(self._topology, checkpoint).describe(description)
            except CheckpointStoreError as error:
                log.warning("processes cannot start from checkpoint %d: %s", checkpoint, error)

        self._worker.begin(describe, lambda result: done())

    def discard(self, checkpoint: int) -> None:
        """Remove an unneeded checkpoint."""

        def discard() -> None:
            try:
                open_checkpoint_store(self._url).discard(self._topology, checkpoint)
            except CheckpointStoreError as error:
                log.warning("%s", error)

        self._worker.begin(discard, lambda result: None)
