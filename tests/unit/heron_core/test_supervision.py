"""The status pipe: what is written comes out however it is cut, and garbage is found."""

import pytest

from heron_core.errors import ProtocolError
from heron_core.supervision import (
    HEARTBEAT,
    MESSAGE,
    MESSAGE_BYTES_MAX,
    MESSAGE_LENGTH,
    REASON_BYTES_MAX,
    RELOAD,
    UP,
    PlanNotice,
    StatusReader,
    encode_message,
    encode_reason,
)

PLAN = {"packing": {"topology": "words", "text": "\0\1\2 grün"}}
STREAM = b"".join([
    HEARTBEAT, encode_message(PLAN), HEARTBEAT * 3, RELOAD, encode_message({}),
    encode_reason("it ends: grün"),
])  # fmt: skip
NOTICES = [PlanNotice(PLAN), PlanNotice(None), PlanNotice({})]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, len(STREAM)])
def test_what_is_said_does_not_depend_on_how_it_is_read(size: int) -> None:
    # A pipe holds 64 KiB, and a large plan comes in as many reads as the writer needs.
    reader = StatusReader()
    notices = []
    for at in range(0, len(STREAM), size):
        notices += reader.feed(STREAM[at : at + size])
    assert notices == NOTICES
    assert reader.reason == "it ends: grün"


@pytest.mark.parametrize("length", range(1, len(encode_message(PLAN))))
def test_half_a_message_is_none(length: int) -> None:
    # Its writer was killed in the middle.
    assert StatusReader().feed(encode_message(PLAN)[:length]) == []


def test_heartbeats_do_not_get_into_the_reason() -> None:
    # Another thread sends them while the main one says why it ends.
    reader = StatusReader()
    for part in (b"no ", HEARTBEAT, b"database", HEARTBEAT):
        assert reader.feed(part) == []
    assert reader.reason == "no database"


def test_that_it_is_up_does_not_get_into_the_reason() -> None:
    reader = StatusReader()
    reader.feed(b"no database")
    assert not reader.is_up
    assert reader.feed(HEARTBEAT + UP) == []
    assert reader.is_up
    assert reader.reason == "no database"


def test_a_reason_is_one_line_without_the_protocols_own_bytes() -> None:
    reader = StatusReader()
    assert reader.feed(encode_reason("a\0b\1c\2d\n  \3e")) == []
    assert reader.reason == "a b c d e"


def test_reasons_have_a_bound_and_the_end_is_kept() -> None:
    # A library may print before we say why we end.
    assert len(encode_reason("x" * 10_000)) == REASON_BYTES_MAX
    reader = StatusReader()
    reader.feed(b"noise " * 10_000)
    reader.feed(b"why")
    assert len(reader.reason) <= REASON_BYTES_MAX
    assert reader.reason.endswith("why")


@pytest.mark.parametrize(
    "data",
    [
        MESSAGE + MESSAGE_LENGTH.pack(MESSAGE_BYTES_MAX + 1),
        MESSAGE + MESSAGE_LENGTH.pack(3) + b"{x}",
        MESSAGE + MESSAGE_LENGTH.pack(2) + b"[]",
        MESSAGE + MESSAGE_LENGTH.pack(1) + b"\xff",
    ],
)
def test_what_no_process_of_ours_sends_is_an_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        StatusReader().feed(data)


def test_a_message_that_no_reader_takes_is_not_written() -> None:
    with pytest.raises(ProtocolError, match="of at most"):
        encode_message({"packing": "x" * MESSAGE_BYTES_MAX})
