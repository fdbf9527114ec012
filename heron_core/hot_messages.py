"""The hot path of a stream manager: forwarding of each message.

One source in two forms: plain Python, compiled by Cython as hot_path.py explains; hot_messages.pxd
beside the source gives the classes C fields, and hot_messages.h has the C functions that replace
the Python functions under `if not cython.compiled`.

Plain messages are batches and acks that only need forwarding: by far the most frequent. The stream
manager's data_plane handles the rest, and defines the meaning of all messages.
"""

from __future__ import annotations

import math
import mmap
import struct
from array import array
from collections import deque
from itertools import chain, islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from heron_core.version import PROTOCOL
from heron_core.wire.frames import (
    EVERY_OWNER,
    HEADER,
    MAGIC,
    ROOT_COUNTER_BITS,
    Flag,
    FrameKind,
    header,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import cython

    from heron_core.wire.frames import Frames
else:
    # The module `cython` is the compiler's; its import, if installed, takes 13 ms.
    cython = SimpleNamespace(compiled=False)

COMPILED: bool = cython.compiled
HEADER_BYTES: int = HEADER.size
PREFIX: int = MAGIC | PROTOCOL << 8
"""The first two bytes of a header, as a number."""
AFTER_VERSION = struct.Struct("<xxBBHHIIII")
LENGTH_BYTES: int = 4
"""Of a frame's length in a merged message."""
SIZE_BYTES: int = 4
"""Of a run of tuples."""
STREAM_BYTES: int = 2
"""Of a stream index."""
COUNTER_BITS: int = ROOT_COUNTER_BITS
SEVERAL: int = EVERY_OWNER
PAIR_BYTES: int = 16
"""Of a root and an edge."""
UNLIMITED: int = 1 << 62
"""A limit beyond every size."""
MAPPED_BYTES: int = 1024 * 1024
"""In Python a frame from this size on is mapped."""
DATA: int = int(FrameKind.DATA)
ACK: int = int(FrameKind.ACK)
BARRIER: int = int(FrameKind.BARRIER)
TRACKED: int = int(Flag.TRACKED)
MIXED: int = int(Flag.MIXED)
MULTI_ROOT: int = int(Flag.MULTI_ROOT)
BEGINS: int = int(Flag.BEGINS)
RUNS: int = int(Flag.RUNS)
TRACKED_RUNS: int = TRACKED | RUNS
ALL_OF_A_BATCH: int = TRACKED | MIXED | MULTI_ROOT | BEGINS

if not cython.compiled:
    from heron_core.hot_trees import OpenTrees

    def message_bytes(frames: list[bytes]) -> int:
        """Size of a message."""
        return sum(map(len, frames))

    def message_items(frames: list[bytes]) -> int:
        """The number of items in the header of a checked message."""
        return int.from_bytes(frames[0][20:], "little")

    def number_at(frames: list[bytes], at: int, size: int) -> int:
        """A number in the header of a message."""
        return int.from_bytes(frames[0][at : at + size], "little")

    def has_prefix(frames: list[bytes], prefix: int) -> bool:
        """Whether the header of a message is of this protocol."""
        return frames[0][0] | frames[0][1] << 8 == prefix

    def owner_at(data: bytes, at: int) -> int:
        """The spout task of a root in a packet of pairs."""
        return int.from_bytes(data[at : at + 8], "little") >> COUNTER_BITS

    def end_of_run(data: bytes, at: int) -> int:
        """Where the pairs end whose roots have the owner of the one at `at`."""
        owner, end = owner_at(data, at), at + PAIR_BYTES
        while end < len(data) and owner_at(data, end) == owner:
            end += PAIR_BYTES
        return end

    def split_data(data: bytes, messages: int) -> list[Frames] | None:
        """What `split_merged` returns."""
        counts = data[:messages]
        start = messages + LENGTH_BYTES * sum(counts)
        if messages == 0 or 0 in counts or len(data) < start:
            return None
        numbers = array("I")
        numbers.frombytes(data[messages:start])
        lengths = iter(numbers.tolist())
        parts = []
        for count in counts:
            part = []
            for length in islice(lengths, count):
                part.append(data[start : start + length])
                start += length
            parts.append(part)
        return parts if start == len(data) else None

    def joined_data(messages: list[list[bytes]]) -> bytes:
        """What `merged_data` returns."""
        frames = list(chain.from_iterable(messages))
        lengths = array("I", map(len, frames)).tobytes()
        return b"".join([bytes(map(len, messages)), lengths, *frames])

    def keep_freed_memory() -> None:
        """What `keep_memory` does."""

    def blank_frame(size: int) -> tuple[Any, memoryview]:
        """What `begun_frame` returns."""
        if size < MAPPED_BYTES:
            frame: Any = bytearray(size)
        else:
            frame = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return frame, memoryview(frame)

    def next_limit(size: int, worth: float, mark: float) -> int:
        """The next limit: enough for a message, more than the mark, or the present size plus the
        worth.
        """
        whole = math.ceil(min(worth, UNLIMITED))
        beyond = math.floor(min(mark, UNLIMITED)) + 1
        limit = size + 1 if whole <= 0 else whole if whole > size else size + whole
        is_nearer = size < beyond and (beyond < limit or whole <= 0)
        return min(beyond if is_nearer else limit, UNLIMITED)


# --- several messages in one ----------------------------------------------------------------------


def split_merged(data: bytes, messages: int) -> list[Frames] | None:
    """The messages in the data of a merged message (heron_core.wire.merged); None if truncated."""
    return split_data(data, messages)


def merged_data(messages: Sequence[Frames]) -> bytes:
    """The data of a merged message."""
    return joined_data(list(messages))


# --- frames that are received ---------------------------------------------------------------------


def keep_memory() -> None:
    """Let this process keep megabytes that it frees, for its next large messages.

    Compiled and with glibc; otherwise without an effect.
    """
    keep_freed_memory()


def begun_frame(size: int) -> tuple[Any, memoryview]:
    """A frame of `size` bytes that are still to come, and the view to put them there: valid as long
    as the frame. A large frame takes memory when it is filled, not before.
    """
    both: tuple[Any, memoryview] = blank_frame(size)
    return both


def whole_frame(frame: Any) -> bytes:
    """A begun frame, now that its bytes are there."""
    return frame if type(frame) is bytes else bytes(frame)


# --- queues ---------------------------------------------------------------------------------------


class MessageQueue:
    """Messages in order, with their sums: how many bytes and items they have."""

    __slots__ = (
        "bytes_limit",
        "due",
        "fresh",
        "is_tagged",
        "is_watched",
        "items",
        "items_limit",
        "messages",
        "name",
        "size",
        "touched",
    )

    def __init__(self, name: int = 0, is_tagged: bool = False) -> None:
        """`is_tagged`: each message is kept as (destination, message)."""
        self.name = name
        """Key of the queue in the sets below."""
        self.is_tagged = is_tagged
        self.messages: deque[Any] = deque()
        self.size = self.items = 0
        self.fresh = 0
        """Number of messages put since the last reset by the owner."""
        self.bytes_limit = self.items_limit = UNLIMITED
        """From so much on `due` has the name of this queue."""
        self.touched: set[int] | None = None
        """Names of queues with new messages, while watched."""
        self.is_watched = True
        self.due: set[int] | None = None

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, at: int) -> Any:
        return self.messages[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.messages)

    def put(self, destination: int, frames: Frames) -> None:
        """Add a message at the end."""
        put_into(self, destination, frames)

    def limit(
        self, bytes_worth: int, bytes_mark: int, items_worth: float, items_mark: float
    ) -> None:
        """Have `due` named when the next message is worth sending, or the mark is passed."""
        self.bytes_limit = next_limit(self.size, bytes_worth, bytes_mark)
        self.items_limit = next_limit(self.items, items_worth, items_mark)

    def take(self, number: int) -> MessageQueue:
        """The first of them, in a queue of their own."""
        taken = MessageQueue(is_tagged=self.is_tagged)
        if number >= len(self.messages):
            taken.messages, self.messages = self.messages, taken.messages
            taken.size, taken.items = self.size, self.items
            self.size = self.items = 0
            return taken
        for _ in range(number):
            message = self.messages.popleft()
            frames: list[bytes] = message[1] if self.is_tagged else message
            taken.messages.append(message)
            taken.size += message_bytes(frames)
            taken.items += message_items(frames)
        self.size -= taken.size
        self.items -= taken.items
        return taken

    def extend(self, other: MessageQueue) -> None:
        """Add the messages of another queue at the end."""
        self.messages.extend(other.messages)
        self.size += other.size
        self.items += other.items

    def clear(self) -> None:
        """Forget all messages."""
        self.messages.clear()
        self.size = self.items = 0

    def fitting(self, messages_max: int, bytes_max: int, items_max: float = UNLIMITED) -> int:
        """Number of messages, from the front on, within these limits; at least one."""
        if self.size <= bytes_max and self.items <= items_max:
            return min(messages_max, len(self.messages))
        size = items = number = 0
        for message in self.messages:
            frames: list[bytes] = message[1] if self.is_tagged else message
            size += message_bytes(frames)
            items += message_items(frames)
            if number and (number >= messages_max or size > bytes_max or items > items_max):
                return number
            number += 1
        return number

    def validate(self) -> None:
        """AssertionError unless the sums are those of the messages."""
        messages = [each[1] if self.is_tagged else each for each in self.messages]
        assert self.size == sum(map(len, chain.from_iterable(messages)))
        assert self.items == sum([message_items(each) for each in messages])


def put_into(queue: MessageQueue, destination: Any, frames: list[bytes]) -> Any:
    """Add a message at the end of a queue."""
    queue.messages.append((destination, frames) if queue.is_tagged else frames)
    queue.size += message_bytes(frames)
    queue.items += message_items(frames)
    queue.fresh += 1
    if queue.is_watched and queue.touched is not None:
        queue.touched.add(queue.name)
    is_much = queue.size >= queue.bytes_limit or queue.items >= queue.items_limit
    if is_much and queue.due is not None:
        queue.due.add(queue.name)


# --- what is put where it belongs -----------------------------------------------------------------


class Heading:
    """The numbers of a header: one object serves all messages in turn."""

    __slots__ = ("consumed", "destination", "epoch", "flags", "items", "kind", "source")

    def __init__(self) -> None:
        self.kind = self.flags = self.consumed = self.epoch = 0
        self.source = self.destination = self.items = 0


def read_heading(head: Heading, frames: list[bytes]) -> bool:
    """Read the header of a message; False for a foreign header."""
    if not frames or len(frames[0]) != HEADER_BYTES or not has_prefix(frames, PREFIX):
        return False
    if not cython.compiled:
        (
            head.kind, head.flags, _, head.consumed,
            head.epoch, head.source, head.destination, head.items,
        ) = AFTER_VERSION.unpack(frames[0])  # fmt: skip
        return True
    head.kind, head.flags = number_at(frames, 2, 1), number_at(frames, 3, 1)
    head.consumed, head.epoch = number_at(frames, 6, 2), number_at(frames, 8, 4)
    head.source, head.destination = number_at(frames, 12, 4), number_at(frames, 16, 4)
    head.items = number_at(frames, 20, 4)
    return True


class Forwarder:
    """Forwards plain messages, and leaves the rest to the data plane."""

    __slots__ = (
        "fence", "forwarded", "gated", "head", "is_behind_barrier", "sent", "settled", "spouts",
        "strays", "tuples", "ways",
    )  # fmt: skip

    def __init__(self, settled: set[int]) -> None:
        self.head = Heading()
        self.ways: dict[int, MessageQueue] = {}
        """Task -> queue for its batches: the queue of its instance, or of another stream manager.
        """
        self.spouts: Mapping[int, OpenTrees] = {}
        """The spouts here."""
        self.settled = settled
        """The spouts that have something done."""
        self.fence = 0
        """Batches of earlier epochs are not plain."""
        self.gated: set[int] = set()
        """The tasks here whose batches may have to wait for barriers now."""
        self.is_behind_barrier = False
        """Whether a barrier precedes in the same merged message, and so may gate any task."""
        self.sent: dict[Any, float] | None = None
        """Tuples in the batches of one instance by task, where counted."""
        self.forwarded = 0
        """Number of batches queued since the last reset by the owner."""
        self.tuples = 0
        """The tuples in them."""
        self.strays: array[int] = array("Q")
        """Root, value, … of acks whose owner is neither a local spout nor routable, until taken by
        the owner.
        """

    def others(self, parts: Sequence[Frames]) -> list[int]:
        """Positions of the messages that are not plain; without side effects."""
        self.is_behind_barrier = False
        others: list[int] = []
        for at in range(len(parts)):
            if not is_plain(self, parts[at]):
                others.append(at)
                if self.head.kind == BARRIER:
                    self.is_behind_barrier = True
        return others

    def pass_on(self, parts: Sequence[Frames], start: int, end: int) -> None:
        """Forward these plain messages."""
        for at in range(start, end):
            put_plain(self, parts[at])


def is_plain(forwarder: Forwarder, frames: list[bytes]) -> bool:
    """Whether a message is complete and `pass_on` knows its route."""
    head = forwarder.head
    if not read_heading(head, frames) or head.consumed:
        return False
    way: MessageQueue | None = forwarder.ways.get(head.destination)
    if head.kind == ACK:
        is_known = (
            head.destination == SEVERAL
            or head.destination in forwarder.spouts
            or (way is not None and way.is_tagged)
        )
        return is_known and len(frames) == 2 and len(frames[1]) == head.items * PAIR_BYTES
    if head.kind != DATA or way is None or head.epoch < forwarder.fence:
        return False
    if not way.is_tagged and (forwarder.is_behind_barrier or head.destination in forwarder.gated):
        return False
    return are_runs(head, frames) if head.flags & RUNS else is_batch(head, frames)


def put_plain(forwarder: Forwarder, frames: list[bytes]) -> Any:
    """Put a plain message where it belongs."""
    head = forwarder.head
    read_heading(head, frames)
    if head.kind == DATA:
        if head.flags & BEGINS and head.source in forwarder.spouts:
            trees: OpenTrees = forwarder.spouts[head.source]
            trees.newest.begin(frames[2])
        forwarder.forwarded += 1
        forwarder.tuples += head.items
        if forwarder.sent is not None:
            sent = forwarder.sent
            sent[head.destination] = sent.get(head.destination, 0.0) + head.items
        put_into(forwarder.ways[head.destination], head.destination, frames)
    elif head.destination == SEVERAL:
        settle_by_owner(forwarder, frames)
    elif head.destination in forwarder.spouts:
        data = frames[1]
        settle(forwarder, head.destination, data, 0, len(data))
    else:
        put_into(forwarder.ways[head.destination], 0, frames)


def settle(
    forwarder: Forwarder,
    owner: cython.Py_ssize_t,
    data: bytes,
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> Any:
    """Acks of a spout here: the pairs between two places."""
    trees: OpenTrees = forwarder.spouts[owner]
    trees.settle(data, start, end)
    if trees.done:
        forwarder.settled.add(owner)


def settle_by_owner(forwarder: Forwarder, frames: list[bytes]) -> Any:
    """Settle acks of several spouts: acks for another stream manager travel on as one packet."""
    way: MessageQueue | None
    elsewhere: dict[Any, list[Any]] = {}
    data = frames[1]
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    owner: cython.Py_ssize_t
    while start < len(data):
        owner, end = owner_at(data, start), end_of_run(data, start)
        way = forwarder.ways.get(owner)
        if owner in forwarder.spouts:
            settle(forwarder, owner, data, start, end)
        elif way is None or not way.is_tagged:
            forwarder.strays.frombytes(data[start:end])
        elif way.name in elsewhere:
            elsewhere[way.name].append(data[start:end])
        else:
            elsewhere[way.name] = [way, data[start:end]]
        start = end
    head = forwarder.head
    for way, *runs in elsewhere.values():
        pairs = b"".join(runs)
        first = header(ACK, head.epoch, head.source, SEVERAL, len(pairs) // PAIR_BYTES)
        put_into(way, 0, [first, pairs])


def are_runs(head: Heading, frames: list[bytes]) -> bool:
    """Whether a batch with runs has all parts, each of the right length (heron_core.wire.batch)."""
    if head.flags != TRACKED_RUNS or len(frames) != 4:
        return False
    sizes_bytes = len(frames[3])
    runs = sizes_bytes // SIZE_BYTES
    fits = len(frames[2]) == runs * PAIR_BYTES and runs <= head.items
    return fits and sizes_bytes == runs * SIZE_BYTES


def is_batch(head: Heading, frames: list[bytes]) -> bool:
    """The same of a batch without runs or columns."""
    flags = head.flags
    tracked = 1 if flags & TRACKED else 0
    mixed = 1 if flags & MIXED else 0
    several = 1 if flags & MULTI_ROOT else 0
    if flags > ALL_OF_A_BATCH or (flags & (MULTI_ROOT | BEGINS) and not tracked):
        return False
    if len(frames) != 2 + tracked + mixed + several:
        return False
    if tracked and len(frames[2]) != head.items * PAIR_BYTES:
        return False
    if mixed and len(frames[2 + tracked]) != head.items * STREAM_BYTES:
        return False
    return not several or len(frames[len(frames) - 1]) % PAIR_BYTES == 0
