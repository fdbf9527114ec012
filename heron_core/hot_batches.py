"""The hot path of receiving: the small plain batches at the front of the input, for one cursor.

One source in two forms, as hot_path.py explains. hot_batches.h has the C function in place of the
Python function under `if not cython.compiled`.
"""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

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
        message_bytes,
        number_at,
        read_heading,
    )
    from heron_core.hot_rows import RowCursor

    def sizes_add_up(sizes: bytes, items: int) -> bool:
        """Whether the sizes of the runs, all positive, add up to `items` tuples."""
        numbers = array("I", sizes)
        return 0 not in numbers and sum(numbers) == items


def is_plain_batch(head: Heading, frames: Frames, epoch: cython.Py_ssize_t) -> cython.bint:
    """Whether a message is a plain batch: one stream, at least the epoch `epoch`, at most one root
    per tuple. False for any message of another kind, and for a malformed batch.
    """
    if not read_heading(head, frames) or head.kind != DATA or head.epoch < epoch:
        return False
    if head.flags & RUNS:
        return are_runs(head, frames) and sizes_add_up(frames[3], head.items)
    return not head.flags & (MIXED | MULTI_ROOT) and is_batch(head, frames)


def join(
    cursor: RowCursor, messages: list[Frames], epoch: cython.Py_ssize_t,
    sources: Mapping[int, tuple[str, Sequence[str]]], ended: Collection[int],
    left_out: str, values_maker: Callable[[str, str], Any] | None,
    message_tuples_max: cython.Py_ssize_t, tuples_max: cython.Py_ssize_t,
    bytes_max: cython.Py_ssize_t,
) -> list[tuple[str, str, int]]:  # fmt: skip
    """Add the plain batches at the front to a cursor, until the cursor has `tuples_max` tuples or
    the messages have `bytes_max` bytes; for each the source component, stream, number of tuples.

    A batch of more than `message_tuples_max` tuples stays, and one of a source that is not in
    `sources` (task -> component, streams), is in `ended`, or is of the component `left_out`.
    """
    head = Heading()
    joined: list[tuple[str, str, int]] = []
    for frames in messages:
        if not is_plain_batch(head, frames, epoch) or head.items > message_tuples_max:
            break
        source, number = head.source, number_at(frames, 4, 2)
        known = None if source in ended else sources.get(source)
        if known is None or known[0] == left_out or number >= len(known[1]):
            break
        component, stream = known[0], known[1][number]
        parts = len(frames)
        if not cursor.then(
            component, stream, source, frames[1], head.items,
            frames[2] if parts > 2 else None, frames[3] if parts > 3 else None,
            None if values_maker is None else values_maker(component, stream),
        ):  # fmt: skip
            break
        joined.append((component, stream, head.items))
        bytes_max -= message_bytes(frames)
        if bytes_max <= 0 or cursor.items >= tuples_max:
            break
    return joined
