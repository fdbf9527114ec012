"""Whether a checkpoint store is the store in which a run has started.

The folder of an unmounted disk exists and is empty. A state saved there becomes hidden when the
disk returns, and its checkpoint, already committed by sinks, is lost. So a run writes a mark in its
store before its first state, and saves nothing in a store without the mark.

In a store shared by several hosts one process of the run writes the mark, and all others check the
mark: a host with an unmounted disk lacks the mark, and saves nothing.
"""

import time
from collections.abc import Callable

from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles

AWAIT_SECS = 30.0
"""Wait of a starting process for the mark: containers of one topology start within seconds of
each other. Afterwards the process fails with a reason, and is restarted."""
POLL_SECS = 0.1
"""Between two looks."""


class RunMarker:
    """The mark of one run, as seen by one process."""

    def __init__(
        self,
        topology: str,
        run: str,
        *,
        is_folder: bool,
        begins: bool = False,
        awaits: bool = False,
    ) -> None:
        """`is_folder`: the store is a local folder; a store on a server does not answer when
        unavailable. `begins`: the store was unavailable at the start of the run, so the mark may be
        missing, and is written. `awaits`: the process that writes the mark may be later.
        """
        self._topology = topology
        self._run = run
        self._is_folder = is_folder
        self._begins = begins
        self._awaits = awaits

    def check(self, store: CheckpointFiles) -> None:
        """CheckpointStoreError for a store without the run's mark."""
        if not self._is_folder:
            return
        if self._begins:
            store.begin_run(self._topology, self._run)
            self._begins = False
        store.check_run(self._topology, self._run)

    def check_first(
        self, store: CheckpointFiles, rest: Callable[[float], None] = time.sleep
    ) -> None:
        """As `check`, before the first state of a process, with a wait for the mark. `rest` sleeps
        for a number of seconds.
        """
        attempts = int(AWAIT_SECS / POLL_SECS) if self._awaits and self._is_folder else 0
        while attempts and not store.has_begun(self._topology, self._run):
            attempts -= 1
            rest(POLL_SECS)
        self.check(store)
