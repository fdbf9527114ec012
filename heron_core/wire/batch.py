"""A batch of tuples on the wire: its layout, and how it is encoded, checked and decoded.

    DATA    [header, body] + [ids if TRACKED] + [streams if MIXED] + [extras if MULTI_ROOT]
            or, if RUNS: [header, body, ids, sizes]
            or, if COLUMNS: [header, columns] + [ids, sizes if TRACKED] + [extras if MULTI_ROOT]
    FANOUT  the same with [targets] after the header: destination is a container, `targets` the
            u32 task ids in it; ids are one block of (root, edge) pairs for each target in turn

body: msgpack array of value arrays. ids: u64 pairs (root, edge), (0, 0) for a tuple without a root.
streams: u16 index of the stream for each tuple, the header's stream is then 0. extras: u64 pairs
(position in the batch, root) for the further roots of tuples with several; the tuple's one edge
counts for each of these.
sizes: u32 for each pair of the ids, the number of tuples in a row that share the pair: the edge is
acked when all of these tuples are. Without RUNS each tuple has a pair of its own.
columns: the tuples as an Arrow record batch (heron_core.wire.columns). Its runs may have several
roots: the positions of its extras count runs.
The stream index counts the source component's output streams in order of declaration.

A stream manager checks lengths and looks at the ids; only the receiving instance decodes. An
invalid batch is refused as a whole, before any part has an effect.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import msgpack

from heron_core.errors import ProtocolError
from heron_core.wire.frames import PAIR_BYTES, Flag, FrameKind, Frames, Header, header, u64_array
from heron_core.wire.values import array_of

TASK_BYTES = 4
"""Of a target of a fan-out."""
SIZE_BYTES = 4
"""Of a run."""
STREAM_BYTES = 2
"""Of a stream index."""

# Plain numbers: `&` with a Flag takes a microsecond, and each batch is checked.
_TRACKED, _MIXED, _MULTI_ROOT = int(Flag.TRACKED), int(Flag.MIXED), int(Flag.MULTI_ROOT)
_BEGINS, _RUNS, COLUMNS = int(Flag.BEGINS), int(Flag.RUNS), int(Flag.COLUMNS)
_TRACKED_RUNS = _TRACKED | _RUNS
_BATCHES = _DATA, _FANOUT = int(FrameKind.DATA), int(FrameKind.FANOUT)


class Batch(NamedTuple):
    """The parts of a DATA message, which all fit together."""

    body: bytes
    """The values, still packed (heron_core.wire.values.unpack, or columns.read for COLUMNS)."""
    ids: "array[int] | None"
    """root, edge, … of each tuple, or of each run; None if the batch is not tracked."""
    run_sizes: "array[int] | None"
    """Number of tuples that share each pair; None if each tuple has its own pair."""
    streams: "array[int] | None"
    """Stream index of each tuple; None: the header's index holds for all."""
    extras: "array[int] | None"
    """position, root, … of the further roots of tuples (of runs, for COLUMNS) with several roots;
    None if no tuple has several."""


_batch: Callable[[Sequence[object]], Batch] = partial(tuple.__new__, Batch)
"""As frames._header: called for each message."""


# --- encode ---------------------------------------------------------------------------------------


def encode_batch(
    epoch: int,
    source: int,
    destination: int,
    parts: Sequence[bytes],
    stream: int = 0,
    begins: bool = False,
    targets: Sequence[int] = (),
    ids: Sequence[Sequence[int]] | None = None,
    run_sizes: "array[int] | None" = None,
    streams: Sequence[int] | None = None,
    extras: Sequence[int] = (),
) -> Frames:
    """The message of some packed tuples: FANOUT if there are `targets`, otherwise DATA.

    `ids` has a block of root, edge, … for each target (one for DATA), None if nothing is tracked.
    """
    return batch_message(
        epoch,
        source,
        destination,
        len(parts),
        array_of(parts),
        stream,
        begins,
        targets,
        None if ids is None else b"".join([array("Q", block).tobytes() for block in ids]),
        None if run_sizes is None else run_sizes.tobytes(),
        None if streams is None else array("H", streams).tobytes(),
        extras,
    )


def batch_message(
    epoch: int,
    source: int,
    destination: int,
    tuples: int,
    body: bytes,
    stream: int,
    begins: bool,
    targets: Sequence[int],
    ids: bytes | None,
    run_sizes: bytes | None,
    streams: bytes | None,
    extras: Sequence[int],
) -> Frames:
    """As `encode_batch`, for frames that are ready."""
    flags = _BEGINS if begins else 0
    frames: Frames = [b"", body]
    if ids is not None:
        flags |= _TRACKED
        frames.append(ids)
        if run_sizes is not None:
            flags |= _RUNS
            frames.append(run_sizes)
    if streams is not None:
        flags |= _MIXED
        stream = 0
        frames.append(streams)
    if extras:
        flags |= _MULTI_ROOT
        frames.append(array("Q", extras).tobytes())
    if targets:
        frames.insert(1, array("I", targets).tobytes())
    kind = _FANOUT if targets else _DATA
    frames[0] = header(kind, epoch, source, destination, tuples, stream, flags)
    return frames


def encode_columns(
    epoch: int,
    source: int,
    destination: int,
    record_batch: bytes,
    rows: int,
    stream: int,
    ids: Sequence[int] | None = None,
    run_sizes: Sequence[int] = (),
    extras: Sequence[int] = (),
) -> Frames:
    """The DATA message of a record batch of `rows` rows; `ids` is None if nothing is tracked."""
    flags = COLUMNS
    frames: Frames = [b"", record_batch]
    if ids is not None:
        flags |= _TRACKED_RUNS
        frames += (array("Q", ids).tobytes(), array("I", run_sizes).tobytes())
        if extras:
            flags |= _MULTI_ROOT
            frames.append(array("Q", extras).tobytes())
    frames[0] = header(_DATA, epoch, source, destination, rows, stream, flags)
    return frames


# --- check ----------------------------------------------------------------------------------------

_COLUMN_PARTS = {COLUMNS: 2, COLUMNS | _TRACKED_RUNS: 4, COLUMNS | _TRACKED_RUNS | _MULTI_ROOT: 5}


def _parts(flags: int) -> int:
    """Number of frames of a DATA message with these flags; -1 for invalid flags."""
    if flags & COLUMNS:
        return _COLUMN_PARTS.get(flags, -1)
    if flags & _RUNS:
        return 4 if flags == _TRACKED_RUNS else -1
    tracked = bool(flags & _TRACKED)
    if flags & (_MULTI_ROOT | _BEGINS) and not tracked:
        return -1
    return 2 + tracked + bool(flags & _MIXED) + bool(flags & _MULTI_ROOT)


_PARTS = [_parts(flags) for flags in range(64)]


def check_batch(head: Header, frames: Frames, targets: int = 0) -> None:
    """ProtocolError if a DATA message lacks a part, or a part's length does not fit the tuples.

    `targets` is the number of tasks that a FANOUT message is for.
    """
    flags, fanned_out = head.flags, 1 if targets else 0
    if head.kind != (_FANOUT if targets else _DATA):
        raise ProtocolError(f"a batch of kind {head.kind}")
    if flags >= len(_PARTS) or len(frames) != _PARTS[flags] + fanned_out:
        raise ProtocolError(f"a batch of {len(frames)} frames with flags {flags:#x}")
    if flags & (_RUNS | COLUMNS) and targets:
        raise ProtocolError("a fan-out with runs or columns")
    if flags & _RUNS:
        _check_runs(head, frames)
    elif flags & _TRACKED and (
        len(frames[2 + fanned_out]) != head.items * PAIR_BYTES * (targets or 1)
    ):
        raise ProtocolError(f"ids that are not of {head.items} tuples for each target")
    if flags & _MIXED and len(frames[_streams_at(head)]) != head.items * STREAM_BYTES:
        raise ProtocolError(f"streams for a number of tuples other than {head.items}")
    if flags & _MULTI_ROOT and len(frames[-1]) % PAIR_BYTES:
        raise ProtocolError(f"extras of {len(frames[-1])} bytes are not a list of pairs")


def check_fanout(head: Header, frames: Frames, targets: "array[int]") -> None:
    """ProtocolError if a FANOUT message to `targets` lacks a part, or names a task twice."""
    if len(set(targets)) != len(targets):
        raise ProtocolError("a fan-out with a duplicate task")
    check_batch(head, frames, len(targets))


def _check_runs(head: Header, frames: Frames) -> None:
    runs, rest = divmod(len(frames[3]), SIZE_BYTES)
    if rest or len(frames[2]) != runs * PAIR_BYTES or runs > head.items:
        raise ProtocolError(
            f"{len(frames[3])} bytes of runs, ids of {len(frames[2])} bytes for {head.items} tuples"
        )


def _ids_at(head: Header) -> int:
    return 3 if head.kind == _FANOUT else 2


def _streams_at(head: Header) -> int:
    return _ids_at(head) + bool(head.flags & _TRACKED)


# --- what a stream manager looks at ---------------------------------------------------------------


def targets_of(frames: Frames) -> "array[int]":
    """The tasks that a FANOUT message is for, at least one; ProtocolError if the message has
    none."""
    data = frames[1] if len(frames) > 1 else b""
    if not data or len(data) % TASK_BYTES:
        raise ProtocolError(f"a frame of {len(data)} bytes is not a list of task ids")
    targets = array("I")
    targets.frombytes(data)
    return targets


def beginnings(head: Header, frames: Frames) -> "array[int] | None":
    """The pairs with which a checked DATA message begins trees; None if the message begins none."""
    return u64_array(frames[2]) if head.flags & _BEGINS else None


def roots_of(head: Header, frames: Frames) -> set[int]:
    """All roots of the tuples of a checked DATA or FANOUT message; none for other messages."""
    if not head.flags & _TRACKED or head.kind not in _BATCHES:
        return set()
    roots = set(u64_array(frames[_ids_at(head)])[::2])
    if head.flags & _MULTI_ROOT:
        roots.update(u64_array(frames[-1])[1::2])
    return roots - {0}


def split_fanout(
    head: Header, frames: Frames, targets: "array[int]"
) -> Iterator[tuple[int, Frames]]:
    """The DATA message for each target of a checked FANOUT message, each with its own ids."""
    tracked = bool(head.flags & _TRACKED)
    block_bytes = head.items * PAIR_BYTES
    body, rest = frames[2], frames[4:] if tracked else frames[3:]
    for at, task in enumerate(targets):
        ids = [frames[3][at * block_bytes : (at + 1) * block_bytes]] if tracked else []
        first = header(_DATA, head.epoch, head.source, task, head.items, head.stream, head.flags)
        yield task, [first, body, *ids, *rest]


# --- decode ---------------------------------------------------------------------------------------


def decode_batch(head: Header, frames: Frames) -> Batch:
    """The parts of a DATA message; ProtocolError if the parts do not fit together."""
    check_batch(head, frames)
    flags = head.flags
    ids = run_sizes = streams = extras = None
    if flags & _TRACKED:
        ids = array("Q")
        ids.frombytes(frames[2])
        if flags & _RUNS:
            run_sizes = _run_sizes(head, frames[3])
    if flags & _MIXED:
        streams = array("H")
        streams.frombytes(frames[_streams_at(head)])
    if ids is not None and flags & _MULTI_ROOT:
        extras = _extras(ids, frames[-1])
    return _batch((frames[1], ids, run_sizes, streams, extras))


def packed_rows(body: bytes) -> list[bytes]:
    """The tuples of a body one by one, still packed; msgpack's errors for an invalid body."""
    reader = msgpack.Unpacker(max_buffer_size=0)
    reader.feed(body)
    starts = [0] * reader.read_array_header()
    for at in range(len(starts)):
        starts[at] = reader.tell()
        reader.skip()
    return [body[start:end] for start, end in pairwise([*starts, reader.tell()])]


def _run_sizes(head: Header, data: bytes) -> "array[int]":
    """Number of tuples of each run; ProtocolError if the sum is not the number of all tuples."""
    sizes = array("I")
    sizes.frombytes(data)
    if sum(sizes) != head.items or 0 in sizes:
        raise ProtocolError(f"runs for a number of tuples other than {head.items}")
    return sizes


def _extras(ids: "array[int]", data: bytes) -> "array[int]":
    """Further roots, each of a tuple of the batch that has a first root; ProtocolError
    otherwise."""
    extras = u64_array(data)
    rooted = ids[::2]
    if any(position >= len(rooted) or not rooted[position] for position in extras[::2]):
        raise ProtocolError("a batch with further roots for a tuple without any")
    return extras
