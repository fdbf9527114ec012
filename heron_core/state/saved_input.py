"""Input overtaken by a barrier and not processed yet, saved with the state of the task.

    b"HINPUT" 1 byte version, u32 length of the header (big endian)
    header    msgpack: [bytes of the state, first row, [[task, component, index, tasks, streams] of
              each source], [[length of each frame] of each message]]
    state as saved (snapshot.py, parts.py), with files frames of the messages, in order of arrival
    (wire/frames.py)

A restored task processes the saved messages before other input. Sources are identified by component
and index, because their task numbers may have changed.
"""

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgpack
from msgspec import Struct

from heron_core.errors import StateError
from heron_core.plans import PackingPlan
from heron_core.state.file_snapshot import FileSnapshot
from heron_core.topology import TopologySpec
from heron_core.wire.frames import Flag, FrameKind, Frames, Header, header, header_of, size_of

_MAGIC = b"HINPUT\x01"
_LENGTH_BYTES = 4
_START = len(_MAGIC) + _LENGTH_BYTES
_MIXED = int(Flag.MIXED)
_MIXED_STREAMS_AT = 2
"""Index of the frame with the stream of each tuple, in an untracked batch."""
INPUT_BYTES_MAX = 64 * 1024 * 1024
"""As the limit of a gate (Options.aligned_bytes_max): the input is written with each checkpoint,
and stays in memory until the next. Back-pressure keeps queues far below, at some megabytes."""


class InputSource(Struct, frozen=True):
    """A sender of saved messages."""

    component: str
    index: int
    tasks: int
    """Number of tasks of its component at the checkpoint."""
    streams: tuple[str, ...]
    """Streams of its component; messages name a stream by its position."""


class SavedInput(Struct, frozen=True):
    """Messages in the order of processing."""

    messages: tuple[Frames, ...] = ()
    first_row: int = 0
    """First unprocessed row of the first message."""
    sources: Mapping[int, InputSource] | None = None
    """Sources by the task number in the messages."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all messages."""
        return sum(map(size_of, self.messages))

    @property
    def tuples(self) -> int:
        """Number of unprocessed tuples."""
        return sum(_tuples(header_of(each)) for each in self.messages) - self.first_row


NO_INPUT = SavedInput()


def _tuples(head: Header) -> int:
    return head.items if head.kind == FrameKind.DATA else 0


def encode_input(state: bytes, saved: SavedInput) -> bytes:
    """A state with input as bytes, with the files of the state."""
    sources = [
        [task, source.component, source.index, source.tasks, list(source.streams)]
        for task, source in (saved.sources or {}).items()
    ]
    lengths = [list(map(len, frames)) for frames in saved.messages]
    head = msgpack.packb([len(state), saved.first_row, sources, lengths])
    start = _MAGIC + len(head).to_bytes(_LENGTH_BYTES, "big")
    data = b"".join((start, head, state, *chain.from_iterable(saved.messages)))
    return _with_files(data, state)


def _with_files(data: bytes, whole: bytes) -> bytes:
    if not isinstance(whole, FileSnapshot):
        return data
    return FileSnapshot.of(data, whole.files, whole.source)


def decode_input(data: bytes) -> tuple[bytes, SavedInput]:
    """State and input of a task from saved bytes; StateError for damaged bytes."""
    if not data.startswith(_MAGIC):
        return data, NO_INPUT
    try:
        at, (size, first_row, sources, lengths) = _header(data)
        state = _with_files(bytes(data[at : at + size]), data)
        at += size
        messages = []
        for part_lengths in lengths:
            frames = []
            for length in part_lengths:
                frames.append(bytes(data[at : at + length]))
                at += length
            messages.append(frames)
        known = {task: InputSource(c, i, n, tuple(names)) for task, c, i, n, names in sources}
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise StateError(f"the input in a state is damaged: {error}") from None
    if at != len(data):
        raise StateError(f"the input in a state is damaged: {len(data)} bytes instead of {at}")
    return state, SavedInput(tuple(messages), first_row, known)


def _header(data: bytes) -> tuple[int, list[Any]]:
    end = _START + int.from_bytes(data[_START - _LENGTH_BYTES : _START], "big")
    return end, msgpack.unpackb(data[_START:end], strict_map_key=False)


def input_size(data: bytes) -> tuple[int, int]:
    """Number and bytes of the saved messages."""
    if not data.startswith(_MAGIC):
        return 0, 0
    _, (_, _, _, lengths) = _header(data)
    return len(lengths), sum(map(sum, lengths))


def addressed(
    epoch: int, task: int, packing: PackingPlan, topology: TopologySpec, saved: SavedInput
) -> SavedInput:
    """The input as if sent to `task` by the present sources, under the epoch and packing of the
    present plan. StateError for a removed component or stream."""
    sources = saved.sources or {}
    streams = {
        component.name: [x.name for x in component.outputs] for component in topology.components
    }
    renewed = (
        _addressed(message, sources[header_of(message).source], epoch, task, packing, streams)
        for message in saved.messages
    )
    return SavedInput(tuple(item for item in renewed if item), saved.first_row)


def _addressed(
    frames: Frames,
    source: InputSource,
    epoch: int,
    task: int,
    packing: PackingPlan,
    streams: Mapping[str, Sequence[str]],
) -> Frames:
    head, tasks = header_of(frames), packing.tasks_of.get(source.component, ())
    if not tasks:
        raise StateError(f"the checkpoint has saved input of {source.component}, which was removed")
    if head.kind == FrameKind.WATERMARK and len(tasks) != source.tasks:
        return []  # a message of a previous task; the present tasks send their own
    sender = tasks[source.index % len(tasks)]
    known = [_stream_now(stream, source.component, streams) for stream in source.streams]
    stream = known[head.stream] if head.kind == FrameKind.DATA else 0
    start = header(head.kind, epoch, sender, task, head.items, stream, head.flags)
    rest = frames[1:]
    if head.flags & _MIXED and known != list(range(len(known))):
        mixed = array("H")
        mixed.frombytes(frames[_MIXED_STREAMS_AT])
        rest[_MIXED_STREAMS_AT - 1] = array("H", [known[each] for each in mixed]).tobytes()
    return [start, *rest]


def _stream_now(name: str, component: str, streams: Mapping[str, Sequence[str]]) -> int:
    try:
        return list(streams[component]).index(name)
    except ValueError:
        raise StateError(
            f"the checkpoint has saved input of the stream {name} of {component}, which was removed"
        ) from None
