"""Merged messages: whatever goes in comes out in order; what was changed on the way never half."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.wire.frames import FrameKind, Frames, header
from heron_core.wire.merged import MERGED_BYTES_MAX, MERGED_MESSAGES_MAX, merge, mergeable, split

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


@given(st.lists(st.integers(0, MERGED_BYTES_MAX * 2), min_size=1, max_size=20), st.integers(1))
def test_a_message_carries_what_fits_and_the_first_in_any_case(
    sizes: list[int], bytes_max: int
) -> None:
    number = mergeable([[bytes(size)] for size in sizes], bytes_max)
    most = min(bytes_max, MERGED_BYTES_MAX)
    assert 1 <= number <= len(sizes)
    assert number == 1 or sum(sizes[:number]) <= most
    assert number == len(sizes) or sum(sizes[: number + 1]) > most


def test_the_number_of_messages_in_one_is_bounded() -> None:
    assert mergeable([[b""]] * (MERGED_MESSAGES_MAX + 5)) == MERGED_MESSAGES_MAX
