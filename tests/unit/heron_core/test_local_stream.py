"""Messages on a stream of bytes: cut anywhere, ended anywhere, or of something else."""

import resource
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.wire.frames import Frames
from heron_core.wire.local_stream import (
    BYTES_MAX,
    CONTROL,
    DATA,
    HELLO_BYTES,
    ConnectionName,
    MessageReader,
    encoded,
    parse_hello,
)

SCRATCH_BYTES = 64
FRAMES = st.lists(st.binary(max_size=200), min_size=1, max_size=12)


def reader() -> MessageReader:
    """One with little room, so that most messages are longer."""
    return MessageReader(memoryview(bytearray(SCRATCH_BYTES)))


def fed(to: MessageReader, data: bytes, cuts: list[int]) -> list[Frames]:
    """What a reader makes of some bytes that come in pieces of these lengths, then as it likes."""
    messages: list[Frames] = []
    lengths = iter(cuts)
    while data and not to.error:
        buffers = to.receive_buffers()
        count = min(sum(map(len, buffers)), len(data), next(lengths, len(data)))
        left = memoryview(data)[:count]
        for buffer in buffers:
            size = min(len(buffer), len(left))
            buffer[:size] = left[:size]
            left = left[size:]
        messages += to.take(count)
        data = data[count:]
    return messages


def joined(messages: list[Frames]) -> bytes:
    """The bytes of some messages."""
    return b"".join(b"".join(encoded(each)) for each in messages)


@given(st.lists(FRAMES, max_size=6), st.lists(st.integers(1, 80), max_size=30))
def test_messages_arrive_whole_and_in_order_wherever_they_are_cut(
    messages: list[Frames], cuts: list[int]
) -> None:
    taken = reader()
    assert fed(taken, joined(messages), cuts) == messages
    assert not taken.error
    assert not taken.unfinished_bytes


@given(st.lists(FRAMES, min_size=1, max_size=3), st.data(), st.lists(st.integers(1, 80)))
def test_a_message_without_its_end_has_no_effect(
    messages: list[Frames], data: st.DataObject, cuts: list[int]
) -> None:
    last = len(joined(messages[-1:]))
    left_out = data.draw(st.integers(1, last))
    taken = reader()
    assert fed(taken, joined(messages)[:-left_out], cuts) == messages[:-1]
    assert taken.unfinished_bytes == last - left_out
    assert not taken.error


@given(st.binary(min_size=1, max_size=300), st.lists(st.integers(1, 80)))
def test_bytes_of_another_protocol_are_refused_or_wait_for_their_end(
    data: bytes, cuts: list[int]
) -> None:
    taken = reader()
    messages = fed(taken, data, cuts)
    whole = joined(messages)
    assert data.startswith(whole)
    assert taken.error or taken.unfinished_bytes == len(data) - len(whole)


def test_a_length_that_nothing_follows_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = reader()
    assert fed(taken, struct.pack("<III", 1, BYTES_MAX, BYTES_MAX - 4) + b"the rest", []) == []
    assert not taken.error
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024 * 1024  # KiB


def test_large_messages_of_different_sizes_keep_their_bytes_though_they_share_a_buffer() -> None:
    megabyte = 1024 * 1024
    sizes = [megabyte + 5, 3 * megabyte, megabyte - 1, 5 * megabyte, megabyte]
    sent: list[Frames] = [[bytes([65 + at]) * size, b"end"] for at, size in enumerate(sizes)]
    first, second = reader(), reader()
    begun = joined([sent[1]])
    assert not fed(first, begun[:megabyte], [])  # two messages under way need two buffers
    assert fed(second, joined(sent), []) == sent
    assert fed(first, begun[megabyte:], []) == [sent[1]]


def test_the_frames_of_a_long_message_are_received_to_where_they_stay() -> None:
    scratch = memoryview(bytearray(1024 * 1024))
    taken = MessageReader(scratch)
    sent: list[Frames] = [[b"head", bytes(size), b"", b"end"] for size in (70_000, 80_000, 9)]
    data = joined(sent)
    assert taken.receive_buffers() == [scratch]
    assert fed(taken, data[:50_000], []) == []
    into = taken.receive_buffers()
    assert sum(map(len, into)) == len(joined(sent[:1])) - 50_000  # not a byte of the next message
    assert all(each.obj is not scratch.obj for each in into)
    assert fed(taken, data[50_000:], []) == sent
    assert len(taken.receive_buffers()[0]) == len(scratch)  # the last one was short


def test_readers_share_their_scratch() -> None:
    scratch = memoryview(bytearray(SCRATCH_BYTES))
    readers = MessageReader(scratch), MessageReader(scratch)
    data = joined([[b"a", b"b"]]), joined([[b"c" * 100]])
    for half in (slice(0, 5), slice(5, 20), slice(20, None)):
        taken = [fed(each, bytes_[half], []) for each, bytes_ in zip(readers, data, strict=True)]
    assert taken == [[], [[b"c" * 100]]]
    assert readers[0].receive_buffers()
    assert readers[0].unfinished_bytes == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack("<II", 0, 0), "0 frames in 0 bytes"),
        (struct.pack("<II", 3, 11), "3 frames in 11 bytes"),
        (struct.pack("<III", 1, 6, 3) + b"ab", "its frames end at 15"),
        (struct.pack("<III", 1, 6, 1) + b"ab", "its frames end at 13"),
        (struct.pack("<III", 1, 4, BYTES_MAX), f"its frames end at {12 + BYTES_MAX}"),
        (struct.pack("<III", 17, 17 * 4, 0), "17 frames in 68 bytes"),
        (struct.pack("<III", 1, 100, 97), "a message of 108 bytes, its frames end at 109"),
        (b"GET / HTTP/1.1\r\n", "542393671 frames"),
        (b"\xff" * 20, "4294967295 frames"),
    ],
)
def test_what_does_not_add_up_is_an_error_behind_what_came_before(data: bytes, reason: str) -> None:
    taken = reader()
    assert fed(taken, joined([[b"before"]]) + data + joined([[b"behind"]]), []) == [[b"before"]]
    assert reason in taken.error
    assert taken.take(1) == []


class Long(bytes):
    """Says that it has more bytes than a message may have."""

    def __len__(self) -> int:
        return BYTES_MAX - 3


def test_a_message_without_frames_or_too_long_does_not_leave() -> None:
    with pytest.raises(ProtocolError, match="a message of 0 bytes"):
        encoded([])
    with pytest.raises(ProtocolError, match=f"a message of {BYTES_MAX + 1} bytes"):
        encoded([Long()])


@pytest.mark.parametrize("channel", [DATA, CONTROL])
def test_a_hello_names_its_connection(channel: bytes) -> None:
    name = ConnectionName(channel, 2**32 - 1, 2**64 - 1)
    assert len(name.hello) == HELLO_BYTES
    assert parse_hello(name.hello) == name


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\nH", b"hpy\x02d" + bytes(12), b"hpy\x01x" + bytes(12)]
)
def test_any_other_hello_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="unknown connection: starts with"):
        parse_hello(data)
