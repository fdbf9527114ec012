"""Several messages of the data plane in one: messages with a common route leave together.

    MERGED  [header, data]    items = number of messages, at least two
    data    u8 frames of each message, u32 length of each frame, then all frames
    MERGED  [header, counts, frames of all messages]: from an instance to its stream manager, above
            MERGED_BYTES_MAX. The local socket has the lengths, and large frames are not copied
    counts  u8 frames of each message

A wake-up of the receiver costs far more than a message, so a sender of several messages to the same
process merges these. The messages keep their order, and do not nest. A message that is cut or whose
lengths do not add up is refused as a whole.
"""

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise

from heron_core.errors import ProtocolError
from heron_core.native import merged_data, split_merged
from heron_core.wire.frames import FrameKind, Frames, header, parse_header, size_of

MERGED_BYTES_MAX = 256 * 1024
"""As many bytes as a full batch has: a larger message travels alone."""
MERGED_MESSAGES_MAX = 4096
"""Most messages in one: each costs its receiver microseconds, and `consumed` counts to 65,535."""
APART_FRAMES_MAX = 512
"""Of a message with its frames apart. The kernel takes 1024 parts at once, and so many frames of
256 KiB and more are small: copied for less than they cost one by one."""
_MERGED = int(FrameKind.MERGED)
_MERGED_BYTE = bytes([_MERGED])
_MERGED_FRAMES = 2
_KIND_AT = 2


def merge(messages: Sequence[Frames]) -> Frames:
    """One message of some, at least one; a single message is returned unchanged."""
    if len(messages) == 1:
        return messages[0]
    return [header(_MERGED, 0, 0, 0, len(messages)), merged_data(messages)]


def merge_for_socket(messages: Sequence[Frames]) -> Frames:
    """As `merge`, for a local socket: the frames of large messages stay apart."""
    if len(messages) == 1 or sum(map(size_of, messages)) <= MERGED_BYTES_MAX:
        return merge(messages)
    counts = list(map(len, messages))
    if sum(counts) > APART_FRAMES_MAX:
        return merge(messages)
    return [header(_MERGED, 0, 0, 0, len(messages)), bytes(counts), *chain(*messages)]


def split(frames: Frames) -> Sequence[Frames]:
    """The messages in a received message: the message itself unless MERGED; ProtocolError if
    truncated.
    """
    if len(frames) < _MERGED_FRAMES or frames[0][_KIND_AT : _KIND_AT + 1] != _MERGED_BYTE:
        return (frames,)
    messages = parse_header(frames[0]).items
    if len(frames) > _MERGED_FRAMES:
        return _split_apart(frames, messages)
    parts = split_merged(frames[1], messages)
    if parts is None:
        raise ProtocolError(
            f"a merged message of {len(frames[1])} bytes does not hold {messages} messages"
        )
    return parts


def _split_apart(frames: Frames, messages: int) -> list[Frames]:
    counts = frames[1]
    if len(counts) != messages or 0 in counts or sum(counts) != len(frames) - _MERGED_FRAMES:
        raise ProtocolError(
            f"a merged message of {len(frames)} frames does not hold {messages} messages"
        )
    ends = accumulate(counts, initial=_MERGED_FRAMES)
    return [frames[start:end] for start, end in pairwise(ends)]
