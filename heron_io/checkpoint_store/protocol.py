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
    """What a restore is to make of it."""


class StateDamaged(CheckpointStoreError):
    """A file of a state is there, and is not what was saved."""

    trouble = RestoreTrouble.DAMAGED


class StateNotSigned(StateDamaged):
    """A state is whole, and nobody with the key of its topology wrote it."""


class StateGone(CheckpointStoreError):
    """The store is there, and a file of a state is not in it."""

    trouble = RestoreTrouble.GONE


class CheckpointStore(Protocol):
    """Several processes and threads use one store at a time, each with an object of its own."""

    def save(self, topology: str, checkpoint: int, task: int, state: bytes) -> None:
        """Keep a state, also if one of the same name is there; CheckpointStoreError if it is not
        there for certain."""

    def load(self, topology: str, checkpoint: int, task: int) -> bytes:
        """A state as it was saved; CheckpointStoreError if it cannot be had."""

    def discard(self, topology: str, checkpoint: int) -> None:
        """Remove a checkpoint, whole or begun, if it is there; CheckpointStoreError if it cannot
        be."""
