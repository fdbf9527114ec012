"""Whether a checkpoint store is the one in which a run has begun.

The folder of a disk that is not mounted is there, and empty. A state that is saved in it is hidden
as soon as the disk is back, and the checkpoint that needs it, whose sinks have committed, is gone.
So a run leaves a mark in its store before its first state, and saves nothing where that is missing.
"""

from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles


class RunMarker:
    """The mark of one run, as one process of it sees that."""

    def __init__(self, topology: str, run: str, *, is_folder: bool, begins: bool = False) -> None:
        """`is_folder`: the store is on this machine; one with a server does not answer when it is
        away. `begins`: the store was away when the run began, so the mark may be missing."""
        self._topology = topology
        self._run = run
        self._is_folder = is_folder
        self._begins = begins

    def check(self, store: CheckpointFiles) -> None:
        """CheckpointStoreError if the store is not the one in which the run has begun."""
        if not self._is_folder:
            return
        if self._begins:
            store.begin_run(self._topology, self._run)
            self._begins = False
        store.check_run(self._topology, self._run)
