"""Blocks: tuples from one task to one partition of a later level, as the payload of a row.

A block is a sequence of messages of the data plane (heron_core.wire.frames):

    u32 number of frames, then for each frame: u32 length, bytes
"""

import struct
from collections.abc import Iterable, Iterator, Mapping

from heron_core.wire.frames import Frames, destination_of

NUMBER = struct.Struct("<I")
GREETING = b"\x05"
"""Greeting of a host to the worker whose request comes next."""
BLOCK_BYTES = 1024 * 1024
"""Size that closes a block: rows stay few, and far below Arrow's limit."""

LevelPartition = tuple[int, int]
"""(level, partition of that level)"""
Block = tuple[int, int, bytes]
"""level, partition, messages"""


class OutgoingBlocks:
    """Collects the messages of one task as blocks by destination."""

    def __init__(self, partition_of: Mapping[int, LevelPartition]) -> None:
        self._partition_of = partition_of
        self._parts: dict[LevelPartition, list[bytes]] = {}
        self._sizes: dict[LevelPartition, int] = {}
        self._closed: list[Block] = []

    def add_all(self, messages: Iterable[Frames]) -> None:
        """Take DATA messages."""
        for frames in messages:
            self.add(frames)

    def add(self, frames: Frames) -> None:
        """Take one DATA message."""
        target = self._partition_of[destination_of(frames)]
        parts = self._parts.setdefault(target, [])
        parts.append(NUMBER.pack(len(frames)))
        size = self._sizes.get(target, 0) + NUMBER.size
        for frame in frames:
            parts += (NUMBER.pack(len(frame)), frame)
            size += NUMBER.size + len(frame)
        self._sizes[target] = size
        if size >= BLOCK_BYTES:
            self._close(target)

    def take(self) -> list[Block]:
        """All blocks since the last call, in order of closing."""
        for target in [target for target, parts in self._parts.items() if parts]:
            self._close(target)
        closed, self._closed = self._closed, []
        return closed

    def _close(self, target: LevelPartition) -> None:
        self._closed.append((*target, b"".join(self._parts[target])))
        self._parts[target] = []
        self._sizes[target] = 0


def messages(block: bytes) -> Iterator[Frames]:
    """The messages of a block."""
    at, end, unpack = 0, len(block), NUMBER.unpack_from
    while at < end:
        (count,) = unpack(block, at)
        at += NUMBER.size
        frames: Frames = []
        for _ in range(count):
            (size,) = unpack(block, at)
            at += NUMBER.size
            frames.append(block[at : at + size])
            at += size
        yield frames
