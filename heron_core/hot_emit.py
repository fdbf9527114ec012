"""The hot path of what is sent: packing, the buffer of a tuple's key, and the emits.

As hot_path.py, one source for two ways to run it: see there. hot_emit.h has the two C functions
that take the place of the Python ones under `if not cython.compiled`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

Emit = Callable[..., Any]
NextNumber = Callable[[], int]
NextBuffer = Callable[[], Any]
Pack = Callable[[Any], bytes]
Pick = tuple[int, Callable[[Any], Any] | None, Any, NextBuffer]
"""position, function, keyed, next: the buffer of a tuple is `keyed[values[position]]`, with a
function `keyed[function(values)]`, and without `keyed` the next one."""
Shares = list[Callable[[], None]]
Several = tuple[list[Callable[[Any], Any]], int, list[int]]
"""What chooses the buffers of a tuple for each consumer, the stream's index, and a list of one
number, which counts the emits."""

NO_ROOT = (0, 0)
NO_RUN = -1
"""No root: the next tuple of a buffer gets an edge of its own."""
SHARED: str = "\0"
"""The name of no stream: what an emit that is shared by threads compares each stream with."""


# --- what emit writes to --------------------------------------------------------------------------


class TupleBuffer:
    """Packed tuples for one destination and the ids they travel with."""

    __slots__ = (
        "blocks", "conflicting", "destination", "extras", "ids", "parts", "run", "starts",
        "streams", "targets",
    )  # fmt: skip

    def __init__(self, destination: int = 0, targets: tuple[int, ...] = ()) -> None:
        self.parts: list[bytes] = []
        self.destination = destination
        """A task, or the container of a fan-out."""
        self.targets = targets
        """The tasks of a fan-out; none where the destination is one task."""
        self.blocks: list[list[int]] = [[] for _ in targets or (0,)]
        """For each target: root, edge, root, edge, … of each tuple, or of each run of them."""
        self.ids: list[int] = self.blocks[0]
        self.streams: list[int] | None = None
        """Stream index of each tuple; None as long as only one stream uses the buffer."""
        self.conflicting: list[Any] = []
        """Buffers that lead to the same task: each flushes the others before it takes a tuple."""
        self.run: int = NO_RUN
        """The root whose tuples may go on sharing the last edge."""
        self.starts: list[int] = []
        """In a bolt that tracks: the position of each pair's first tuple."""
        self.extras: list[int] = []
        """position, root, … of tuples with more roots than one"""


class BufferRoom:
    """Bytes that may be buffered before all is flushed, below zero when it is time to."""

    __slots__ = ("acked", "acks_counted", "foreign", "late", "pairs", "room", "tracked")

    def __init__(self, room: int, tracked: bool) -> None:
        self.room = room
        self.tracked = tracked
        """Whether tuples have roots."""
        self.acked: list[Any] = []
        """Tuples that user code has acked and that are not settled."""
        self.pairs: list[int] = []
        """root, value, … of those that are, and that were not sent."""
        self.acks_counted = 0
        self.late = 0
        """Second acks or fails of a tuple: the first one counts."""
        self.foreign: Any = None
        """Emits of other threads, as soon as there are any."""

    def settle(self) -> None:
        """Work out what the acks since the last call come to."""
        raise NotImplementedError

    def flush(self) -> None:
        """Send all that is buffered."""
        raise NotImplementedError

    def make_way(self, buffers: list[Any], are_several: bool) -> bool:
        """Send what must leave before these buffers take a tuple, of several roots or not; whether
        something had to."""
        raise NotImplementedError


# --- packing, and keys ----------------------------------------------------------------------------

if not cython.compiled:

    def plain_slot(key: Any, are_several: bool, slots: int) -> int:
        """heron_core.algorithms.hashing's slot of plain values, in C; -1 for what is not plain."""
        return -1

    def packed_plain(values: Any, pack: Pack) -> bytes:
        """The values as msgpack: in C without `pack` for a short list of short plain values."""
        return pack(values)


def plain_packer(pack: Pack) -> Pack:
    """`pack`, a msgpack packer; compiled code makes the bytes of plain values without it."""
    if not cython.compiled:
        return pack

    def pack_plain(values: Any) -> bytes:
        return packed_plain(values, pack)

    return pack_plain


class PlainKeys:
    """The buffers of a fields grouping: plain keys are hashed, which C does faster than a dict
    finds them; the others are looked up in `keyed`."""

    __slots__ = ("are_several", "buffers", "keyed")

    def __init__(self, keyed: Any, buffers: list[Any], are_several: bool) -> None:
        self.keyed = keyed
        self.buffers = buffers
        """A buffer for each slot; the list is changed in place."""
        self.are_several = are_several
        """Whether a key is a tuple of the values of several fields."""

    def __getitem__(self, key: Any) -> Any:
        at: cython.Py_ssize_t = plain_slot(key, self.are_several, len(self.buffers))
        return self.keyed[key] if at < 0 else self.buffers[at]


def plain_keys(keyed: Any, buffers: list[Any], are_several: bool) -> Any:
    """What finds the buffer of a key: Python's own dict, or what is faster when compiled."""
    return PlainKeys(keyed, buffers, are_several) if cython.compiled else keyed


# --- emit -----------------------------------------------------------------------------------------


def bolt_emit(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, pick: Pick,
    width: cython.Py_ssize_t, most: cython.Py_ssize_t, overhead: cython.Py_ssize_t,
    tracked: cython.bint, unnamed: str | None, user: Any, thread: NextNumber, shares: Shares,
) -> Emit:  # fmt: skip
    """The emit of a bolt's stream that has one consumer, grouped as `pick` says. A call of what it
    adds to `shares` has it leave all to `general`, as several threads emit."""
    main_thread = thread()
    position: cython.Py_ssize_t = pick[0]
    key_of, keyed, next_buffer = pick[1:]

    def emit(
        tup: Any, stream: Any = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        data: bytes
        size: cython.Py_ssize_t
        buffer: TupleBuffer
        if stream is not unnamed or direct_task is not None or (need_task_ids and user is not None):
            return general(tup, stream, anchors, direct_task, need_task_ids)
        if user is not None:
            if anchors is not None or thread() != main_thread:
                return general(tup, stream, anchors, None, need_task_ids)
            anchors = user._current_tups if user.auto_anchor else None
        tup = list(tup) if type(tup) is tuple else tup
        try:
            data = pack(tup)
            size = len(data)
            if type(tup) is not list or len(tup) != width or size > most:
                return general(tup, stream, anchors, None, need_task_ids)
            root, anchor_state = 0, None
            if tracked and anchors:
                (anchor,) = anchors
                if (anchor_state := anchor.roots) is not None:
                    root, value = anchor_state
            # The buffer is taken last: who leaves for `general` would skip one.
            key = 0 if keyed is None else tup[position] if key_of is None else key_of(tup)
            buffer = next_buffer() if keyed is None else keyed[key]
            if buffer.run is not root and tracked and buffer.run != root:
                buffer.run = NO_RUN if buffer.extras else root  # what follows shares the edge
                buffer.starts.append(len(buffer.parts))
                if anchor_state is None:
                    buffer.ids += NO_ROOT
                else:
                    buffer.ids += (root, edge := next_edge())
                    anchor_state[1] = value ^ edge
        except Exception:  # several anchors or roots, settled ones, values that need care
            return general(tup, stream, anchors, None, need_task_ids)
        buffer.parts.append(data)
        outbox.room -= size + overhead
        if outbox.room < 0:
            outbox.flush()
        return [buffer.destination] if need_task_ids else None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def spout_emit(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, next_root: NextNumber,
    pick: Pick, width: cython.Py_ssize_t, most: cython.Py_ssize_t,
    overhead: cython.Py_ssize_t, tracked: cython.bint, unnamed: str | None,
    thread: NextNumber | None, pending: Any, done_at_once: Any, inits: Any,
    shares: Shares,
) -> Emit:  # fmt: skip
    """The emit of a spout's stream that has one consumer, grouped as `pick` says; for `shares` see
    `bolt_emit`."""
    main_thread = thread() if thread else 0
    position: cython.Py_ssize_t = pick[0]
    key_of, keyed, next_buffer = pick[1:]

    def emit(
        tup: Any, tup_id: Any = None, stream: Any = unnamed, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        data: bytes
        size: cython.Py_ssize_t
        buffer: TupleBuffer
        if stream is not unnamed or direct_task is not None or (need_task_ids and thread):
            return general(tup, tup_id, stream, direct_task, need_task_ids)
        if thread and thread() != main_thread:
            return general(tup, tup_id, stream, None, need_task_ids)
        tup = list(tup) if type(tup) is tuple else tup
        if type(tup) is not list or len(tup) != width:
            return general(tup, tup_id, stream, None, need_task_ids)
        try:
            data = pack(tup)
            # Taken last: who leaves for `general` would skip a buffer.
            key = 0 if keyed is None else tup[position] if key_of is None else key_of(tup)
            buffer = next_buffer() if keyed is None else keyed[key]
        except Exception:
            return general(tup, tup_id, stream, None, need_task_ids)
        size = len(data)
        if size > most:
            return general(tup, tup_id, stream, None, need_task_ids)
        if tracked:
            if tup_id is None:
                buffer.ids += NO_ROOT
            else:
                root, edge = next_root(), next_edge()
                buffer.ids += (root, edge)
                if inits is not None:
                    inits.extend((root, edge))
                pending[root] = tup_id
        elif tup_id is not None:
            done_at_once.append(tup_id)
        buffer.parts.append(data)
        outbox.room -= size + overhead
        if outbox.room < 0:
            outbox.flush()
        return [buffer.destination] if need_task_ids else None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def put_tuple(
    buffers: list[Any], data: bytes, root: Any, index: Any, tracked: cython.bint,
    shares_edges: cython.bint, next_edge: NextNumber,
) -> Any:  # fmt: skip
    """Append a packed tuple of one root, or of none (0), to its buffers; returns the xor of the
    edges that it was given. `index` is its stream's."""
    buffer: TupleBuffer
    total = 0
    for buffer in buffers:
        if tracked and buffer.run != root:
            is_plain = not buffer.targets and buffer.streams is None and not buffer.extras
            buffer.run = root if shares_edges and is_plain else NO_RUN
            buffer.starts.append(len(buffer.parts))
            for block in buffer.blocks:
                edge = next_edge() if root else 0
                total ^= edge
                block.extend((root, edge))
        buffer.parts.append(data)
        if buffer.streams is not None:
            buffer.streams.append(index)
    return total


def chosen_buffers(choosers: list[Callable[[Any], Any]], tup: Any) -> list[Any]:
    """The buffers of a tuple: what the grouping of each consumer chooses."""
    buffers: list[Any] = []
    for choose in choosers:
        buffers += choose(tup)
    return buffers


def are_free(buffers: list[Any]) -> bool:
    """Whether none of the buffers has others that conflict with it."""
    buffer: TupleBuffer
    for buffer in buffers:  # not `all`, which would be a generator when it is compiled
        if buffer.conflicting:
            break
    else:
        return True
    return False


def bolt_emit_to_several(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, route: Several,
    width: cython.Py_ssize_t, most: cython.Py_ssize_t, overhead: cython.Py_ssize_t,
    tracked: cython.bint, unnamed: str | None, user: Any, thread: NextNumber, shares: Shares,
) -> Emit:  # fmt: skip
    """As `bolt_emit`, of a stream whose tuples have several buffers, or buffers that other streams
    use as well."""
    main_thread = thread()
    choosers, index, emits = route

    def emit(
        tup: Any, stream: Any = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        data: bytes
        size: cython.Py_ssize_t
        if stream is not unnamed or direct_task is not None or need_task_ids:
            return general(tup, stream, anchors, direct_task, need_task_ids)
        if user is not None:
            if anchors is not None or thread() != main_thread:
                return general(tup, stream, anchors)
            anchors = user._current_tups if user.auto_anchor else None
        tup = list(tup) if type(tup) is tuple else tup
        try:
            data = pack(tup)
            size = len(data)
            if type(tup) is not list or len(tup) != width or size > most:
                return general(tup, stream, anchors)
            root, anchor_state = 0, None
            if tracked and anchors:
                (anchor,) = anchors
                if (anchor_state := anchor.roots) is not None:
                    root, _ = anchor_state
            # Taken last: who leaves for `general` would skip a buffer.
            buffers = chosen_buffers(choosers, tup)
        except Exception:  # several anchors or roots, settled ones, values that need care
            return general(tup, stream, anchors)
        if not are_free(buffers) and outbox.make_way(buffers, False) and anchor_state == []:
            root, anchor_state = 0, None  # its ack was among what left
        total = put_tuple(buffers, data, root, index, tracked, True, next_edge)
        if anchor_state is not None:
            anchor_state[1] ^= total
        emits[0] += 1
        outbox.room -= (size + overhead) * len(buffers)
        if outbox.room < 0:
            outbox.flush()
        return None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def spout_emit_to_several(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, next_root: NextNumber,
    route: Several, width: cython.Py_ssize_t, most: cython.Py_ssize_t,
    overhead: cython.Py_ssize_t, tracked: cython.bint, unnamed: str | None,
    thread: NextNumber | None, pending: Any, done_at_once: Any, inits: Any,
    shares: Shares,
) -> Emit:  # fmt: skip
    """As `spout_emit`, of a stream as in `bolt_emit_to_several`."""
    main_thread = thread() if thread else 0
    choosers, index, emits = route

    def emit(
        tup: Any, tup_id: Any = None, stream: Any = unnamed, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        data: bytes
        size: cython.Py_ssize_t
        if stream is not unnamed or direct_task is not None or need_task_ids:
            return general(tup, tup_id, stream, direct_task, need_task_ids)
        if thread and thread() != main_thread:
            return general(tup, tup_id, stream)
        tup = list(tup) if type(tup) is tuple else tup
        if type(tup) is not list or len(tup) != width:
            return general(tup, tup_id, stream)
        try:
            data = pack(tup)
            size = len(data)
            if size > most:
                return general(tup, tup_id, stream)
            buffers = chosen_buffers(choosers, tup)
        except Exception:
            return general(tup, tup_id, stream)
        if not are_free(buffers):
            outbox.make_way(buffers, False)
        root = 0
        if tup_id is not None:
            if tracked and buffers:
                root = next_root()
                pending[root] = tup_id
            else:
                done_at_once.append(tup_id)
        total = put_tuple(buffers, data, root, index, tracked, False, next_edge)
        if root:
            inits.extend((root, total))
        emits[0] += 1
        outbox.room -= (size + overhead) * len(buffers)
        if outbox.room < 0:
            outbox.flush()
        return None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def bolt_emit_by_stream(general: Emit, emits: dict[str, Emit], unnamed: str | None) -> Emit:
    """A bolt's `general` with the emits that were made for the streams of these names."""
    names = {name: name for name in emits}

    def emit(
        tup: Any, stream: Any = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        try:
            name = names[stream]  # what the emit compares it with by `is`
        except (KeyError, TypeError):
            return general(tup, stream, anchors, direct_task, need_task_ids)
        return emits[name](tup, name, anchors, direct_task, need_task_ids)

    return emit


def spout_emit_by_stream(general: Emit, emits: dict[str, Emit], unnamed: str | None) -> Emit:
    """The same of a spout."""
    names = {name: name for name in emits}

    def emit(
        tup: Any, tup_id: Any = None, stream: Any = unnamed, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        try:
            name = names[stream]
        except (KeyError, TypeError):
            return general(tup, tup_id, stream, direct_task, need_task_ids)
        return emits[name](tup, tup_id, name, direct_task, need_task_ids)

    return emit
