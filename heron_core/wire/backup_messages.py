"""Messages about states held in memory: from an instance to another container's stream manager, and
back. Each question has one answer, with the same `question`, a number of the client's.
"""

from msgspec import Struct

from heron_core.wire.field_types import Whole


class HoldState(Struct, frozen=True, array_like=True, tag=True):
    """Hold a part of the state of a task in a checkpoint. Parts come in order; the first, at offset
    0, replaces whatever is held of the state."""

    question: Whole
    checkpoint: Whole
    task: Whole
    offset: Whole
    total: Whole
    """Bytes of the whole state."""
    part: bytes


class StateHeld(Struct, frozen=True, array_like=True, tag=True):
    """Answer to HoldState."""

    question: Whole
    reason: str = ""
    """Why the part is not held; empty if it is."""


class FetchState(Struct, frozen=True, array_like=True, tag=True):
    """Request a part of a held state, from `offset` on."""

    question: Whole
    checkpoint: Whole
    task: Whole
    offset: Whole
    bytes_max: Whole


class StateFetched(Struct, frozen=True, array_like=True, tag=True):
    """Answer to FetchState."""

    question: Whole
    total: int
    """Bytes of the whole state; -1 if the state is not held as a whole."""
    part: bytes = b""
