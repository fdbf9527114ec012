"""Merged messages: whatever goes in comes out in order; what was changed on the way never half."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.native import MessageQueue
from heron_core.wire.frames import HEADER, FrameKind, Frames, header
from heron_core.wire.merged import (
    APART_FRAMES_MAX,
    MERGED_BYTES_MAX,
    merge,
    merge_for_socket,
    split,
)

FRAME = st.binary(max_size=30)


def message(kind: FrameKind, parts: list[bytes]) -> Frames:
    """A message of the data plane with these parts behind its header."""
    return [header(kind, 1, 2, 3, len(parts)), *parts]


MESSAGES = st.lists(
    st.builds(
        message,
        st.sampled_from([FrameKind.DATA, FrameKind.ACK, FrameKind.CONSUMED]),
        st.lists(FRAME),
    ),
    min_size=1,
)


@given(MESSAGES)
def test_what_is_merged_is_split_again(messages: list[Frames]) -> None:
    assert list(split(merge(messages))) == messages


def test_a_single_message_stays_as_it_is() -> None:
    single = message(FrameKind.CONSUMED, [])
    assert merge([single]) is single


@given(MESSAGES.filter(lambda each: len(each) > 1), st.data())
def test_a_cut_or_lengthened_message_is_refused_whole(
    messages: list[Frames], data: st.DataObject
) -> None:
    head, body = merge(messages)
    cut = data.draw(st.integers(0, len(body) - 1))
    for changed in (body[:cut], body + b"x"):
        with pytest.raises(ProtocolError, match="a merged message of"):
            split([head, changed])


@given(MESSAGES.filter(lambda each: len(each) > 1), st.data())
def test_any_byte_may_change(messages: list[Frames], data: st.DataObject) -> None:
    # It is refused, or comes to messages that are checked one by one; never anything else.
    head, body = merge(messages)
    at = data.draw(st.integers(0, len(body) - 1))
    changed = body[:at] + bytes([data.draw(st.integers(0, 255))]) + body[at + 1 :]
    try:
        found = split([head, changed])
    except ProtocolError:
        return
    assert len(found) == len(messages)


def queue_of(sizes: list[int]) -> MessageQueue:
    """Messages of so many bytes, of one item each if they have a header."""
    queue = MessageQueue()
    for size in sizes:
        queue.put(0, [bytes(20) + b"\x01\0\0\0", bytes(size)])
    queue.validate()
    return queue


@given(sizes=st.lists(st.integers(0, 99), min_size=1, max_size=20), messages_max=st.integers(1, 9),
       bytes_max=st.integers(-9, 999), items_max=st.floats(-1.5, 20.5))  # fmt: skip
def test_a_message_carries_what_fits_and_the_first_in_any_case(
    sizes: list[int], messages_max: int, bytes_max: int, items_max: float
) -> None:
    queue = queue_of(sizes)
    number = queue.fitting(messages_max, bytes_max, items_max)

    def fits(first: int) -> bool:
        size = sum(sizes[:first]) + first * HEADER.size
        return first <= messages_max and size <= bytes_max and first <= items_max

    assert 1 <= number <= len(sizes)
    assert number == 1 or fits(number)
    assert number == len(sizes) or not fits(number + 1)


@given(st.lists(st.integers(0, 99), max_size=9), st.integers(0, 10))
def test_what_is_taken_is_the_front_of_the_queue(sizes: list[int], number: int) -> None:
    queue, before = queue_of(sizes), queue_of(sizes)
    taken = queue.take(number)
    for each in (queue, taken):
        each.validate()
    assert len(taken) == min(number, len(sizes))
    taken.extend(queue)
    taken.validate()
    assert list(taken) == list(before)


def test_a_queue_says_that_it_has_more_and_when_that_is_much() -> None:
    queue, touched, due = MessageQueue(7), set[int](), set[int]()
    queue.touched, queue.due, queue.items_limit = touched, due, 2
    tuples = message(FrameKind.DATA, [b"a"])
    queue.put(0, tuples)
    assert (touched, due) == ({7}, set())
    queue.put(0, tuples)
    assert (touched, due) == ({7}, {7})


LARGE = message(FrameKind.DATA, [bytes(MERGED_BYTES_MAX)])


@given(MESSAGES, st.data())
def test_frames_that_stay_apart_are_put_together_again(
    messages: list[Frames], data: st.DataObject
) -> None:
    assert merge_for_socket(messages) == merge(messages)  # small: their bytes are joined
    at = data.draw(st.integers(0, len(messages)))
    sent = [*messages[:at], LARGE, *messages[at:]]
    apart = merge_for_socket(sent)
    assert apart[2:] == [frame for each in sent for frame in each]
    assert list(split(apart)) == sent
    counts = bytearray(apart[1])
    counts[data.draw(st.integers(0, len(counts) - 1))] += 1
    for changed in (bytes(counts), apart[1] + b"\1", apart[1][:-1], bytes(len(counts))):
        with pytest.raises(ProtocolError, match=f"a merged message of {len(apart)} frames"):
            split([apart[0], changed, *apart[2:]])
    with pytest.raises(ProtocolError):
        split(apart[:-1])


def test_many_frames_are_joined_however_large() -> None:
    sent = [LARGE, *(message(FrameKind.ACK, [b"a"]) for _ in range(APART_FRAMES_MAX // 2))]
    assert merge_for_socket(sent) == merge(sent)


def test_a_large_message_alone_stays_as_it_is() -> None:
    assert merge_for_socket([LARGE]) is LARGE
