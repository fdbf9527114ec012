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

import mmap
import struct
from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from heron_core.errors import ProtocolError
from heron_core.wire.frames import Frames

DATA = b"d"
CONTROL = b"c"
QUESTIONS = b"q"
BYTES_MAX = 2**32 - 1
"""Most bytes of a message behind its prefix: the largest number of 32 bits."""
_MAPPED_BYTES = 1024 * 1024
_SPARE_BYTES_MAX = 4 * _MAPPED_BYTES
"""A longer buffer is not kept: memory of a process that receives large messages."""
_spare: deque[mmap.mmap] = deque(maxlen=1)
"""Shared by all readers of a process; `pop` and `append` need no lock."""
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


def _message_buffer(size_bytes: int) -> memoryview:
    """Buffer for a message: a large one takes memory when it is filled, not before."""
    if size_bytes < _MAPPED_BYTES:
        return memoryview(bytearray(size_bytes))
    try:
        spare = _spare.pop()
    except IndexError:
        spare = None
    if spare is None or len(spare) < size_bytes:
        rounded = -(-size_bytes // _MAPPED_BYTES) * _MAPPED_BYTES
        spare = mmap.mmap(-1, rounded, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memoryview(spare)[:size_bytes]


def _keep(buffer: memoryview) -> None:
    """Use the buffer of a large message for the next one, which then takes no new pages."""
    mapped = buffer.obj
    if isinstance(mapped, mmap.mmap) and len(mapped) <= _SPARE_BYTES_MAX:
        _spare.append(mapped)


class MessageReader:
    """Cuts the bytes of one connection into messages.

    Bytes are received into `receive_buffer()`, and `take` is told their number. Messages that are
    complete at once are cut out of `scratch`, which several readers may share; a message whose end
    is still to come gets a buffer of its own size.
    """

    def __init__(self, scratch: memoryview) -> None:
        self._scratch = scratch
        self._start = b""
        """The first bytes of a message, too few for its length."""
        self._long: memoryview | None = None
        """A message whose end is still to come."""
        self._filled = 0
        """Bytes of the message received so far."""
        self.error = ""
        """Why the bytes are not messages; further bytes are then ignored."""

    @property
    def unfinished_bytes(self) -> int:
        """Of a message whose end is still to come."""
        return len(self._start) if self._long is None else self._filled

    def receive_buffer(self) -> memoryview:
        """Where the next bytes are to be received."""
        if self._long is not None:
            return self._long[self._filled :]
        if self._start:
            start = len(self._start)
            self._scratch[:start] = self._start
            return self._scratch[start:]
        return self._scratch

    def take(self, count: int) -> list[Frames]:
        """The messages that `count` further bytes complete, up to an `error` if there is one."""
        if self.error:
            return []
        if self._long is not None:
            return self._take_long(self._long, count)
        return self._take_scratch(len(self._start) + count)

    def _take_long(self, message: memoryview, count: int) -> list[Frames]:
        self._filled += count
        if self._filled < len(message):
            return []
        self._long = None
        messages: list[Frames] = []
        self._cut_out(message, 0, len(message), messages)
        _keep(message)
        return messages

    def _take_scratch(self, end: int) -> list[Frames]:
        messages: list[Frames] = []
        data, at = self._scratch, 0
        while end - at >= _PREFIX_BYTES:
            number, size_bytes = _PREFIX.unpack_from(data, at)
            behind = at + _PREFIX_BYTES + size_bytes
            if not 0 < number * _LENGTH_BYTES <= size_bytes:
                self.error = f"a message of {number} frames in {size_bytes} bytes"
                return messages
            if behind > end:
                self._begin_long(data[at:end], behind - at)
                return messages
            if not self._cut_out(data, at, behind, messages):
                return messages
            at = behind
        self._start = bytes(data[at:end])
        return messages

    def _begin_long(self, part: memoryview, size_bytes: int) -> None:
        self._start, self._filled = b"", len(part)
        self._long = _message_buffer(size_bytes)
        self._long[: self._filled] = part

    def _cut_out(self, data: memoryview, start: int, end: int, messages: list[Frames]) -> bool:
        """Append the message between two places of some bytes; False if its lengths do not add
        up."""
        (number, _) = _PREFIX.unpack_from(data, start)
        lengths = _LENGTHS[number] if number <= _USUAL_FRAMES else struct.Struct(f"<{number}I")
        at = start + _PREFIX_BYTES
        sizes = lengths.unpack_from(data, at)
        at += lengths.size
        frames = []
        for size in sizes:
            behind = at + size
            frames.append(bytes(data[at:behind]))
            at = behind
        if at != end:
            self.error = f"a message of {end - start} bytes, its frames end at {at - start}"
            return False
        messages.append(frames)
        return True
