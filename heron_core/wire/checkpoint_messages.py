"""Messages about states of checkpoints, and about their backup in the memory of other containers.

An instance stores and fetches a backup, at another container's stream manager. Each question has
one answer, with the same `question`, a number of the instance's.
"""

from msgspec import Struct

from heron_core.wire.field_types import Whole


class CheckpointStored(Struct, frozen=True, array_like=True, tag=True):
    """An instance's state of a checkpoint is in the checkpoint store."""

    task: Whole
    checkpoint: Whole
    size_bytes: Whole
    """Bytes of the state; 0 without state."""
    aligned_ms: Whole = 0
    """Time from the first barrier of the task's sources to the last one; filled in by the stream
    manager."""
    input_messages: Whole = 0
    """Input messages that the barrier has overtaken, and that are saved with the state."""
    input_bytes: Whole = 0
    copies: Whole = 0
    """Number of other containers with the state in memory (heron_core.state.backup)."""
    shortfall: str = ""
    """Reasons for missing copies; empty if all exist, and without a backup."""
    is_in_store: bool = True
    """Whether the state is in the checkpoint store."""


class StoreBackup(Struct, frozen=True, array_like=True, tag=True):
    """Keep a part of the state of a task in a checkpoint. Parts come in order; the first, at offset
    0, replaces an earlier state."""

    question: Whole
    checkpoint: Whole
    task: Whole
    offset: Whole
    total: Whole
    """Bytes of the whole state."""
    part: bytes


class BackupStored(Struct, frozen=True, array_like=True, tag=True):
    """Answer to StoreBackup."""

    question: Whole
    reason: str = ""
    """Why the part is refused; empty if accepted."""


class FetchBackup(Struct, frozen=True, array_like=True, tag=True):
    """Request a part of a state, from `offset` on."""

    question: Whole
    checkpoint: Whole
    task: Whole
    offset: Whole
    bytes_max: Whole


class BackupFetched(Struct, frozen=True, array_like=True, tag=True):
    """Answer to FetchBackup."""

    question: Whole
    total: int
    """Bytes of the whole state; -1 without the whole state."""
    part: bytes = b""
