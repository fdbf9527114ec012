"""The hot path of receiving: whether a message is a plain batch, by its header and lengths.

One source in two forms, as hot_path.py explains. hot_batches.h has the C function in place of the
Python function under `if not cython.compiled`.
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
        """Whether the sizes of the runs, all positive, add up to `items` tuples."""
        numbers = array("I", sizes)
        return 0 not in numbers and sum(numbers) == items


def plain_batch(frames: Frames, epoch: int) -> tuple[int, int, int] | None:
    """Source, stream and number of tuples of a plain batch: one stream, at least the epoch `epoch`,
    at most one root per tuple. None for any message of another kind, and for a malformed batch.
    """
    head = Heading()
    if not read_heading(head, frames) or head.kind != DATA or head.epoch < epoch:
        return None
    if head.flags & RUNS:
        if not are_runs(head, frames) or not sizes_add_up(frames[3], head.items):
            return None
    elif head.flags & (MIXED | MULTI_ROOT) or not is_batch(head, frames):
        return None
    return head.source, number_at(frames, 4, 2), head.items
