"""Several messages of the data plane in one: what leaves a process in one go travels as one.

    MERGED  [header, data]    items = number of messages, at least two
    data    u8 frames of each message, u32 length of each frame, then all frames

A wake-up of the receiver costs far more than a message, so whoever has several messages for the
same process sends them merged. They keep their order, and do not nest. What is cut or does not add
up is refused as a whole.
"""

from collections.abc import Sequence

from heron_core.errors import ProtocolError
from heron_core.native import merged_data, split_merged
from heron_core.wire.frames import FrameKind, Frames, header, parse_header

MERGED_BYTES_MAX = 256 * 1024
"""As many as a full batch has: a larger message travels alone."""
MERGED_MESSAGES_MAX = 4096
"""Each of them costs its receiver some microseconds, and `consumed` counts up to 65,535."""
_MERGED = int(FrameKind.MERGED)
_MERGED_BYTE = bytes([_MERGED])
_MERGED_FRAMES = 2
_KIND_AT = 2


def merge(messages: Sequence[Frames]) -> Frames:
    """One message of some, at least one; a single one stays as it is."""
    if len(messages) == 1:
        return messages[0]
    return [header(_MERGED, 0, 0, 0, len(messages)), merged_data(messages)]


def split(frames: Frames) -> Sequence[Frames]:
    """The messages in a received one: itself, unless it is MERGED; ProtocolError if it is cut."""
    if len(frames) != _MERGED_FRAMES or frames[0][_KIND_AT : _KIND_AT + 1] != _MERGED_BYTE:
        return (frames,)
    messages = parse_header(frames[0]).items
    parts = split_merged(frames[1], messages)
    if parts is None:
        raise ProtocolError(
            f"a merged message of {len(frames[1])} bytes does not hold {messages} messages"
        )
    return parts
