"""Frames of the data plane: one multipart message is one batch or one packet of roots.

The first frame is always the header:

    header (24 bytes, little endian)
    +-------+---------+------+-------+------------+------+-------+--------+-------------+-------+
    | magic | version | kind | flags | stream | consumed | epoch | source | destination | items |
    |  u8   |   u8    |  u8  |  u8   |  u16   |   u16    |  u32  |  u32   |     u32     |  u32  |
    +-------+---------+------+-------+------------+------+-------+--------+-------------+-------+

The frames after the header depend on the kind:

    DATA, FANOUT             a batch of tuples: heron_core.wire.batch
    INIT, ACK, FAIL,         packets of roots: heron_core.wire.packets
    ACKED, FAILED, EXPIRED
    CONSUMED                 nothing
    BARRIER                  the number of a checkpoint: heron_core.wire.packets
    WATERMARK                an event time: heron_core.wire.packets
    CONTROL                  a message of heron_core.wire.message_codec
    MERGED                   several messages: heron_core.wire.merged

`consumed` is set on any message from an instance to its own stream manager: the number of messages
processed since the instance's previous report. Numbers in arrays have the native byte order, which
is little endian on every supported machine.
"""

import struct
from array import array
from collections.abc import Callable, Iterable
from enum import IntEnum, IntFlag
from functools import partial
from typing import NamedTuple

from heron_core.errors import ProtocolError
from heron_core.version import PROTOCOL

MAGIC = 0x48
VERSION = PROTOCOL
HEADER = struct.Struct("<BBBBHHIIII")
_OURS = bytes([MAGIC, VERSION])
_AFTER_VERSION = struct.Struct("<xxBBHHIIII")
_CONSUMED_AT = 6
_DESTINATION = struct.Struct("<I")
_EPOCH_AT = 8
_SOURCE_AT = 12
_DESTINATION_AT = 16
_ITEMS_AT = 20
_KIND_AT = 2
NUMBER_BYTES = 8
"""Bytes of a root or an edge."""
PAIR_BYTES = 2 * NUMBER_BYTES
"""Bytes of a pair of a root and an edge."""

Frames = list[bytes]


class FrameKind(IntEnum):
    """The kind of a message."""

    DATA = 1
    FANOUT = 2
    INIT = 3
    ACK = 4
    FAIL = 5
    ACKED = 6
    FAILED = 7
    EXPIRED = 8
    CONSUMED = 9
    CONTROL = 10
    MERGED = 11
    BARRIER = 12
    WATERMARK = 13


class Flag(IntFlag):
    """Flags for the optional frames after the body, and for the meaning of the ids."""

    NONE = 0
    TRACKED = 1
    MIXED = 2
    MULTI_ROOT = 4
    BEGINS = 8
    """The ids also create their trees, as INIT does."""
    RUNS = 16
    """Neighbours of one root share an edge. Never with FANOUT, nor with a flag but TRACKED, or
    COLUMNS."""
    RETAINS = 64
    """Of CONSUMED: the instance has processed tuples that it has neither acked nor failed."""
    COLUMNS = 32
    """The body is an Arrow record batch. Never with FANOUT, MIXED or BEGINS; TRACKED implies RUNS,
    and MULTI_ROOT counts runs instead of tuples."""


class Header(NamedTuple):
    """The 24 bytes in front of each message, decoded."""

    kind: int
    flags: int
    stream: int
    consumed: int
    epoch: int
    source: int
    destination: int
    items: int


_header: Callable[[Iterable[int]], Header] = partial(tuple.__new__, Header)
"""A header of its numbers. NamedTuple's own way is a call of Python, for each message."""


def header(
    kind: int,
    epoch: int,
    source: int,
    destination: int,
    count: int,
    stream: int = 0,
    flags: int = 0,
) -> bytes:
    """The header as bytes; `consumed` is 0."""
    return HEADER.pack(MAGIC, VERSION, kind, flags, stream, 0, epoch, source, destination, count)


def with_consumed(head: bytes, messages: int) -> bytes:
    """The same header with a report of processed messages."""
    return head[:_CONSUMED_AT] + messages.to_bytes(2, "little") + head[_CONSUMED_AT + 2 :]


def parse_header(data: bytes) -> Header:
    """Parse a received header; ProtocolError for another length, magic or version."""
    if len(data) != HEADER.size:
        raise ProtocolError(f"a header of {len(data)} bytes instead of {HEADER.size}")
    if not data.startswith(_OURS):
        magic, version = data[:2]
        if magic != MAGIC:
            raise ProtocolError(f"unknown protocol: frame starts with {magic:#x}")
        raise ProtocolError(f"protocol version mismatch: frame has {version}, expected {VERSION}")
    return _header(_AFTER_VERSION.unpack(data))


def header_of(frames: Frames) -> Header:
    """The header of a received message; ProtocolError without frames or for an invalid header."""
    if not frames:
        raise ProtocolError("a message without frames")
    return parse_header(frames[0])


def destination_of(frames: Frames) -> int:
    """The destination task in the header of a checked message; reads no other field."""
    destination: int = _DESTINATION.unpack_from(frames[0], _DESTINATION_AT)[0]
    return destination


def kind_of(frames: Frames) -> int:
    """The kind in the header of a checked message; reads no other field."""
    return frames[0][_KIND_AT]


def source_of(frames: Frames) -> int:
    """The source task in the header of a checked message; reads no other field."""
    return int.from_bytes(frames[0][_SOURCE_AT:_DESTINATION_AT], "little")


def epoch_of(frames: Frames) -> int:
    """The epoch in the header of a checked message; reads no other field."""
    return int.from_bytes(frames[0][_EPOCH_AT:_SOURCE_AT], "little")


def items_of(frames: Frames) -> int:
    """The number of items in the header of a checked message; reads no other field."""
    return int.from_bytes(frames[0][_ITEMS_AT:], "little")


def u64_array(data: bytes) -> "array[int]":
    """A frame as unsigned 64-bit numbers; ProtocolError if its length is not a multiple of 8."""
    if len(data) % NUMBER_BYTES:
        raise ProtocolError(f"a frame of {len(data)} bytes is not a list of 64-bit numbers")
    numbers = array("Q")
    numbers.frombytes(data)
    return numbers


def size_of(frames: Frames) -> int:
    """Size of a message in bytes, as limits and water marks count it."""
    return sum(map(len, frames))


# --- root ids: 20 bits of the spout's task id, 44 bits that its spout counts ------------------

ROOT_COUNTER_BITS = 44
EVERY_OWNER = 0
"""The destination of acks whose roots have several owners. Tasks begin at 1."""
TASK_ID_MAX = (1 << 20) - 1


def root_owner(root: int) -> int:
    """The spout task of a root; the stream manager of this task holds the tree."""
    return root >> ROOT_COUNTER_BITS
