"""The contract of a checkpoint store: the states of all instances, by number of the checkpoint.

A checkpoint is a number and the state of each task. What `save` has returned from survives any
crash, and `load` gives exactly those bytes or raises: a state that is cut, changed or missing is
never taken for another one. Whether a checkpoint is complete stands in the state store, not here.
"""

from typing import Protocol

from heron_core.errors import HeronError
from heron_core.wire.messages import RestoreTrouble


class CheckpointStoreError(HeronError):
    """The store is away, full, or does not have (any more) what was asked for; one line."""

    trouble = RestoreTrouble.AWAY
    """Treatment by a restore."""


class StateDamaged(CheckpointStoreError):
    """A file of a state exists with a content other than the saved one."""

    trouble = RestoreTrouble.DAMAGED


class StateNotSigned(StateDamaged):
    """A state is complete, but not signed with the topology's key."""


class StateGone(CheckpointStoreError):
    """The store is available, and a file of a state is missing."""

    trouble = RestoreTrouble.GONE


class CheckpointStore(Protocol):
    """Several processes and threads use one store at a time, each with an object of its own."""

    def save(self, topology: str, checkpoint: int, task: int, state: bytes) -> None:
        """Store a state, replacing a state of equal name; CheckpointStoreError unless certainly
        stored."""

    def load(self, topology: str, checkpoint: int, task: int) -> bytes:
        """A state as saved; CheckpointStoreError if unavailable."""

    def discard(self, topology: str, checkpoint: int) -> None:
        """Remove a checkpoint, complete or partial, if present; CheckpointStoreError on failure."""
