"""Several messages of the data plane in one: what leaves a process in one go travels as one.

    MERGED  [header, data]    items = number of messages, at least two
    data    u8 frames of each message, u32 length of each frame, then all frames

A wake-up of the receiver costs far more than a message, so whoever has several messages for the
same process sends them merged. They keep their order, and do not nest. What is cut or does not add
up is refused as a whole.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from heron_core.errors import ProtocolError
from heron_core.wire.frames import FrameKind, Frames, header, parse_header, size_of

MERGED_BYTES_MAX = 256 * 1024
"""As many as a full batch has: a larger message travels alone."""
MERGED_MESSAGES_MAX = 4096
"""Each of them costs its receiver some microseconds, and `consumed` counts up to 65,535."""
_MERGED = int(FrameKind.MERGED)
_MERGED_BYTE = bytes([_MERGED])
_MERGED_FRAMES = 2
_KIND_AT = 2
_LENGTH_BYTES = 4


def merge(messages: Sequence[Frames]) -> Frames:
    """One message of some, at least one; a single one stays as it is."""
    if len(messages) == 1:
        return messages[0]
    frames = list(chain.from_iterable(messages))
    counts = bytes(map(len, messages))
    lengths = array("I", map(len, frames)).tobytes()
    return [header(_MERGED, 0, 0, 0, len(messages)), b"".join((counts, lengths, *frames))]


def split(frames: Frames) -> Sequence[Frames]:
    """The messages in a received one: itself, unless it is MERGED; ProtocolError if it is cut."""
    if len(frames) != _MERGED_FRAMES or frames[0][_KIND_AT : _KIND_AT + 1] != _MERGED_BYTE:
        return (frames,)
    messages = parse_header(frames[0]).items
    data = frames[1]
    counts = data[:messages]
    lengths_end = messages + _LENGTH_BYTES * sum(counts)
    if messages == 0 or 0 in counts or len(data) < lengths_end:
        raise ProtocolError(f"a merged message of {len(data)} bytes for {messages} messages")
    lengths = iter(memoryview(data)[messages:lengths_end].cast("I"))
    parts, start = [], lengths_end
    for count in counts:
        part = []
        for length in islice(lengths, count):
            part.append(data[start : start + length])
            start += length
        parts.append(part)
    if start != len(data):
        raise ProtocolError(f"a merged message of {len(data)} bytes, its parts end at {start}")
    return parts


def mergeable(messages: Iterable[Frames], bytes_max: int = MERGED_BYTES_MAX) -> int:
    """How many of some messages one may carry, from the front on: the first in any case."""
    left_bytes, number = min(bytes_max, MERGED_BYTES_MAX), 0
    for number, frames in enumerate(islice(messages, MERGED_MESSAGES_MAX)):
        left_bytes -= size_of(frames)
        if number and left_bytes < 0:
            return number
    return number + 1
