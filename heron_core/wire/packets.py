"""Packets: messages about roots rather than tuples, and messages between stream managers.

    INIT    [header, pairs]    roots that begin: (root, xor of all first edges); source = spout task
            (a spout whose tuples have one delivery each sets BEGINS on its DATA instead)
    ACK     [header, pairs]    (root, xor of edges); destination = spout task that owns the roots, 0
            for several owners: each root names its own
    FAIL    [header, roots]    destination = spout task that owns the roots
    ACKED, FAILED, EXPIRED  [header, roots]    to the spout task: outcome of the roots
    CONSUMED [header]          count in `consumed`; `items`: microseconds spent on the messages
    CONTROL [header, message]  a message of heron_core.wire.messages
    BARRIER [header, number, [aligned]]   follows all tuples of its source before a checkpoint;
            source = a task, 0 for all sources of the task `destination`; number: u64;
            aligned: u32, tasks whose input the barrier never overtakes
    WATERMARK [header, time] lower bound of the later events of its source, a task;
            i64, in milliseconds since 1970; the highest number: the source has finished

pairs, roots: u64; the header's `items` is their number.
"""

from array import array
from collections.abc import Sequence
from typing import Any

from heron_core.errors import ProtocolError
from heron_core.wire import message_codec, messages
from heron_core.wire.frames import (
    NUMBER_BYTES,
    PAIR_BYTES,
    Flag,
    FrameKind,
    Frames,
    Header,
    header,
    with_consumed,
)

PACKET_FRAMES = 2
"""Frames of a packet: the header, and its subject."""


def encode_pairs(
    kind: FrameKind, epoch: int, source: int, destination: int, pairs: Sequence[int]
) -> Frames:
    """An INIT or ACK message of root, value, root, value, …"""
    head = header(kind, epoch, source, destination, len(pairs) // 2)
    return [head, array("Q", pairs).tobytes()]


def encode_numbers(
    kind: FrameKind, epoch: int, source: int, destination: int, frame: bytes, item_bytes: int
) -> Frames:
    """Encode numbers given as bytes, `item_bytes` for each item."""
    return [header(kind, epoch, source, destination, len(frame) // item_bytes), frame]


def decode_pairs(head: Header, frames: Frames) -> "array[int]":
    """root, value, … of an INIT or ACK message; ProtocolError if the message is not whole."""
    return _numbers(head, frames, PAIR_BYTES)


def encode_roots(
    kind: FrameKind, epoch: int, source: int, destination: int, roots: Sequence[int]
) -> Frames:
    """A FAIL, ACKED, FAILED or EXPIRED message."""
    return [header(kind, epoch, source, destination, len(roots)), array("Q", roots).tobytes()]


def decode_roots(head: Header, frames: Frames) -> "array[int]":
    """The roots of a FAIL, ACKED, FAILED or EXPIRED message; ProtocolError if the message is not
    whole."""
    return _numbers(head, frames, NUMBER_BYTES)


def check_pairs(head: Header, frames: Frames) -> None:
    """ProtocolError if an INIT or ACK message is not whole."""
    _check(head, frames, PAIR_BYTES)


def check_roots(head: Header, frames: Frames) -> None:
    """ProtocolError if a FAIL, ACKED, FAILED or EXPIRED message is not whole."""
    _check(head, frames, NUMBER_BYTES)


def _check(head: Header, frames: Frames, item_bytes: int) -> None:
    if len(frames) != PACKET_FRAMES or len(frames[1]) != head.items * item_bytes:
        raise ProtocolError(f"a packet that is not of {head.items} times {item_bytes} bytes")


def _numbers(head: Header, frames: Frames, item_bytes: int) -> "array[int]":
    _check(head, frames, item_bytes)
    numbers = array("Q")
    numbers.frombytes(frames[1])
    return numbers


TASK_BYTES = 4
"""Bytes of a task in a frame of tasks."""
BUSY_SECS_MAX = 3600.0
"""Longest time in a report: its microseconds fit into `items`."""


def encode_consumed(
    epoch: int, task: int, messages: int, busy_secs: float, retains: bool = False
) -> Frames:
    """An instance's report of processed messages, of the time spent in user code, and whether it
    has tuples that are neither acked nor failed."""
    busy_us = int(min(busy_secs, BUSY_SECS_MAX) * 1e6)
    flags = int(Flag.RETAINS) if retains else 0
    head = header(FrameKind.CONSUMED, epoch, task, 0, busy_us, flags=flags)
    return [with_consumed(head, messages)]


def retains_in(head: Header) -> bool:
    """Of a CONSUMED message: whether the instance has tuples neither acked nor failed."""
    return bool(head.flags & Flag.RETAINS)


def busy_secs_of(head: Header) -> float:
    """Of a CONSUMED message."""
    return head.items / 1e6


def encode_barrier(
    epoch: int, source: int, destination: int, checkpoint: int, aligned: Sequence[int] = ()
) -> Frames:
    """A barrier of a checkpoint, which never overtakes input of the tasks `aligned`. The number of
    items is 0, because a barrier is not a tuple.
    """
    number = checkpoint.to_bytes(NUMBER_BYTES, "little")
    head = header(FrameKind.BARRIER, epoch, source, destination, 0)
    return [head, number, array("I", aligned).tobytes()] if aligned else [head, number]


def passed_on(frames: Frames, epoch: int, source: int, destination: int) -> Frames:
    """A barrier forwarded from one task to another."""
    return [header(FrameKind.BARRIER, epoch, source, destination, 0), *frames[1:]]


def check_barrier(head: Header, frames: Frames) -> None:
    """ProtocolError if a BARRIER message is not whole."""
    has_number = len(frames) >= PACKET_FRAMES and len(frames[1]) == NUMBER_BYTES
    tasks = frames[PACKET_FRAMES:]
    if not has_number or head.items or len(tasks) > 1 or any(len(x) % TASK_BYTES for x in tasks):
        raise ProtocolError("a barrier without the number of its checkpoint")


def aligned_tasks(frames: Frames) -> "array[int]":
    """Tasks whose input a whole BARRIER message never overtakes."""
    tasks = array("I")
    tasks.frombytes(b"".join(frames[PACKET_FRAMES:]))
    return tasks


def checkpoint_of(frames: Frames) -> int:
    """The checkpoint's number in a whole BARRIER message."""
    return int.from_bytes(frames[1], "little")


def encode_watermark(epoch: int, source: int, destination: int, watermark_ms: int) -> Frames:
    """A watermark of a task. The number of items is 0, because a watermark is not a tuple."""
    time_ms = watermark_ms.to_bytes(NUMBER_BYTES, "little", signed=True)
    return [header(FrameKind.WATERMARK, epoch, source, destination, 0), time_ms]


def check_watermark(head: Header, frames: Frames) -> None:
    """ProtocolError if a WATERMARK message is not whole."""
    if len(frames) != PACKET_FRAMES or len(frames[1]) != NUMBER_BYTES or head.items:
        raise ProtocolError("a watermark without its time")


def watermark_of(frames: Frames) -> int:
    """The time in a whole WATERMARK message."""
    return int.from_bytes(frames[1], "little", signed=True)


def encode_control(epoch: int, source: int, destination: int, message: messages.Message) -> Frames:
    """A control message in a frame of the data plane, in order with the data."""
    return [header(FrameKind.CONTROL, epoch, source, destination, 1), message_codec.encode(message)]


def decode_control(frames: Frames) -> Any:
    """The control message (one of `messages.Message`); ProtocolError if absent."""
    if len(frames) != PACKET_FRAMES:
        raise ProtocolError(f"a control message of {len(frames)} frames")
    return message_codec.decode(frames[1])
