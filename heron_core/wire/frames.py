"""The data plane's frames: one multipart message is one batch or one packet of acks.

    header (24 bytes, little endian)
    +-------+---------+------+-------+------------+------+-------+--------+-------------+-------+
    | magic | version | kind | flags | stream | consumed | epoch | source | destination | items |
    |  u8   |   u8    |  u8  |  u8   |  u16   |   u16    |  u32  |  u32   |     u32     |  u32  |
    +-------+---------+------+-------+------------+------+-------+--------+-------------+-------+

    DATA    [header, body] + [ids if TRACKED] + [streams if MIXED] + [extras if MULTI_ROOT]
            or, if RUNS: [header, body, ids, sizes]
    FANOUT  the same with [targets] after the header: destination is a container, `targets` the
            u32 task ids in it; ids are one block of (root, edge) pairs for each target in turn
    INIT    [header, pairs]    roots that begin: (root, xor of all first edges); source = spout task
            (a spout whose tuples have one delivery each sets BEGINS on its DATA instead)
    ACK     [header, pairs]    (root, xor of edges); destination = spout task that owns the roots
    FAIL    [header, roots]    destination = spout task that owns the roots
    ACKED, FAILED, EXPIRED  [header, roots]    to the spout task: what became of its roots
    CONSUMED [header]          nothing but its `consumed`

`consumed`: messages that the sending instance has processed since it last said so, on any message
to its own stream manager.
    CONTROL [header, message]  a message of heron_core.wire.messages

body: msgpack array of value arrays. pairs, ids, roots: native u64 as `array('Q')`. A tuple without
a root has the pair (0, 0). streams: u16 index of the stream for each tuple, header's stream is then
0. extras: u64 pairs (position in the batch, root) for the further roots of tuples with
several; the tuple's one edge counts for each of them.
sizes: u32 for each pair of the ids, how many tuples in a row share it: their edge is acked when all
of them are. Without RUNS each tuple has a pair of its own.
The stream index counts the source component's output streams in order of declaration.
"""

import struct
from array import array
from enum import IntEnum, IntFlag
from typing import NamedTuple

from heron_core.errors import ProtocolError

MAGIC = 0x48
VERSION = 1
HEADER = struct.Struct("<BBBBHHIIII")
_CONSUMED_AT = 6
TASK_BYTES = 4
SIZE_BYTES = 4
"""Of a run."""
PAIR_BYTES = 16
"""Of a root and an edge."""

Frames = list[bytes]


class Kind(IntEnum):
    """What a frame is for."""

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


class Flag(IntFlag):
    """Which optional frames follow the body, and what they mean."""

    NONE = 0
    TRACKED = 1
    MIXED = 2
    MULTI_ROOT = 4
    BEGINS = 8
    """The ids are also the beginnings of the trees, as INIT would tell them."""
    RUNS = 16
    """Neighbours of one root share an edge. Never with FANOUT, nor with a flag but TRACKED."""


# Plain numbers: `&` with a Flag takes a microsecond, and each message is checked.
_TRACKED, _MULTI_ROOT = int(Flag.TRACKED), int(Flag.MULTI_ROOT)
_TRACKED_RUNS = int(Flag.TRACKED | Flag.RUNS)


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


def header(
    kind: int,
    epoch: int,
    source: int,
    destination: int,
    count: int,
    stream: int = 0,
    flags: int = 0,
) -> bytes:
    """The header's bytes."""
    return HEADER.pack(MAGIC, VERSION, kind, flags, stream, 0, epoch, source, destination, count)


def with_consumed(head: bytes, messages: int) -> bytes:
    """The same header with a report of processed messages."""
    return head[:_CONSUMED_AT] + messages.to_bytes(2, "little") + head[_CONSUMED_AT + 2 :]


def parse_header(data: bytes) -> Header:
    """The header of a received message; ProtocolError if it is not one of ours."""
    if len(data) != HEADER.size:
        raise ProtocolError(f"a header of {len(data)} bytes instead of {HEADER.size}")
    magic, version, *rest = HEADER.unpack(data)
    if magic != MAGIC:
        raise ProtocolError(f"a frame that starts with {magic:#x} is not of this protocol")
    if version != VERSION:
        raise ProtocolError(f"a frame of protocol version {version}, this is version {VERSION}")
    return Header(*rest)


def words(data: bytes) -> "array[int]":
    """u64 words of a frame; ProtocolError if the frame is cut."""
    if len(data) % 8:
        raise ProtocolError(f"a frame of {len(data)} bytes is no list of 64-bit words")
    found = array("Q")
    found.frombytes(data)
    return found


def pairs(data: bytes) -> "array[int]":
    """u64 words of a frame that holds two for each root; ProtocolError if one is missing."""
    if len(data) % PAIR_BYTES:
        raise ProtocolError(f"a frame of {len(data)} bytes is no list of pairs of 64-bit words")
    return words(data)


def tasks(data: bytes) -> "array[int]":
    """The targets of a fan-out, one or more u32; ProtocolError if they are not that."""
    if not data or len(data) % TASK_BYTES:
        raise ProtocolError(f"a frame of {len(data)} bytes is no list of task ids")
    found = array("I")
    found.frombytes(data)
    return found


def check_batch(head: Header, frames: Frames) -> None:
    """ProtocolError if a DATA message lacks a part, or its ids do not fit its number of tuples."""
    flags = head.flags
    if flags >= len(_PARTS) or len(frames) != _PARTS[flags]:
        raise ProtocolError(f"a batch of {len(frames)} frames with flags {flags:#x}")
    if flags == _TRACKED_RUNS:
        _check_runs(head, frames)
    elif flags & _TRACKED and len(frames[2]) != head.items * PAIR_BYTES:
        raise ProtocolError(f"ids of {len(frames[2])} bytes for {head.items} tuples")
    if flags & _MULTI_ROOT and len(frames[-1]) % PAIR_BYTES:
        raise ProtocolError(f"extras of {len(frames[-1])} bytes are no list of pairs")


def _check_runs(head: Header, frames: Frames) -> None:
    runs, rest = divmod(len(frames[3]), SIZE_BYTES)
    if rest or head.kind != Kind.DATA or len(frames[2]) != runs * PAIR_BYTES or runs > head.items:
        raise ProtocolError(
            f"{len(frames[3])} bytes of runs, ids of {len(frames[2])} bytes for {head.items} tuples"
        )


def run_sizes(head: Header, data: bytes) -> "array[int]":
    """How many tuples each run of a checked batch has; ProtocolError if not all tuples in all."""
    found = array("I")
    found.frombytes(data)
    if sum(found) != head.items or 0 in found:
        raise ProtocolError(f"runs that are not of {head.items} tuples")
    return found


def _parts(flags: int) -> int:
    """How many frames a DATA message with these flags has; 0 for flags that make no sense."""
    if flags & Flag.RUNS:
        return 4 if flags == _TRACKED_RUNS else 0
    tracked = bool(flags & Flag.TRACKED)
    if flags & (Flag.MULTI_ROOT | Flag.BEGINS) and not tracked:
        return 0
    return 2 + tracked + bool(flags & Flag.MIXED) + bool(flags & Flag.MULTI_ROOT)


_PARTS = [_parts(flags) for flags in range(32)]


def roots_of(head: Header, frames: Frames) -> set[int]:
    """All roots that the tuples of a checked DATA message belong to."""
    if not head.flags & Flag.TRACKED:
        return set()
    found = set(words(frames[2])[::2])
    if head.flags & Flag.MULTI_ROOT:
        found.update(words(frames[-1])[1::2])
    return found - {0}


def size_of(frames: Frames) -> int:
    """Bytes of a message, as the limits and water marks count them."""
    return sum(map(len, frames))


# --- root ids: 20 bits of the spout's task id, 44 bits that its spout counts ------------------

ROOT_COUNTER_BITS = 44
ROOT_COUNTER_MASK = (1 << ROOT_COUNTER_BITS) - 1
TASK_ID_MAX = (1 << 20) - 1


def root_owner(root: int) -> int:
    """The spout task that owns a root: its stream manager holds the tree (design: acks)."""
    return root >> ROOT_COUNTER_BITS
