"""The first frame of each message between two stream managers: the message's number on the link.

    link (56 bytes, little endian)
    +-------+---------+-------+-----+-----------+-------+------+------------+------------------+
    | magic | version | flags |  -  | container | probe | echo | generation | acked generation |
    |  u8   |   u8    |  u8   | u8  |    u32    |  u32  | u32  |    u32     |       u32        |
    +-------+---------+-------+-----+-----------+-------+------+------------+------------------+
    | sender | number | acked sender | acked number |
    |  u64   |  u64   |     u64      |     u64      |
    +--------+--------+--------------+--------------+

The frames behind it are the message, as in `heron_core.wire.frames`; a link frame alone (number 0)
acknowledges or probes. `container` and `sender` (an incarnation) identify the sender.
`generation` is the epoch in which the sender began to number from 1, so of two stream managers of
one container the later one has the higher. What is *acked* is about the opposite direction: all
messages of that sender and generation up to that number have arrived. `probe` asks for an answer,
whose `echo` is the same number. The use of these fields is described in stream_manager/link.py.
"""

import struct
from typing import NamedTuple

from heron_core.errors import ProtocolError
from heron_core.wire.frames import MAGIC, VERSION, Frames

_LINK = struct.Struct("<BBBxIIIIIQQQQ")
_OURS = bytes([MAGIC, VERSION])
_CONTAINER = struct.Struct("<4xI")


# What a link frame says besides its numbers: integers and not flags, for each message. Python's `&`
# of two flags makes another flag, which takes 1 µs.
NONE = 0
GAP = 1
"""A message has arrived, but the message before it has not."""
REFUSED = 2
"""Messages of the acked sender and generation are dropped: a later sender has taken its place."""


class LinkHeader(NamedTuple):
    """A link frame, decoded."""

    flags: int
    container: int
    probe: int
    echo: int
    generation: int
    acked_generation: int
    sender: int
    number: int
    acked_sender: int
    acked: int


def encode_link(head: LinkHeader) -> bytes:
    """The link frame's bytes."""
    return _LINK.pack(MAGIC, VERSION, *head)


def parse_link(frames: Frames) -> LinkHeader:
    """The link frame in front of a received message; ProtocolError if there is no frame of ours."""
    data = frames[0] if frames else b""
    if len(data) != _LINK.size or not data.startswith(_OURS):
        raise ProtocolError(
            f"a message of another stream manager without a link frame: {data!r:.100}"
        )
    head = LinkHeader(*_LINK.unpack(data)[2:])
    if bool(head.number) is not (len(frames) > 1):
        raise ProtocolError(
            f"a link frame with number {head.number} before {len(frames) - 1} frames"
        )
    return head


def container_of_link(frames: Frames) -> int:
    """Container in the link frame of a message; 0 without a link frame."""
    if not frames or len(frames[0]) < _CONTAINER.size:
        return 0
    container: int = _CONTAINER.unpack_from(frames[0])[0]
    return container
