"""Several messages of the data plane in one: messages with a common route leave together.

    MERGED  [header, data]    items = number of messages, at least two
    data    u8 frames of each message, u32 length of each frame, then all frames

A wake-up of the receiver costs far more than a message, so a sender of several messages to the same
process merges these. The messages keep their order, and do not nest. A message that is cut or whose
lengths do not add up is refused as a whole.
"""

from collections.abc import Sequence

from heron_core.errors import ProtocolError
from heron_core.native import merged_data, split_merged
from heron_core.wire.frames import FrameKind, Frames, header, parse_header

MERGED_BYTES_MAX = 256 * 1024
"""As many bytes as a full batch has: a larger message travels alone."""
MERGED_MESSAGES_MAX = 4096
"""Most messages in one: each costs its receiver microseconds, and `consumed` counts to 65,535."""
_MERGED = int(FrameKind.MERGED)
_MERGED_BYTE = bytes([_MERGED])
_MERGED_FRAMES = 2
_KIND_AT = 2


def merge(messages: Sequence[Frames]) -> Frames:
    """One message of some, at least one; a single message is returned unchanged."""
    if len(messages) == 1:
        return messages[0]
    return [header(_MERGED, 0, 0, 0, len(messages)), merged_data(messages)]


def split(frames: Frames) -> Sequence[Frames]:
    """The messages in a received message: the message itself unless MERGED; ProtocolError if
    truncated.
    """
    if len(frames) != _MERGED_FRAMES or frames[0][_KIND_AT : _KIND_AT + 1] != _MERGED_BYTE:
        return (frames,)
    messages = parse_header(frames[0]).items
    parts = split_merged(frames[1], messages)
    if parts is None:
        raise ProtocolError(
            f"a merged message of {len(frames[1])} bytes does not hold {messages} messages"
        )
    return parts
