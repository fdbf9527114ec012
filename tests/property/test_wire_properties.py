"""Encoded messages decode to equal values; cut or changed messages are refused."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.topology import StreamSpec
from heron_core.wire import packets
from heron_core.wire.batch import (
    Batch,
    beginnings,
    check_batch,
    check_fanout,
    decode_batch,
    encode_batch,
    encode_columns,
    roots_of,
    split_fanout,
    targets_of,
)
from heron_core.wire.columns import of_rows, read, rows_of, schema_of, serialized
from heron_core.wire.frames import Flag, FrameKind, Frames, Header, header_of
from heron_core.wire.values import packer, unpack

EPOCH, SOURCE, DESTINATION = 3, 5, 7
STREAM = StreamSpec("default", ("number",), types=("bigint",))
ITEMS_MAX = 6
TARGETS_MAX = 3

flags: st.SearchStrategy[bool] = st.booleans()
u64 = st.integers(1, 2**64 - 1)
u32 = st.integers(1, 2**32 - 1)
u16 = st.integers(0, 2**16 - 1)


@dataclass
class Sent:
    """A sender's data about some tuples."""

    values: list[list[int]]
    stream: int = 0
    targets: Sequence[int] = ()
    ids: list[list[int]] | None = None
    begins: bool = False
    run_sizes: "array[int] | None" = None
    streams: list[int] | None = None
    extras: list[int] = field(default_factory=list)
    is_columns: bool = False

    def encoded(self) -> Frames:
        if self.is_columns:
            schema = schema_of(STREAM)
            return encode_columns(
                EPOCH, SOURCE, DESTINATION, serialized(of_rows(self.values, STREAM.fields, schema)),
                len(self.values), self.stream, self.ids[0] if self.ids else None,
                self.run_sizes or (), self.extras,
            )  # fmt: skip
        pack = packer()
        parts = [pack(each) for each in self.values]
        return encode_batch(
            EPOCH, SOURCE, DESTINATION, parts, self.stream, self.begins, self.targets, self.ids,
            self.run_sizes, self.streams, self.extras,
        )  # fmt: skip

    def expected(self, block: int) -> tuple[object, ...]:
        """Expected data of the target number `block`."""
        return (
            self.values,
            None if self.ids is None else self.ids[block],
            None if self.run_sizes is None else list(self.run_sizes),
            self.streams,
            self.extras or None,
            0 if self.streams is not None else self.stream,
        )


def found(frames: Frames) -> tuple[object, ...]:
    """A receiver's data of a DATA message."""
    head = header_of(frames)
    batch: Batch = decode_batch(head, frames)
    lists = (None if each is None else list(each) for each in batch[1:])
    return (_values(head, batch.body), *lists, head.stream)


def _values(head: Header, body: bytes) -> object:
    if head.flags & Flag.COLUMNS:
        return rows_of(read(body, schema_of(STREAM), head.items))
    return unpack(body)


def _ids(draw: st.DrawFn, pairs: int) -> list[int]:
    """As many pairs of a root and an edge; some tuples have no root."""
    return [
        number
        for _ in range(pairs)
        for number in (draw(st.tuples(u64, u64)) if draw(st.integers(0, 3)) else (0, 0))
    ]


@st.composite
def batches(draw: st.DrawFn) -> Sent:
    """Batches with every combination of what may follow their body."""
    count = draw(st.integers(1, ITEMS_MAX))
    sent = Sent([[at] for at in range(count)], draw(u16))
    sent.is_columns = draw(st.booleans()) and draw(st.booleans())
    if draw(st.booleans()) and (sent.is_columns or draw(st.booleans())):
        cuts = sorted(draw(st.sets(st.integers(1, count - 1)))) if count > 1 else []
        edges = [0, *cuts, count]
        sent.run_sizes = array("I", [b - a for a, b in pairwise(edges)])
        sent.ids = [_ids(draw, len(sent.run_sizes))]
        sent.extras = _extras(draw, sent.ids[0]) if sent.is_columns else []
        return sent
    if sent.is_columns:
        return sent
    sent.targets = draw(st.lists(u32, max_size=TARGETS_MAX, unique=True))
    if draw(st.booleans()):
        sent.streams = draw(st.lists(u16, min_size=count, max_size=count))
    if draw(st.booleans()):
        sent.ids = [_ids(draw, count)]
        # Each target has edges of its own for the same roots.
        sent.ids += [
            [draw(u64) if at % 2 and number else number for at, number in enumerate(sent.ids[0])]
            for _ in sent.targets[1:]
        ]
        sent.begins = draw(flags)
        sent.extras = _extras(draw, sent.ids[0])
    return sent


def _extras(draw: st.DrawFn, ids: list[int]) -> list[int]:
    rooted = [at for at in range(len(ids) // 2) if ids[2 * at]]
    if not draw(flags) or not rooted:
        return []
    further = st.lists(st.tuples(st.sampled_from(rooted), u64), min_size=1, max_size=4)
    return [number for pair in draw(further) for number in pair]


@settings(max_examples=300, derandomize=True)
@given(batches())
def test_a_batch_comes_back(sent: Sent) -> None:
    # With any flags of a batch, its receiver finds the sender's data.
    frames = sent.encoded()
    head = header_of(frames)
    assert (head.epoch, head.source, head.destination) == (EPOCH, SOURCE, DESTINATION)
    assert head.items == len(sent.values)
    if not sent.targets:
        assert head.kind == FrameKind.DATA
        check_batch(head, frames)
        assert found(frames) == sent.expected(0)
        begun = beginnings(head, frames)
        assert (begun is not None) == sent.begins
        assert begun is None or list(begun) == (sent.ids or [[]])[0]
        return
    targets = targets_of(frames)
    assert (head.kind, list(targets)) == (FrameKind.FANOUT, list(sent.targets))
    check_fanout(head, frames, targets)
    for block, (task, single) in enumerate(split_fanout(head, frames, targets)):
        assert header_of(single).destination == task == sent.targets[block]
        assert found(single) == sent.expected(block)


@settings(max_examples=200, derandomize=True)
@given(batches())
def test_every_root_of_a_batch_is_found(sent: Sent) -> None:
    # A lost batch has to be failed: an overlooked root would time out instead.
    frames = sent.encoded()
    roots = {root for block in sent.ids or () for root in block[::2]} | set(sent.extras[1::2])
    assert roots_of(header_of(frames), frames) == roots - {0}


Change = tuple[int, int, int, bytes]
"""kind of change, frame, position, bytes"""


def changed(frames: Frames, change: Change) -> Frames:
    """The message with one frame cut, overwritten, left out, doubled or emptied."""
    kind, at, position, data = change
    frames = list(frames)
    at %= len(frames)
    frame = frames[at]
    position %= len(frame) + 1
    match kind:
        case 0:
            frames[at] = frame[:position]
        case 1:
            frames[at] = frame[:position] + data + frame[position + len(data) :]
        case 2:
            del frames[at]
        case 3:
            frames.insert(at, frame)
        case _:
            frames[at] = frame + data
    return frames


changes = st.tuples(
    st.integers(0, 4), st.integers(0, 5), st.integers(0, 200), st.binary(min_size=1, max_size=9)
)


def _received(frames: Frames) -> None:
    """All checks of a stream manager and an instance before a message has any effect."""
    head = header_of(frames)
    if head.kind == FrameKind.DATA:
        batch = decode_batch(head, frames)
        if head.flags & Flag.COLUMNS:
            read(batch.body, schema_of(STREAM), head.items)
        beginnings(head, frames)
        roots_of(head, frames)
    elif head.kind == FrameKind.FANOUT:
        targets = targets_of(frames)
        check_fanout(head, frames, targets)
        roots_of(head, frames)
        for _, single in split_fanout(head, frames, targets):
            decode_batch(header_of(single), single)
    elif head.kind in (FrameKind.INIT, FrameKind.ACK):
        packets.decode_pairs(head, frames)
    elif head.kind == FrameKind.CONTROL:
        packets.decode_control(frames)
    else:
        packets.decode_roots(head, frames)


@settings(max_examples=400, derandomize=True)
@given(batches(), st.lists(changes, min_size=1, max_size=3))
def test_a_changed_batch_is_taken_or_refused(sent: Sent, several: list[Change]) -> None:
    # A broken peer, a stranger: whatever it sends, only a ProtocolError comes out.
    frames = sent.encoded()
    for change in several:
        if frames:
            frames = changed(frames, change)
    try:
        _received(frames)
    except ProtocolError:
        pass


@settings(max_examples=200, derandomize=True)
@given(st.lists(st.tuples(u64, u64), max_size=5), st.lists(changes, max_size=2))
def test_packets_come_back_or_are_refused(
    pairs: list[tuple[int, int]], several: list[Change]
) -> None:
    # Acks and what became of roots, whole and then broken on their way.
    numbers = [number for pair in pairs for number in pair]
    acks = packets.encode_pairs(FrameKind.ACK, EPOCH, SOURCE, DESTINATION, numbers)
    roots = packets.encode_roots(FrameKind.FAILED, EPOCH, 0, DESTINATION, numbers)
    assert list(packets.decode_pairs(header_of(acks), acks)) == numbers
    assert list(packets.decode_roots(header_of(roots), roots)) == numbers
    assert header_of(acks).items == len(pairs)
    for sent in (acks, roots):
        frames = sent
        for change in several:
            frames = changed(frames, change) if frames else frames
        try:
            _received(frames)
        except ProtocolError:
            pass


@pytest.mark.parametrize("cut", [1, 2])
def test_a_packet_is_refused_whole(cut: int) -> None:
    # Half of the acks would be applied and the rest of the trees time out.
    acks = packets.encode_pairs(FrameKind.ACK, EPOCH, SOURCE, DESTINATION, [1, 2, 3, 4])
    acks[1] = acks[1][: -8 * cut]
    with pytest.raises(ProtocolError, match="not of 2 times 16 bytes"):
        packets.decode_pairs(header_of(acks), acks)


def test_a_report_says_how_many_messages_took_how_long() -> None:
    head = header_of(packets.encode_consumed(EPOCH, SOURCE, 9, 0.25))
    assert (head.consumed, packets.busy_secs_of(head)) == (9, 0.25)
    hours = header_of(packets.encode_consumed(EPOCH, SOURCE, 65535, 1e9))
    assert (hours.consumed, packets.busy_secs_of(hours)) == (65535, packets.BUSY_SECS_MAX)
