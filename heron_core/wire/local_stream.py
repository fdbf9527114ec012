"""Messages on a stream of bytes: the Unix sockets of a stream manager and of an instance.

    hello      "hpy", u8 version of this form, then the name of the connection (13 bytes):
               channel c ("d" data, "c" control, "q" questions), task u32, incarnation u64
    message    u32 number of frames, u32 bytes of all that follows, u32 length of each frame,
               then all frames

An instance sends the hello to its stream manager first, a client of states ("q", the task, a random
number) to the instance. Then both ends send messages. All numbers are little endian. A message
whose end is missing has no effect: an instance or a stream manager still has the message, and sends
all of it again by the next connection.
"""

import struct
from collections.abc import Collection, Sequence
from typing import NamedTuple

from heron_core.errors import ProtocolError
from heron_core.native import begun_frame, keep_memory, whole_frame
from heron_core.wire.frames import Frames

DATA = b"d"
CONTROL = b"c"
QUESTIONS = b"q"
BYTES_MAX = 2**32 - 1
"""Most bytes of a message behind its prefix: the largest number of 32 bits."""
_LARGE_BYTES = 256 * 1024
"""A longer message is one of many megabytes that come and go: of columns, probably."""
_FIRST_BYTES = 16 * 1024
"""Size of a read where a long message is expected: what comes with its head is copied."""
_VIEWS_MAX = 64
"""Frames that are received by one call: the kernel takes 1024."""
_MAGIC = b"hpy\x01"
_HELLO = struct.Struct("<4scIQ")
HELLO_BYTES = _HELLO.size
_PREFIX = struct.Struct("<II")
_PREFIX_BYTES = _PREFIX.size
_LENGTH_BYTES = 4
_USUAL_FRAMES = 8
_HEADS = [struct.Struct(f"<II{number}I") for number in range(_USUAL_FRAMES + 1)]
_LENGTHS = [struct.Struct(f"<{number}I") for number in range(_USUAL_FRAMES + 1)]


class ConnectionName(NamedTuple):
    """Names one connection of one process: a successor is never mistaken for its predecessor."""

    channel: bytes
    task: int
    incarnation: int

    @property
    def hello(self) -> bytes:
        """The first bytes on the connection."""
        return _HELLO.pack(_MAGIC, self.channel, self.task, self.incarnation)


def parse_hello(data: bytes, channels: Collection[bytes] = (DATA, CONTROL)) -> ConnectionName:
    """The name in a hello; ProtocolError if the bytes are no hello for one of the channels."""
    magic, channel, task, incarnation = _HELLO.unpack(data)
    if magic != _MAGIC or channel not in channels:
        raise ProtocolError(f"unknown connection: starts with {data!r}")
    return ConnectionName(channel, task, incarnation)


def encoded(frames: Frames) -> list[bytes]:
    """The parts of a message in order; ProtocolError if the message is too long."""
    number, lengths = len(frames), list(map(len, frames))
    size_bytes = sum(lengths) + _LENGTH_BYTES * number
    if not 0 < size_bytes <= BYTES_MAX:
        raise ProtocolError(f"a message of {size_bytes} bytes, of at most {BYTES_MAX}")
    head = _HEADS[number] if number <= _USUAL_FRAMES else struct.Struct(f"<II{number}I")
    return [head.pack(number, size_bytes, *lengths), *frames]


class _LongMessage:
    """A message whose end is still to come: each frame is received to where it stays."""

    def __init__(self, sizes: Sequence[int]) -> None:
        if sum(sizes) >= _LARGE_BYTES:
            keep_memory()
        self._frames: list[object] = []
        self._views: list[memoryview] = []
        """Of the bytes still to come, in order."""
        for size in sizes:
            frame, view = begun_frame(size)
            self._frames.append(frame)
            self._views.append(view)
        self.received = 0
        """Bytes of the frames so far."""

    def buffers(self) -> list[memoryview]:
        """Where the next bytes are to be received."""
        return self._views[:_VIEWS_MAX]

    def take(self, count: int) -> bool:
        """`count` further bytes are there. Whether the message is whole."""
        self.received += count
        views, at = self._views, 0
        while at < len(views) and count >= len(views[at]):
            count -= len(views[at])
            at += 1
        del views[:at]
        if count:
            views[0] = views[0][count:]
        return not views

    def put(self, data: memoryview) -> bool:
        """The next bytes, received elsewhere. Whether the message is whole."""
        at = 0
        for view in self._views:
            size = min(len(view), len(data) - at)
            view[:size] = data[at : at + size]
            at += size
            if at == len(data):
                break
        return self.take(at)

    def frames(self) -> Frames:
        """All frames of a message that is whole."""
        return [whole_frame(each) for each in self._frames]


class MessageReader:
    """Cuts the bytes of one connection into messages.

    Bytes are received into `receive_buffers()`, and `take` is told their number. Messages that are
    complete at once are cut out of `scratch`, which several readers may share; the frames of a
    message whose end is still to come are received to where they stay, without another copy. The
    message behind a large one is probably large as well: little of it goes into `scratch`.
    """

    def __init__(self, scratch: memoryview) -> None:
        self._scratch = scratch
        self._first = scratch[:_FIRST_BYTES]
        self._start = b""
        """The first bytes of a message, too few for the lengths of its frames."""
        self._long: _LongMessage | None = None
        """A message whose end is still to come."""
        self._head_bytes = 0
        """Its bytes before the frames."""
        self._expects_long = False
        """Whether the last message was large: smaller ones come several to a read."""
        self.error = ""
        """Why the bytes are not messages; further bytes are then ignored."""

    @property
    def unfinished_bytes(self) -> int:
        """Of a message whose end is still to come."""
        if self._long is None:
            return len(self._start)
        return self._head_bytes + self._long.received

    def receive_buffers(self) -> list[memoryview]:
        """Where the next bytes are to be received, in order."""
        if self._long is not None:
            return self._long.buffers()
        if self._start:
            start = len(self._start)
            self._scratch[:start] = self._start
            return [self._scratch[start:]]
        return [self._first if self._expects_long else self._scratch]

    def take(self, count: int) -> list[Frames]:
        """The messages that `count` further bytes complete, up to an `error` if there is one."""
        if self.error:
            return []
        if (long := self._long) is not None:
            if not long.take(count):
                return []
            self._long = None
            return [long.frames()]
        self._expects_long = False
        return self._take_scratch(len(self._start) + count)

    def _take_scratch(self, end: int) -> list[Frames]:
        messages: list[Frames] = []
        data, at = self._scratch, 0
        while end - at >= _PREFIX_BYTES:
            number, size_bytes = _PREFIX.unpack_from(data, at)
            behind = at + _PREFIX_BYTES + size_bytes
            head_bytes = _PREFIX_BYTES + number * _LENGTH_BYTES
            if not 0 < number * _LENGTH_BYTES <= size_bytes or head_bytes > len(data):
                self.error = f"a message of {number} frames in {size_bytes} bytes"
                return messages
            if at + head_bytes > end:
                break
            sizes = _lengths(number).unpack_from(data, at + _PREFIX_BYTES)
            if (ends := head_bytes + sum(sizes)) != behind - at:
                self.error = f"a message of {behind - at} bytes, its frames end at {ends}"
                return messages
            at += head_bytes
            if behind > end:
                self._begin_long(sizes, data[at:end])
                return messages
            messages.append(_cut_out(data, at, sizes))
            at = behind
        self._start = bytes(data[at:end])
        return messages

    def _begin_long(self, sizes: Sequence[int], part: memoryview) -> None:
        self._start, self._expects_long = b"", sum(sizes) >= _LARGE_BYTES
        self._head_bytes = _PREFIX_BYTES + len(sizes) * _LENGTH_BYTES
        self._long = _LongMessage(sizes)
        self._long.put(part)


def _lengths(number: int) -> struct.Struct:
    return _LENGTHS[number] if number <= _USUAL_FRAMES else struct.Struct(f"<{number}I")


def _cut_out(data: memoryview, at: int, sizes: Sequence[int]) -> Frames:
    """The frames from a place of some bytes on."""
    frames = []
    for size in sizes:
        frames.append(bytes(data[at : at + size]))
        at += size
    return frames
