"""The hot path of what is received: whether a message is a plain batch, by its header and lengths.

As hot_path.py, one source for two ways to run it: see there. hot_batches.h has the C function that
takes the place of the Python one under `if not cython.compiled`.
"""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython

    from heron_core.wire.frames import Frames
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

if not cython.compiled:
    from heron_core.hot_messages import (
        DATA,
        MIXED,
        MULTI_ROOT,
        RUNS,
        Heading,
        are_runs,
        is_batch,
        number_at,
        read_heading,
    )

    def sizes_add_up(sizes: bytes, items: int) -> bool:
        """Whether runs of these sizes, none of them empty, are of so many tuples in all."""
        numbers = array("I", sizes)
        return 0 not in numbers and sum(numbers) == items


def plain_batch(frames: Frames, epoch: int) -> tuple[int, int, int] | None:
    """Source, stream and number of tuples of a batch of one stream, of this epoch or a later one,
    whose tuples have one root at most; None for any other message, and for a malformed one."""
    head = Heading()
    if not read_heading(head, frames) or head.kind != DATA or head.epoch < epoch:
        return None
    if head.flags & RUNS:
        if not are_runs(head, frames) or not sizes_add_up(frames[3], head.items):
            return None
    elif head.flags & (MIXED | MULTI_ROOT) or not is_batch(head, frames):
        return None
    return head.source, number_at(frames, 4, 2), head.items
