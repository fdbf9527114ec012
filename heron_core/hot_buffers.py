"""The hot path of sending: the buffer of a destination, and the append of a tuple.

One source in two forms, as hot_path.py explains. A compiled buffer is in C: the bytes of its tuples
in sequence, and numbers; hot_buffers.h has the buffer, and packs plain values. A Python buffer has
lists.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from itertools import chain, islice
from operator import sub
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from heron_core.version import PROTOCOL
from heron_core.wire.frames import MAGIC, Flag, FrameKind, header

if TYPE_CHECKING:
    import cython

    from heron_core.wire.frames import Frames
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

NextNumber = Callable[[], int]
Pack = Callable[[Any], bytes]

DATA: int = int(FrameKind.DATA)
BEGINS: int = int(Flag.BEGINS)
TRACKED: int = int(Flag.TRACKED)
RUNS: int = int(Flag.RUNS)
OF_A_BATCH: int = MAGIC | PROTOCOL << 8 | DATA << 16
"""The first three bytes of a batch's header, as a number; the flags follow."""
FLAGS_SHIFT: int = 24
NO_RUN = -1
"""No root: the next tuple of a buffer gets an edge of its own."""


# --- packing --------------------------------------------------------------------------------------

if not cython.compiled:
    from heron_core.hot_c import (
        begin_drawn,
        begin_packed,
        common_owner,
        drawn_number,
        empty_numbers,
        empty_packed,
        end_drawn,
        end_run,
        free_numbers,
        free_packed,
        is_first,
        know_buffers,
        know_edges,
        listed_numbers,
        packed_body,
        packed_header,
        packed_ids,
        packed_numbers,
        packed_repeats,
        packed_sizes,
        packed_streams,
        put_numbers,
        put_packed,
    )

    def packed_plain(values: Any, pack: Pack) -> bytes:
        """The values as msgpack: in C without `pack` for a short list of short plain values."""
        return pack(values)


def plain_packer(pack: Pack) -> Pack:
    """`pack`, a msgpack packer; compiled code makes the bytes of plain values without it."""
    if not cython.compiled:
        return pack

    def pack_plain(values: Any) -> bytes:
        return packed_plain(values, pack)

    pack_plain.packs_plain = True  # type: ignore[attr-defined]
    return pack_plain


# --- what emit writes to --------------------------------------------------------------------------


class TupleBuffer:
    """Packed tuples for one destination, with their ids."""

    __slots__ = (
        "_contents",
        "_is_mixed",
        "blocks",
        "conflicting",
        "destination",
        "emits",
        "extras",
        "ids",
        "parts",
        "repeated",
        "run",
        "starts",
        "stream",
        "streams",
        "targets",
    )  # fmt: skip

    def __init__(self, destination: int = 0, targets: tuple[int, ...] = ()) -> None:
        self.destination = destination
        """A task, or the container of a fan-out."""
        self.targets = targets
        """The tasks of a fan-out; empty for one task."""
        self.conflicting: list[Any] = []
        """Buffers for the same task: each flushes the conflicting buffers before its next tuple."""
        self.extras: list[int] = []
        """position, root, … of tuples with more roots than one"""
        self.stream: int = 0
        """Index of the buffer's stream, if single."""
        self.emits: list[int] | None = None
        """Where flushed tuples are counted as emits of a stream ([n]); None: emit counts itself."""
        if cython.compiled:
            assert is_first(self, cython.address(self._contents))
            begin_packed(cython.address(self._contents), len(targets))
        else:
            self._contents: Any = None
            self._is_mixed = False
            self.parts: list[bytes] = []
            self.blocks: list[list[int]] = [[] for _ in targets or (0,)]
            """For each target: root, edge, root, edge, … of each tuple, or of each run of them."""
            self.ids: list[int] = self.blocks[0]
            self.streams: list[int] = []
            """Of a mixed buffer: the stream index of each tuple."""
            self.run: int = NO_RUN
            """The root whose tuples may go on sharing the last edge."""
            self.starts: list[int] = []
            """In a bolt that tracks: the position of each pair's first tuple."""
            self.repeated: list[int] = []

    def __dealloc__(self) -> None:
        if cython.compiled:
            free_packed(cython.address(self._contents))

    @property
    def is_mixed(self) -> bool:
        """Whether several streams use the buffer."""
        if cython.compiled:
            return bool(self._contents.is_mixed)
        return self._is_mixed

    def mix(self) -> None:
        """Several streams use it from now on."""
        assert not self.tuples, "a buffer that still has tuples cannot change its kind"
        if cython.compiled:
            self._contents.is_mixed = True
        else:
            self._is_mixed = True

    @property
    def tuples(self) -> int:
        """How many it holds."""
        if cython.compiled:
            return int(self._contents.tuples)
        return len(self.parts)

    @property
    def pairs(self) -> int:
        """How many pairs of root and edge it holds for each target."""
        if cython.compiled:
            return int(self._contents.pairs)
        return len(self.ids) // 2

    @property
    def deliveries(self) -> int:
        """Number of deliveries, one for each tuple and target."""
        return self.tuples * (len(self.targets) or 1)

    @property
    def has_runs(self) -> bool:
        """Whether tracked tuples share edges: the buffer has fewer pairs than tuples."""
        return self.pairs < self.tuples

    def add_roots(self, further: list[int]) -> None:
        """Give the next tuple these further roots."""
        if cython.compiled:
            end_run(cython.address(self._contents))
            self._contents.has_extras = True
        else:
            self.run = NO_RUN
        for root in further:
            self.extras += (self.tuples, root)

    def body(self) -> bytes:
        """The tuples as sent: a msgpack array."""
        if cython.compiled:
            return packed_body(cython.address(self._contents))
        return b"\xdd" + len(self.parts).to_bytes(4, "big") + b"".join(self.parts)

    def ids_frame(self) -> bytes:
        """root, edge, … of each pair, as 64-bit numbers, for each target in turn."""
        if cython.compiled:
            return packed_ids(cython.address(self._contents))
        return b"".join([array("Q", block).tobytes() for block in self.blocks])

    def sizes_frame(self) -> bytes:
        """How many tuples share each pair, as 32-bit numbers."""
        if cython.compiled:
            return packed_sizes(cython.address(self._contents))
        starts = self.starts
        ends = chain(islice(starts, 1, None), (len(self.parts),))
        return array("I", map(sub, ends, starts)).tobytes()

    def streams_frame(self) -> bytes:
        """Of a mixed buffer: the stream index of each tuple, as 16-bit numbers."""
        if cython.compiled:
            return packed_streams(cython.address(self._contents))
        return array("H", self.streams).tobytes()

    def repeats(self) -> list[int]:
        """Positions of tuples also present earlier in the buffers of the fan-out."""
        if cython.compiled:
            return packed_repeats(cython.address(self._contents))
        return list(self.repeated)

    def clear(self) -> None:
        """Empty the buffer."""
        self.extras.clear()
        if cython.compiled:
            empty_packed(cython.address(self._contents))
            return
        for numbers in (self.starts, self.streams, self.repeated, *self.blocks):
            numbers.clear()
        self.parts.clear()
        self.run = NO_RUN


class AckPairs:
    """root, value, … of acks on their way."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        if not cython.compiled:
            self._numbers: Any = array("Q")

    def __dealloc__(self) -> None:
        if cython.compiled:
            free_numbers(cython.address(self._numbers))

    def __len__(self) -> int:
        """How many numbers they are."""
        if cython.compiled:
            return int(self._numbers.used)
        return len(self._numbers)

    def extend(self, numbers: Iterable[int]) -> None:
        """Append all numbers, or raise for a number out of range without an append."""
        if cython.compiled:
            put_numbers(cython.address(self._numbers), list(numbers))
        else:
            self._numbers.extend(array("Q", numbers))

    def listed(self) -> list[int]:
        """Root, value, …"""
        if cython.compiled:
            return listed_numbers(cython.address(self._numbers))
        return self._numbers.tolist()  # type: ignore[no-any-return]

    def frame(self) -> bytes:
        """As they are sent."""
        if cython.compiled:
            return packed_numbers(cython.address(self._numbers))
        return self._numbers.tobytes()  # type: ignore[no-any-return]

    def owner(self, counter_bits: cython.int) -> int:
        """The common bits of all roots above the lowest `counter_bits`; 0 if the roots differ."""
        if cython.compiled:
            return int(common_owner(cython.address(self._numbers), counter_bits))
        owners = {root >> counter_bits for root in self._numbers[::2]}
        return owners.pop() if len(owners) == 1 else 0

    def clear(self) -> None:
        """Remove all numbers."""
        if cython.compiled:
            empty_numbers(cython.address(self._numbers))
        else:
            del self._numbers[:]


class BufferRoom:
    """Bytes left to buffer before a flush of all buffers; negative when the flush is due."""

    __slots__ = ("acked", "acks_counted", "flushes", "foreign", "late", "pairs", "room", "tracked")

    def __init__(self, room: int, tracked: bool) -> None:
        self.room = room
        if cython.compiled:
            assert is_first(self, cython.address(self.room))
        self.tracked = tracked
        """Whether tuples have roots."""
        self.acked: list[Any] = []
        """Acked tuples that are not settled yet."""
        self.pairs = AckPairs()
        """Number of settled acks that are not sent yet."""
        self.acks_counted = 0
        self.flushes = 0
        self.late = 0
        """Second acks or fails of a tuple: the first one counts."""
        self.foreign: Any = None
        """Emits of other threads, once threads exist."""

    def settle(self) -> None:
        """Work out what the acks since the last call come to."""
        raise NotImplementedError

    def flush(self) -> None:
        """Send all that is buffered."""
        raise NotImplementedError

    def make_way(self, buffers: list[Any], are_several: bool) -> bool:
        """Send conflicting buffers before these buffers take a tuple of one or several roots;
        returns whether anything was sent.
        """
        raise NotImplementedError


# --- edges ----------------------------------------------------------------------------------------


class EdgeNumbers:
    """64-bit numbers from the bytes returned by `draw`, several at a time: a compiled emit takes
    numbers without a call.
    """

    __slots__ = ("_drawn",)

    def __init__(self, draw: Callable[[], bytes]) -> None:
        if cython.compiled:
            assert is_first(self, cython.address(self._drawn))
            begin_drawn(cython.address(self._drawn), draw)
        else:
            self._drawn: Any = chain.from_iterable(array("Q", draw()) for _ in iter(int, 1))

    def __dealloc__(self) -> None:
        if cython.compiled:
            end_drawn(cython.address(self._drawn))

    def __call__(self) -> int:
        if cython.compiled:
            return drawn_number(cython.address(self._drawn))  # type: ignore[no-any-return]
        return next(self._drawn)  # type: ignore[no-any-return]


def edge_numbers(draw: Callable[[], bytes]) -> NextNumber:
    """The numbers of EdgeNumbers, one per call; without a compiler by an iterator in C."""
    numbers = EdgeNumbers(draw)
    return numbers if cython.compiled else numbers._drawn.__next__


# --- a tuple into its buffers ---------------------------------------------------------------------


def put_tuple(
    buffers: list[Any], data: bytes, root: Any, index: cython.int, tracked: cython.bint,
    shares_edges: cython.bint, next_edge: NextNumber,
) -> Any:  # fmt: skip
    """Append a packed tuple of one root, or untracked (0), to its buffers; returns the xor of the
    new edges. `index` is the stream's index.
    """
    if cython.compiled:
        return put_packed(buffers, data, root, index, tracked, shares_edges, next_edge)
    total = 0
    for at, buffer in enumerate(buffers):
        if tracked and buffer.run != root:
            is_plain = not (buffer.targets or buffer._is_mixed or buffer.extras)
            buffer.run = root if shares_edges and is_plain else NO_RUN
            buffer.starts.append(len(buffer.parts))
            for block in buffer.blocks:
                edge = next_edge() if root else 0
                total ^= edge
                block.extend((root, edge))
        if buffer._is_mixed:
            buffer.streams.append(index)
        if at:  # another one has it as well, or this one once more
            buffer.repeated.append(len(buffer.parts))
        buffer.parts.append(data)
    return total


def are_free(buffers: list[Any]) -> bool:
    """Whether the buffers are free of conflicting buffers."""
    buffer: TupleBuffer
    for buffer in buffers:  # not `all`, which would be a generator when it is compiled
        if buffer.conflicting:
            break
    else:
        return True
    return False


# --- buffers into messages ------------------------------------------------------------------------


def tuples_in(buffer: TupleBuffer) -> cython.Py_ssize_t:
    """How many a buffer of packed tuples holds."""
    if cython.compiled:
        return buffer._contents.tuples
    return len(buffer.parts)


def is_simple(buffer: TupleBuffer) -> cython.bint:
    """Whether the buffer's tuples have one stream, at most one root each, and one target task."""
    is_mixed: cython.bint = buffer._contents.is_mixed if cython.compiled else buffer._is_mixed
    return not (is_mixed or buffer.targets or buffer.extras)


def are_empty(buffers: list[Any], kind: Any) -> bool:
    """Whether all buffers are empty. Buffers of exactly the class `kind` hold packed tuples; other
    classes answer by `is_empty`.
    """
    for buffer in buffers:
        if type(buffer) is kind:
            if tuples_in(buffer):
                return False
        elif not buffer.is_empty:
            return False
    return True


def simple_tuples(buffers: list[Any], kind: Any) -> int:
    """How many tuples the simple buffers hold."""
    tuples: cython.Py_ssize_t = 0
    for buffer in buffers:
        if type(buffer) is kind and is_simple(buffer):
            tuples += tuples_in(buffer)
    return int(tuples)


def taken_batches(
    buffers: list[Any], kind: Any, epoch: int, source: int, tracked: cython.bint,
    begins: cython.bint, others: Callable[[Any], list[Frames]],
) -> list[Frames]:  # fmt: skip
    """Messages of all buffers, in their order, emptying the buffers: `others` makes the messages of
    a buffer that is not simple, or not of class `kind`.
    """
    messages: list[Frames] = []
    for buffer in buffers:
        if type(buffer) is not kind or not is_simple(buffer):
            messages.extend(others(buffer))
        elif tuples_in(buffer):
            messages.append(taken_batch(buffer, epoch, source, tracked, begins))
    return messages


def taken_batch(
    buffer: TupleBuffer, epoch: Any, source: Any, tracked: cython.bint, begins: cython.bint
) -> list[bytes]:
    """The message of a simple buffer (heron_core.wire.batch), which is empty then."""
    tuples: cython.Py_ssize_t = tuples_in(buffer)
    flags: cython.Py_ssize_t = BEGINS if begins else 0
    frames: list[bytes] = [b"", buffer.body()]
    if tracked:
        flags |= TRACKED
        frames.append(buffer.ids_frame())
        if has_shared_edges(buffer):
            flags |= RUNS
            frames.append(buffer.sizes_frame())
    stream, to = buffer.stream, buffer.destination
    if cython.compiled:
        first = OF_A_BATCH | flags << FLAGS_SHIFT
        frames[0] = packed_header(first, stream, epoch, source, to, tuples)
    else:
        frames[0] = header(DATA, epoch, source, to, tuples, stream, flags)
    if buffer.emits is not None:
        buffer.emits[0] += tuples
    buffer.clear()
    return frames


def has_shared_edges(buffer: TupleBuffer) -> cython.bint:
    """Whether there are fewer pairs than tuples."""
    if cython.compiled:
        return buffer._contents.pairs < buffer._contents.tuples
    return buffer.has_runs


if cython.compiled:
    know_buffers(TupleBuffer)
    know_edges(EdgeNumbers)
