"""Saved input is divided: each tuple is one new task's, the one that its grouping says."""

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.algorithms.hashing import slot, stable_hash
from heron_core.errors import StateError
from heron_core.state.divided_input import InputDivider, PreviousInput
from heron_core.state.parts import KeyRange
from heron_core.state.saved_input import InputSource, SavedInput
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.batch import decode_batch, encode_batch, encode_columns
from heron_core.wire.columns import of_rows, read, rows_of, schema_of, serialized
from heron_core.wire.frames import Flag, FrameKind, Frames, header_of
from heron_core.wire.packets import encode_watermark
from heron_core.wire.values import packer, unpacker

PACK, UNPACK = packer(), unpacker(pickles=True)
STREAMS = ("keyed", "shuffled", "columns", "to_all")
SPECS = (
    StreamSpec("keyed", ("number", "key")),
    StreamSpec("shuffled", ("number",)),
    StreamSpec("columns", ("number", "key"), types=("bigint", "string")),
    StreamSpec("to_all", ("number",)),
)
BY_KEY = GroupingSpec(GroupingKind.FIELDS, ("key",))
GROUPINGS = (
    BY_KEY,
    GroupingSpec(GroupingKind.SHUFFLE),
    BY_KEY,
    GroupingSpec(GroupingKind.ALL),
)
TOPOLOGY = TopologySpec(
    "t",
    (
        ComponentSpec("words", True, "a.B", 1, SPECS, ()),
        ComponentSpec(
            "count",
            False,
            "a.B",
            1,
            (),
            tuple(
                InputSpec("words", each, how) for each, how in zip(STREAMS, GROUPINGS, strict=True)
            ),
        ),
    ),
    {},
)
SOURCES = {5: InputSource("words", 0, 1, STREAMS)}
Row = tuple[str, list[Any]]
"""A tuple and its stream."""


def message(kind: str, numbers: list[int]) -> Frames:
    """A message with these numbers, each of which says the key."""
    keyed = [[each, f"key {each % 17}"] for each in numbers]
    if kind == "columns":
        body = serialized(of_rows(keyed, SPECS[2].fields, schema_of(SPECS[2])))
        return encode_columns(1, 5, 9, body, len(numbers), 2)
    if kind == "mixed":
        at = [each % 2 for each in numbers]
        rows = [PACK(row[: 2 - stream]) for row, stream in zip(keyed, at, strict=True)]
        return encode_batch(1, 5, 9, rows, streams=at)
    stream = STREAMS.index(kind)
    return encode_batch(1, 5, 9, [PACK(row[: len(SPECS[stream].fields)]) for row in keyed], stream)


def rows_in(frames: Frames) -> list[Row]:
    """The tuples of a message."""
    head = header_of(frames)
    batch = decode_batch(head, frames)
    if head.flags & Flag.COLUMNS:
        return [
            ("columns", row) for row in rows_of(read(batch.body, schema_of(SPECS[2]), head.items))
        ]
    streams = batch.streams or [head.stream] * head.items
    return [(STREAMS[at], row) for at, row in zip(streams, UNPACK(batch.body), strict=True)]


def left_in(previous: PreviousInput) -> list[Row]:
    """What a previous task has still to process."""
    rows = chain.from_iterable(
        rows_in(each) for each in previous.saved.messages if header_of(each).kind == FrameKind.DATA
    )
    return list(rows)[previous.saved.first_row :]


def owner_of(row: Row, tasks: int) -> int:
    return slot(stable_hash([row[1][1]]), tasks)


@st.composite
def inputs(draw: st.DrawFn) -> list[PreviousInput]:
    """Of one to four tasks; what is keyed is at the task of its key, as the sender has put it."""
    tasks = draw(st.integers(1, 4))
    number, found = 0, list[PreviousInput]()
    for index in range(tasks):
        messages = list[Frames]()
        for kind in draw(st.lists(st.sampled_from((*STREAMS, "mixed")), max_size=4)):
            numbers = []
            for _ in range(draw(st.integers(1, 9))):
                number += 1
                while slot(stable_hash([f"key {number % 17}"]), tasks) != index:
                    number += 1
                numbers.append(number)
            messages.append(message(kind, numbers))
        first = draw(st.integers(0, header_of(messages[0]).items - 1)) if messages else 0
        has_watermark = draw(st.booleans())
        if messages and has_watermark:
            messages.insert(1, encode_watermark(1, 5, 9, 700))
        found.append(
            PreviousInput(KeyRange(index, tasks), SavedInput(tuple(messages), first, SOURCES))
        )
    return found


@given(inputs(), st.integers(1, 5))
def test_each_tuple_is_processed_by_one_task_and_by_the_one_of_its_key(
    previous: list[PreviousInput], tasks: int
) -> None:
    divider = InputDivider("count", TOPOLOGY, UNPACK)
    shares = [divider.share(previous, KeyRange(index, tasks)) for index in range(tasks)]
    assert not any(each.first_row for each in shares)
    got = [[row for each in share.messages for row in rows_in(each)] for share in shares]
    left = [row for each in previous for row in left_in(each)]
    assert Counter(map(repr, chain.from_iterable(got))) == Counter(map(repr, left))
    for index, rows in enumerate(got):
        assert all(owner_of(row, tasks) == index for row in rows if row[0] in ("keyed", "columns"))
    for each in previous:  # in the order in which they came
        order = [repr(row) for row in left_in(each)]
        for rows in got:
            ours = [repr(row) for row in rows if repr(row) in order]
            assert ours == [row for row in order if row in ours]


def test_what_is_shuffled_is_shared_evenly_and_what_went_to_all_stays() -> None:
    """Messages of one tuple as well: who begins is another one each time."""
    shuffled = [message("shuffled", [at]) for at in range(12)] + [message("shuffled", [*range(12)])]
    previous = [
        PreviousInput(KeyRange(0, 2), SavedInput(tuple(shuffled), 0, SOURCES)),
        PreviousInput(KeyRange(1, 2), SavedInput((message("to_all", [1, 2]),), 0, SOURCES)),
    ]
    divider = InputDivider("count", TOPOLOGY, UNPACK)
    shares = [divider.share(previous, KeyRange(index, 3)) for index in range(3)]
    assert [share.tuples for share in shares] == [8, 8 + 2, 8]


def test_what_cannot_be_read_is_refused_in_one_line() -> None:
    frames = message("keyed", [1, 2])
    frames[1] = b"\xdd\x00"
    previous = [PreviousInput(KeyRange(0, 1), SavedInput((frames,), 0, SOURCES))]
    with pytest.raises(StateError, match="the input in a state cannot be divided"):
        InputDivider("count", TOPOLOGY, UNPACK).share(previous, KeyRange(0, 2))
