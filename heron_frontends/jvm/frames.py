"""Wire format between an instance and its JVM: four bytes of length, then a list in msgpack.

To the JVM:

    ["describe", [[RECIPE, is spout], …]]       describe the components of a topology
    ["open", SETTINGS]                          first: the component, its context, its configuration
    [1, FIRST KEY, [[COMPONENT, TASK, STREAM, [VALUES, …]], …]]   tuples, with keys that count on
    [2, BUDGET, [ACKED], [FAILED]]              a spout's turn: outcomes by keys, then nextTuple
    [3, [TASK, …]]                              tasks of an emit, on request
    ["save", CHECKPOINT]                        request for the state of a stateful bolt
    ["activate"], ["deactivate"], ["close"]

To the instance:

    ["described", [{"streams", "config", "state"} or {"problem"}, …]], ["ready"]
    ["problem", LINE, TRACE]                    failed start, before the end
    [1, LAST KEY PROCESSED, EVENTS]             events of user code
    [2, is idle, is finished, EVENTS]           the end of a spout's turn
    ["saved", BYTES, None or the reason], ["metrics", COUNTED, VALUES], ["error", WHERE, TRACE]
    ["closed"]

An event is a key (acked), a negative key (failed), or an emit: [wants tasks, STREAM, anchors' keys
or a spout's key or None, VALUES, direct task or None].

A whole number beyond 64 bits is the extension 1, big-endian two's complement. Pure.
"""

import struct
from collections.abc import Sequence
from typing import Any

import msgpack

TUPLES, NEXT, TASKS = 1, 2, 3
BATCH, TURN = 1, 2
BIG_INTEGER = 1
_LENGTH = struct.Struct(">I")
FRAME_BYTES_MAX = 1 << 30

Frame = list[Any]


def _crossing(value: Any) -> Any:
    """Encode a big integer; TypeError for a value without a Java equivalent."""
    if isinstance(value, int):
        size = value.bit_length() // 8 + 1
        return msgpack.ExtType(BIG_INTEGER, value.to_bytes(size, "big", signed=True))
    kind = type(value)
    raise TypeError(f"a value of class {kind.__module__}.{kind.__qualname__}")


def _arrived(code: int, data: bytes) -> Any:
    if code != BIG_INTEGER:
        raise ValueError(f"extension {code} is not known")
    return int.from_bytes(data, "big", signed=True)


_PACKER = msgpack.Packer(default=_crossing)


def packed(value: Any) -> bytes:
    """A value in msgpack; TypeError, ValueError or OverflowError for an unsupported value."""
    data: bytes = _PACKER.pack(value)
    return data


def framed(*parts: bytes) -> bytes:
    """A frame of packed parts, in order."""
    body = b"".join(parts)
    return _LENGTH.pack(len(body)) + body


def command(*words: Any) -> bytes:
    """A frame of one list."""
    return framed(packed(words))


def array_head(count: int) -> bytes:
    """The beginning of a list of so many parts."""
    return bytes((0x90 | count,)) if count < 16 else b"\xdd" + _LENGTH.pack(count)


def run_head(component: str, task: int, stream: str) -> bytes:
    """Head of a run of tuples of one source, up to its rows."""
    return array_head(4) + packed(component) + packed(task) + packed(stream)


def tuples_frame(first_key: int, runs: Sequence[tuple[bytes, list[bytes]]]) -> bytes:
    """The frame of runs: the head of each, and its packed rows."""
    parts = [array_head(3), packed(TUPLES), packed(first_key), array_head(len(runs))]
    for head, rows in runs:
        parts += (head, array_head(len(rows)), *rows)
    return framed(*parts)


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Frames completed by `data`; ValueError for an invalid length."""
        self._data += data
        frames: list[Frame] = []
        start = 0
        while len(self._data) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data, start)
            if length > FRAME_BYTES_MAX:
                raise ValueError(f"a frame of {length} bytes")
            end = start + _LENGTH.size + length
            if len(self._data) < end:
                break
            body = bytes(memoryview(self._data)[start + _LENGTH.size : end])
            frames.append(msgpack.unpackb(body, strict_map_key=False, ext_hook=_arrived))
            start = end
        del self._data[:start]
        return frames
