"""The data plane's headers and words: messages of a peer of another version or of a broken one."""

import struct
from array import array

import pytest

from heron_core.errors import ProtocolError
from heron_core.wire.frames import (
    HEADER,
    ROOT_COUNTER_BITS,
    TASK_ID_MAX,
    Flag,
    FrameKind,
    Header,
    header,
    parse_header,
    root_owner,
    size_of,
    u64_array,
    with_consumed,
)


def test_header_comes_back() -> None:
    # Every field at its largest: fields are neither cut nor mixed up between two machines.
    made = header(FrameKind.FANOUT, 2**32 - 1, TASK_ID_MAX, 2**32 - 2, 2**32 - 3, 65535, Flag.MIXED)
    found = parse_header(made)
    assert found == Header(
        kind=FrameKind.FANOUT,
        flags=Flag.MIXED,
        stream=65535,
        consumed=0,
        epoch=2**32 - 1,
        source=TASK_ID_MAX,
        destination=2**32 - 2,
        items=2**32 - 3,
    )


def test_a_report_changes_nothing_else() -> None:
    # An instance tells on any message its count of processed tuples; the batch stays unchanged.
    made = header(FrameKind.ACK, 3, 5, 7, 9, 2, Flag.TRACKED)
    assert parse_header(with_consumed(made, 65535)) == parse_header(made)._replace(consumed=65535)


def test_header_layout_is_pinned() -> None:
    # A stream manager of the last release talks to this one during a rolling upgrade.
    assert HEADER.size == 24
    assert header(FrameKind.DATA, 3, 5, 7, 9, 2, Flag.TRACKED | Flag.MIXED).hex() == (
        "480901030200000003000000050000000700000009000000"
    )


def test_values_that_do_not_fit_are_refused() -> None:
    # Better no frame than one that leads to another task.
    with pytest.raises(struct.error):
        header(FrameKind.DATA, -1, 0, 0, 0)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "0 bytes instead of 24"),
        (b"GET / HTTP/1.1\r\n\r\n......"[:24], "unknown protocol"),
        (b"H" * 25, "25 bytes instead of 24"),
        (b"H\x02" + bytes(22), "frame has 2"),
    ],
)
def test_strangers_are_named(data: bytes, told: str) -> None:
    # A browser at the port, or runs two releases at once.
    with pytest.raises(ProtocolError, match=told):
        parse_header(data)


def test_words_come_back_and_cut_frames_are_refused() -> None:
    numbers = array("Q", [0, 1, 2**64 - 1])
    assert u64_array(numbers.tobytes()) == numbers
    assert u64_array(b"") == array("Q")
    with pytest.raises(ProtocolError, match="9 bytes"):
        u64_array(b"x" * 9)


def test_size_counts_all_frames() -> None:
    assert size_of([b"abc", b"", b"de"]) == 5


def test_root_tells_its_spout() -> None:
    # Any stream manager can say where a tree lives, even for the largest task id and counter.
    root = (TASK_ID_MAX << ROOT_COUNTER_BITS) | (2**ROOT_COUNTER_BITS - 1)
    assert root < 2**64
    assert root_owner(root) == TASK_ID_MAX
