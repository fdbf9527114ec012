"""Records of an instance's flight recorder, and the ring with the newest records.

A record is one step of an instance visible to user code, in the order of the steps:

    INPUT      whole messages on their way to the driver, with the creation time of their tuples. A
               message that was cut, or undone, is recorded again where its processing continues.
    OUTPUT     messages sent by the instance
    BEGAN      a new object of the user's class, with the saved state of a number (0: none)
    SAVED      the state was taken under the number
    COMPLETED  all instances have stored the state of a number, and post_save was called
    TICK, FINISH        process_tick and on_finish
    SKIPPED    tuples of the message under way were left out
    FAILED     user code raised
    CALLS, RESULTS, ACTIVE   of a spout: next_tuple was called up to so many times; messages with
               the outcome of roots; activate or deactivate

Each record has the clock and the position: how many tuples (or calls of next_tuple) and watermarks
had been processed. The position of a record tells how far the input before it was run, so a single
tuple costs no record.

The ring is a buffer of a fixed size; the oldest records are overwritten. The buffer may be a mapped
file, which survives the process: a record is written before the head moves behind it, and the tail
moves before a record is overwritten.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Protocol

import msgspec

from heron_core.errors import HeronError
from heron_core.native import merged_data, split_merged
from heron_core.wire.frames import Frames

RING_MAGIC = b"HPYRING1"
_HEAD = struct.Struct("<8sQQQdQ")
HEADER_BYTES = 64
"""Magic, size of the ring, tail, head, time.time() minus the clock, and the head when an incident
was last written."""
_TAIL_AT, _HEAD_AT, _WRITTEN_AT = 16, 24, 40
_OFFSET = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_RECORD = struct.Struct("<BdQQ")
_MESSAGES = struct.Struct("<II")


class DamagedRecording(HeronError):
    """A recording is cut or damaged."""


class RecordKind(IntEnum):
    """The kinds of records."""

    INPUT = 1
    OUTPUT = 2
    BEGAN = 3
    SAVED = 4
    COMPLETED = 5
    TICK = 6
    FINISH = 7
    SKIPPED = 8
    FAILED = 9
    CALLS = 10
    RESULTS = 11
    ACTIVE = 12


BASES = (RecordKind.BEGAN, RecordKind.SAVED)
"""Records with which a replay can begin, given the state of their number."""
OF_MESSAGES = (RecordKind.INPUT, RecordKind.OUTPUT, RecordKind.RESULTS)


class Failure(msgspec.Struct, frozen=True):
    """An exception of user code."""

    where: str
    """The call, for people."""
    error: str
    """Type and text, in one line."""
    values: str = ""
    """The tuple's values as text, cut; empty for a call without a tuple."""


class FlightRecord(msgspec.Struct, frozen=True):
    """One record."""

    kind: RecordKind
    clock: float
    """Seconds, on the instance's monotonic clock."""
    executed: int
    """Tuples processed before, or calls of a spout's next_tuple."""
    watermarks: int
    """Watermarks with news before."""
    first: int = 0
    """INPUT: the first tuple of the first message to be run. BEGAN, SAVED, COMPLETED: the number of
    the state. CALLS: the most calls. SKIPPED: how many tuples. ACTIVE: 1 or 0."""
    messages: Sequence[Frames] = ()
    failure: Failure | None = None
    sources: Sequence[tuple[int, int]] = ()
    """BEGAN, SAVED: task and watermark of each source that had told of one."""


def encode_record(record: FlightRecord) -> bytes:
    """A record as bytes."""
    start = _RECORD.pack(record.kind, record.clock, record.executed, record.watermarks)
    if record.kind in OF_MESSAGES:
        return encode_messages(start, record.first, record.messages)
    return start + msgspec.msgpack.encode((record.first, record.failure, record.sources))


def encode_messages(start: bytes, first: int, messages: Sequence[Frames]) -> bytes:
    """A record of messages, behind a `start` of `start_of`."""
    return b"".join((start, _MESSAGES.pack(first, len(messages)), merged_data(messages)))


start_of = _RECORD.pack
"""The start of a record: kind, clock, executed, watermarks."""

_Rest = tuple[int, Failure | None, list[tuple[int, int]]]
_rest_of = msgspec.msgpack.Decoder(_Rest).decode


def decode_record(data: bytes) -> FlightRecord:
    """The inverse of `encode_record`; DamagedRecording for other bytes."""
    try:
        number, clock, executed, watermarks = _RECORD.unpack_from(data)
        kind = RecordKind(number)
        if kind not in OF_MESSAGES:
            first, failure, known = _rest_of(data[_RECORD.size :])
            return FlightRecord(kind, clock, executed, watermarks, first, (), failure, known)
        first, count = _MESSAGES.unpack_from(data, _RECORD.size)
        messages = split_merged(data[_RECORD.size + _MESSAGES.size :], count)
    except (struct.error, ValueError, msgspec.MsgspecError) as error:
        raise DamagedRecording(f"a record is damaged: {error}") from None
    if messages is None:
        raise DamagedRecording(f"a record does not hold its {count} messages")
    return FlightRecord(kind, clock, executed, watermarks, first, messages)


def encode_records(records: Iterable[bytes]) -> bytes:
    """Encoded records, one after the other."""
    return b"".join(part for each in records for part in (_LENGTH.pack(len(each)), each))


def decode_records(data: bytes) -> Iterator[FlightRecord]:
    """The records of `encode_records`; DamagedRecording for cut records."""
    at = 0
    while at < len(data):
        end = at + _LENGTH.size
        length = _LENGTH.unpack_from(data, at)[0] if end <= len(data) else len(data)
        if end + length > len(data):
            raise DamagedRecording(f"the records are cut after {at:,} of {len(data):,} bytes")
        yield decode_record(data[end : end + length])
        at = end + length


class Buffer(Protocol):
    """A bytearray, or a mapped file."""

    def __len__(self) -> int:
        """Bytes."""

    def __getitem__(self, part: Any, /) -> Any:
        """Some bytes."""

    def __setitem__(self, part: Any, data: Any, /) -> None:
        """Replace some bytes."""


class RecordRing:
    """The newest records, in a buffer of a header and a ring."""

    def __init__(
        self, buffer: Buffer, tail: int, head: int, ahead_secs: float, written: int = 0
    ) -> None:
        self._buffer = buffer
        self._size = len(buffer) - HEADER_BYTES
        self.tail = tail
        """Offset of the oldest record; an offset counts all bytes ever written."""
        self.head = head
        self.ahead_secs = ahead_secs
        """time.time() minus the clock, in seconds."""
        self._written = written

    @classmethod
    def begun(cls, buffer: Buffer, ahead_secs: float) -> "RecordRing":
        """An empty ring in a new buffer."""
        header = _HEAD.pack(RING_MAGIC, len(buffer) - HEADER_BYTES, 0, 0, ahead_secs, 0)
        buffer[: len(header)] = header
        return cls(buffer, 0, 0, ahead_secs)

    @classmethod
    def found(cls, buffer: Buffer) -> "RecordRing":
        """The ring of an earlier process; DamagedRecording for other content."""
        if len(buffer) < HEADER_BYTES:
            raise DamagedRecording(f"{len(buffer)} bytes are not a recording")
        magic, size, tail, head, ahead_secs, written = _HEAD.unpack(bytes(buffer[: _HEAD.size]))
        if magic != RING_MAGIC:
            raise DamagedRecording("not a recording, or one of another version of heronpy")
        if size != len(buffer) - HEADER_BYTES or not tail <= head <= tail + size:
            raise DamagedRecording("the header of the recording is damaged")
        return cls(buffer, tail, head, ahead_secs, written)

    def write(self, data: bytes) -> bool:
        """Append an encoded record; False for a record larger than the ring: the ring is
        empty then."""
        length = _LENGTH.size + len(data)
        if length > self._size:
            self._move_tail(self.head)
            return False
        while self.head + length - self.tail > self._size:
            self._move_tail(self.tail + _LENGTH.size + self._length_at(self.tail))
        self._put(_LENGTH.pack(len(data)) + data)
        self.head += length
        self._buffer[_HEAD_AT : _HEAD_AT + 8] = _OFFSET.pack(self.head)
        return True

    def _move_tail(self, tail: int) -> None:
        self.tail = tail
        self._buffer[_TAIL_AT : _TAIL_AT + 8] = _OFFSET.pack(tail)

    def _length_at(self, offset: int) -> int:
        return int(_LENGTH.unpack(self._bytes(offset, _LENGTH.size))[0])

    def _put(self, data: bytes) -> None:
        at = self.head % self._size
        fits = min(len(data), self._size - at)
        start = HEADER_BYTES + at
        self._buffer[start : start + fits] = data[:fits]
        if fits < len(data):
            self._buffer[HEADER_BYTES : HEADER_BYTES + len(data) - fits] = data[fits:]

    def _bytes(self, offset: int, length: int) -> bytes:
        at = offset % self._size
        fits = min(length, self._size - at)
        first = bytes(self._buffer[HEADER_BYTES + at : HEADER_BYTES + at + fits])
        if fits == length:
            return first
        return first + bytes(self._buffer[HEADER_BYTES : HEADER_BYTES + length - fits])

    def content(self, since: int | None = None) -> bytes:
        """Records from the offset `since` on, by default all, encoded as by `encode_records`."""
        first = self.tail if since is None else max(self.tail, since)
        return self._bytes(first, self.head - first)

    def note_written(self) -> None:
        """All records are in an incident's file."""
        self._written = self.head
        self._buffer[_WRITTEN_AT : _WRITTEN_AT + 8] = _OFFSET.pack(self.head)

    @property
    def has_news(self) -> bool:
        """Whether there are records since the newest incident."""
        return self.head > self._written
